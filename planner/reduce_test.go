package planner

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

func intKey(i int64) connectors.Value {
	return connectors.Value{Type: connectors.T(connectors.BigInt), Int: big.NewInt(i)}
}

func textKey(s string) connectors.Value {
	return connectors.Value{Type: connectors.T(connectors.Varchar), Text: s}
}

func TestReduce(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	sql := refs("SELECT o.id, c.name FROM {{ orders }} o JOIN {{ customers }} c ON o.customer_id = c.id AND o.qty = c.score::INTEGER WHERE c.active AND c.score > 3 AND o.flag", rels)
	plan := mustPlan(t, p, Input{SQL: sql, Relations: rels})
	if fmt.Sprint(plan.KeyReductions) != "[{1 0 0 1 inner -1}]" {
		t.Fatalf("reductions %v", plan.KeyReductions)
	}
	if got, want := plan.KeyText(plan.KeyReductions[0]), "pg.orders.customer_id ∈ keys of my.customers.id (? keys)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	before := plan.Extracts[0]
	null := connectors.Value{Null: true}
	many := make([]connectors.Value, MaxKeys+1)
	for i := range many {
		many[i] = intKey(int64(i))
	}
	for _, c := range []struct {
		name   string
		lo, hi connectors.Value
		keys   []connectors.Value
		where  string // "" = nothing is read
	}{
		{"keys", intKey(3), intKey(70), []connectors.Value{intKey(70), intKey(3)}, `"flag" AND "customer_id" IN (70, 3)`},
		{"one key", intKey(3), intKey(3), []connectors.Value{intKey(3)}, `"flag" AND "customer_id" IN (3)`},
		{"range", intKey(-3), intKey(70), nil, `"flag" AND ("customer_id" >= -3 AND "customer_id" <= 70)`},
		{"too many keys", intKey(0), intKey(MaxKeys), many, `"flag" AND ("customer_id" >= 0 AND "customer_id" <= 1000)`},
		{"only NULL", null, null, []connectors.Value{}, ""},
		{"only NULL, not listed", null, null, nil, ""},
	} {
		x, ok := plan.Reduce(0, c.lo, c.hi, c.keys)
		if !ok || x.Pruned != (c.where == "") {
			t.Errorf("%s: %v %+v", c.name, ok, x)
			continue
		}
		if x.Pruned {
			continue
		}
		if want := `SELECT "id", "customer_id", "qty", "flag" FROM "public"."orders" WHERE ` + c.where; x.Where != c.where || x.Query.SQL != want {
			t.Errorf("%s: %s\nwant %s", c.name, x.Query.SQL, want)
		}
		last := x.Pushed[len(x.Pushed)-1]
		if last.Reason != "keys of my.customers.id" || last.Verdict != connectors.Superset || len(x.Pushed) != len(before.Pushed)+1 {
			t.Errorf("%s: pushed %+v", c.name, x.Pushed)
		}
	}
	if after := plan.Extracts[0]; after.Where != before.Where || len(after.Pushed) != len(before.Pushed) {
		t.Errorf("the plan changed: %+v", after)
	}
}

// TestReduceTwice: reductions of one extract add up.
func TestReduceTwice(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	sql := refs("SELECT o.id FROM {{ orders }} o JOIN {{ events }} e ON o.d = e.d AND o.qty = e.user_id WHERE o.status = 'x'", rels)
	plan := mustPlan(t, p, Input{SQL: sql, Relations: rels})
	for i, k := range plan.KeyReductions {
		v := intKey(7)
		if plan.Extracts[k.From].Relation.Table.Columns[k.FromColumn].Name == "d" {
			v.Type = connectors.T(connectors.Date)
		}
		x, ok := plan.Reduce(i, v, v, []connectors.Value{v})
		if !ok {
			t.Fatal(k)
		}
		plan.Extracts[k.To] = x
	}
	if got, want := plan.Extracts[1].Where, `"d" IN (DATE '1970-01-08') AND "user_id" IN (7)`; got != want && got != `"user_id" IN (7) AND "d" IN (DATE '1970-01-08')` {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestReduceByText(t *testing.T) {
	p := newPlanner(t)
	refuseLists := testDialect{text: connectors.Superset, refuse: func(p *connectors.Pred) bool { return p.Kind == connectors.PIn && len(p.Vals) > 1 }}
	refuseBoth := testDialect{text: connectors.Superset, refuse: func(p *connectors.Pred) bool {
		return slices.ContainsFunc(p.Vals, func(v connectors.Value) bool { return strings.HasPrefix(v.Text, "é") })
	}}
	long := strings.Repeat("x", maxKeyText)
	for _, c := range []struct {
		name    string
		dialect testDialect
		keys    []string
		where   string // "" = not reduced
	}{
		{"list", testDialect{text: connectors.Superset}, []string{"a", "b'"}, `"k" IN ('a', 'b''')`},
		{"no list", refuseLists, []string{"a", "b"}, `("k" >= 'a' AND "k" <= 'b')`},
		{"one bound", refuseBoth, []string{"a", "é"}, `"k" >= 'a'`},
		{"nothing", refuseBoth, []string{"é", "éé"}, ""},
		{"too long a list", testDialect{text: connectors.Exact}, []string{"a", long, "z"}, `("k" >= 'a' AND "k" <= 'z')`},
		{"too long at all", testDialect{text: connectors.Exact}, []string{"a", long}, ""},
	} {
		rels := []Relation{rel("a", "s", "small", testDialect{text: connectors.Exact}, "k:VARCHAR", "n:INTEGER"), rel("b", "s", "large", c.dialect, "k:VARCHAR", "v:INTEGER")}
		plan := mustPlan(t, p, Input{SQL: refs("SELECT l.v FROM {{ large }} l JOIN {{ small }} s ON l.k = s.k WHERE s.n = 1", rels), Relations: rels})
		if len(plan.KeyReductions) != 1 {
			t.Errorf("%s: reductions %v", c.name, plan.KeyReductions)
			continue
		}
		var keys []connectors.Value
		for _, k := range c.keys {
			keys = append(keys, textKey(k))
		}
		x, ok := plan.Reduce(0, keys[0], keys[len(keys)-1], keys)
		if ok != (c.where != "") || x.Where != c.where {
			t.Errorf("%s: %v %.80s, want %s", c.name, ok, x.Where, c.where)
		}
	}
}

// TestWhoGoesFirst: sizes decide where both are known, predicates otherwise.
func TestWhoGoesFirst(t *testing.T) {
	p := newPlanner(t)
	for _, c := range []struct {
		a, b  int64
		where string
		want  string
	}{
		{-1, -1, "", "[]"},
		{-1, -1, "WHERE a.n = 1", "[{0 1 0 0 inner -1}]"},
		{-1, -1, "WHERE b.n = 1", "[{1 0 0 0 inner -1}]"},
		{-1, -1, "WHERE a.n = 1 AND b.n = 1", "[]"},
		{10, 1000, "", "[{0 1 0 0 inner 10}]"},
		{1000, 10, "", "[{1 0 0 0 inner 10}]"},
		{10, 1000, "WHERE b.n = 1", "[{0 1 0 0 inner 10}]"},
		{10, 1000, "WHERE b.n = 1 AND b.v < 4 AND b.v > 1", "[]"},
		{10, 1000, "WHERE b.n = 1 AND b.v < 4 AND b.v > 1 AND b.k > 3", "[{1 0 0 0 inner 2}]"},
		{500, 1000, "", "[]"},
		{500, 1000, "WHERE a.n = 1", "[{0 1 0 0 inner 100}]"},
		{10, -1, "", "[]"},
		{0, 1000, "", "[{0 1 0 0 inner 0}]"},
		{100_000, 1_000_000, "", "[]"}, // all rows of a: to wait for them is likely to be for nothing
		{100_000, 1_000_000, "WHERE a.n = 1", "[{0 1 0 0 inner 20000}]"},
		{100_000, 10_000_000, "", "[{0 1 0 0 inner 100000}]"},
	} {
		rels := []Relation{rel("x", "s", "a", testDialect{text: connectors.Exact}, "k:BIGINT", "n:INTEGER"), rel("y", "s", "b", testDialect{text: connectors.Exact}, "k:INTEGER", "n:INTEGER", "v:INTEGER")}
		rels[0].Table.RowEstimate, rels[1].Table.RowEstimate = c.a, c.b
		plan := mustPlan(t, p, Input{SQL: refs("SELECT a.n FROM {{ a }} a JOIN {{ b }} b ON a.k = b.k "+c.where, rels), Relations: rels})
		if got := fmt.Sprint(plan.KeyReductions); got != c.want {
			t.Errorf("%d and %d rows %s: %s, want %s", c.a, c.b, c.where, got, c.want)
		}
	}
}

// TestWholeChain: nobody waits for a relation whose own reduction is by one that is read
// as a whole.
func TestWholeChain(t *testing.T) {
	p := newPlanner(t)
	for where, want := range map[string]string{
		"":                "[{2 1 0 1 inner 10000}]",
		"WHERE d.n = 1":   "[{2 1 0 1 inner 2000} {1 0 0 0 inner 200000}]",
		"WHERE c.n2 = 1":  "[{1 0 0 0 inner 200000}]",
		"WHERE f.v > 1.0": "[{2 1 0 1 inner 10000}]",
	} {
		exact := testDialect{text: connectors.Exact}
		rels := []Relation{rel("x", "s", "f", exact, "k:INTEGER", "v:DOUBLE"), rel("y", "s", "c", exact, "k:INTEGER", "d:INTEGER", "n2:INTEGER"), rel("z", "s", "d", exact, "d:INTEGER", "n:INTEGER")}
		rels[0].Table.RowEstimate, rels[1].Table.RowEstimate, rels[2].Table.RowEstimate = 5_000_000, 1_000_000, 10_000
		plan := mustPlan(t, p, Input{SQL: refs("SELECT d.n, sum(f.v) FROM {{ f }} f JOIN {{ c }} c ON f.k = c.k JOIN {{ d }} d ON c.d = d.d "+where+" GROUP BY 1", rels), Relations: rels})
		if got := fmt.Sprint(plan.KeyReductions); got != want {
			t.Errorf("%s: %s, want %s", where, got, want)
		}
	}
}

// TestReductionsFormNoCycle: three relations, each pair joined.
func TestReductionsFormNoCycle(t *testing.T) {
	p := newPlanner(t)
	rels := testRelations()
	sql := refs("SELECT o.id FROM {{ orders }} o JOIN {{ customers }} c ON o.customer_id = c.id JOIN {{ events }} e ON e.user_id = o.id AND e.d = o.d AND e.ts = c.created_at WHERE e.value > 3", rels)
	plan := mustPlan(t, p, Input{SQL: sql, Relations: rels})
	staged := map[int]bool{}
	for i, k := range plan.KeyReductions {
		staged[k.From] = true
		if staged[k.To] {
			t.Errorf("reduction %d of %v comes too late", i, plan.KeyReductions)
		}
	}
	if len(plan.KeyReductions) < 4 {
		t.Errorf("reductions %v", plan.KeyReductions)
	}
}

// TestKeyValues: the value that is read from DuckDB's text is the same in a predicate.
func TestKeyValues(t *testing.T) {
	s, err := openShadow(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.close() }()
	for _, key := range []string{
		"9223372036854775807", "18446744073709551615::UBIGINT", "-12.3400::DECIMAL(38,4)", "-0.05::DECIMAL(4,2)", "7::DECIMAL(9,0)", "'it''s'", "''", "DATE '2024-02-29'",
		"DATE '0001-01-01'", "DATE '1969-12-31'", "'infinity'::DATE", "TIMESTAMP '2024-01-02 03:04:05.678901'", "TIMESTAMP '1969-12-31 23:59:59.999999'", "'-infinity'::TIMESTAMP",
		"TIMESTAMP '9999-12-31 23:59:59.999999'", "TIMESTAMP '2024-01-02'", "TIMESTAMPTZ '2024-01-02 03:04:05.6+05:30'", "'infinity'::TIMESTAMPTZ", "'00000000-0000-0000-0000-00000000000F'::UUID",
	} {
		var typ, text string
		if err := s.conn.QueryRowContext(context.Background(), "SELECT typeof(v), CAST(v AS VARCHAR) FROM (SELECT "+key+" AS v)").Scan(&typ, &text); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		lt, err := connectors.ParseType(typ)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := KeyValue(lt, &text)
		if !ok {
			t.Errorf("%s: %q is not understood", key, text)
			continue
		}
		var same bool
		if err := s.conn.QueryRowContext(context.Background(), "SELECT "+valueText(v)+" = "+key).Scan(&same); err != nil || !same {
			t.Errorf("%s became %s: %v", key, valueText(v), err)
		}
	}
	for _, c := range [][2]string{{"DATE", "0044-03-15 (BC)"}, {"DATE", "290308-12-21"}, {"TIMESTAMP", "290308-12-21 00:00:00"}, {"DECIMAL(9,2)", "1.5"}, {"DOUBLE", "1.5"}, {"INTEGER", "1.5"}} {
		lt, err := connectors.ParseType(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := KeyValue(lt, &c[1]); ok {
			t.Errorf("%s %s was read as %+v", c[0], c[1], v)
		}
	}
}
