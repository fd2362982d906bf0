package planner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// caseless is a source that compares text without case and trailing blanks, and says so:
// = and IN keep too many rows, all else is not sent.
type caseless struct{ testDialect }

func (d caseless) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	col := t.Columns[p.Col]
	if col.Type.Kind != connectors.Varchar || p.Kind == connectors.PNull {
		return d.testDialect.Leaf(p, t)
	}
	if p.Neg || p.Kind == connectors.PCmp && p.Op != "=" || p.Kind != connectors.PCmp && p.Kind != connectors.PIn {
		return connectors.Answer{Reason: "the collation ignores case"}
	}
	var vals []string
	for _, v := range p.Vals {
		vals = append(vals, "lower(rtrim("+literal(v.Text)+"))")
	}
	return connectors.Answer{SQL: "lower(rtrim(" + quote(col.Name) + ")) IN (" + strings.Join(vals, ", ") + ")", Verdict: connectors.Superset, Reason: "the collation ignores case"}
}

func (d caseless) OrderKey(t *connectors.Table, k connectors.OrderKey) (string, bool) {
	if t.Columns[k.Col].Type.Kind == connectors.Varchar {
		return "", false
	}
	return d.testDialect.OrderKey(t, k)
}

func (d caseless) Extreme(t *connectors.Table, col int, highest bool) (string, bool) {
	sql, _ := d.testDialect.Extreme(t, col, highest)
	return sql, t.Columns[col].Type.Kind != connectors.Varchar
}

func TestCaseP9Collation(t *testing.T) {
	b := caseBench(t, caseless{exactSource}, map[string]string{"t(id BIGINT, name VARCHAR)": "(1, 'abc'), (2, 'ABC'), (3, 'abc '), (4, 'Ábc'), (5, 'abd'), (6, NULL), (7, '')",
		"u(name VARCHAR, n INTEGER)": "('ABC', 1), ('abd', 1), ('x', 2)"})
	plan := b.expect(t, "SELECT id, name FROM {{ t }} WHERE name <> 'abc'", "[7 ]", "[2 ABC]", "[3 abc ]", "[4 Ábc]", "[5 abd]")
	if w := where(plan, "t"); w != "" {
		t.Errorf("sent: %s", w)
	}
	plan = b.expect(t, "SELECT id FROM {{ t }} WHERE name = 'abc'", "[1]")
	if w := where(plan, "t"); w == "" || plan.Streamed != nil {
		t.Errorf("sent: %s; streamed: %v", w, plan.Streamed)
	}
	b.expect(t, "SELECT id FROM {{ t }} WHERE name IN ('ABC', 'x') LIMIT 1", "[2]")
	b.expect(t, "SELECT id FROM {{ t }} WHERE name NOT IN ('abc', 'abd', '')", "[2]", "[3]", "[4]")
	b.expect(t, "SELECT id FROM {{ t }} WHERE name LIKE 'AB%' OR name > 'b'", "[2]", "[4]")
	b.expect(t, "SELECT max(id) AS m FROM {{ t }} WHERE name = 'abc'", "[1]")
	b.expect(t, "SELECT max(name) AS m FROM {{ t }}", "[Ábc]")
	b.expect(t, "SELECT name FROM {{ t }} ORDER BY name LIMIT 2", "[]", "[ABC]")
	b.expect(t, "SELECT t.id FROM {{ t }} t JOIN {{ u }} u ON u.name = t.name WHERE u.n = 1", "[2]", "[5]")
	b.expect(t, "SELECT t.id FROM {{ t }} t SEMI JOIN {{ u }} u ON u.name = t.name AND u.n < 2", "[2]", "[5]")
}

func TestCaseP10TimeLiteralsInTheSessionsZone(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, ts TIMESTAMPTZ, naive TIMESTAMP)": `
		(1, '2024-03-10 02:29:59.999999+00', '2024-03-10 02:29:59.999999'), (2, '2024-03-10 02:30:00+00', '2024-03-10 02:30:00'),
		(3, '2024-03-10 06:59:00+00', '2024-03-10 06:59:00'), (4, '2024-03-10 07:01:00+00', '2024-03-10 07:01:00'), (5, NULL, NULL)`})
	for _, zone := range []string{"America/New_York", "Asia/Kolkata", "UTC"} {
		for _, c := range []struct{ sql, want string }{
			{"SELECT id FROM {{ t }} WHERE ts >= '2024-03-10 02:30'", "[[2] [3] [4]]"}, // a time of day that New York left out
			{"SELECT id FROM {{ t }} WHERE ts < TIMESTAMPTZ '2024-03-10 03:00:00-04:00'", "[[1] [2] [3]]"},
			{"SELECT id FROM {{ t }} WHERE naive >= '2024-03-10 02:30'", "[[2] [3] [4]]"},
			{"SELECT id FROM {{ t }} WHERE ts::DATE = DATE '2024-03-10' AND ts > naive - INTERVAL 1 SECOND", "[[1] [2] [3] [4]]"},
			{"SELECT id FROM {{ t }} WHERE naive < TIMESTAMPTZ '2024-03-10 07:00:00+00'", "[[1] [2] [3]]"},
		} {
			in := Input{Model: "m", SQL: refs(c.sql, b.rels), Relations: b.rels, Now: testNow}
			plan, err := b.planner.Plan(context.Background(), in)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Extracts[0].Where == "" {
				t.Errorf("%s: nothing is pushed", c.sql)
			}
			b.exec("SET TimeZone = " + literal(zone)) // the source's
			b.stage(plan)
			b.exec("SET TimeZone = 'UTC'")
			got, err := b.run(plan.SQL, "_staged")
			for i, r := range got {
				_, got[i], _ = strings.Cut(r, "] ")
			}
			if err != nil || fmt.Sprint(got) != c.want {
				t.Errorf("%s, source in %s: %v %v, want %s", c.sql, zone, got, err, c.want)
			}
		}
	}
}

func TestCaseP11TwoModelsReadOneRelation(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, a INTEGER, b INTEGER)": "(1, 10, 100), (2, 20, 200), (3, 30, 300)"})
	first, second := "SELECT a FROM {{ t }}", "SELECT b FROM {{ t }} WHERE id > 1"
	var plans []*Plan
	for _, sql := range []string{first, second, first, second} {
		plan, err := b.planner.Plan(context.Background(), Input{SQL: refs(sql, b.rels), Relations: b.rels, Now: testNow})
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, plan)
	}
	for i, want := range []string{`SELECT "a" FROM "src_whole"."main"."t"`, `SELECT "id", "b" FROM "src_whole"."main"."t" WHERE "id" > 1`} {
		if got, again := plans[i].Extracts[0].Query.SQL, plans[i+2].Extracts[0].Query.SQL; got != want || again != want {
			t.Errorf("%s and %s, want %s", got, again, want)
		}
	}
	b.expect(t, first, "[10]", "[20]", "[30]")
	b.expect(t, second, "[200]", "[300]")
}

// backticks is a source for which double quotes are texts.
type backticks struct{ testDialect }

func (d backticks) Select(e connectors.Extract) string {
	return strings.ReplaceAll(d.testDialect.Select(e), `"`, "`")
}

func (d backticks) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	a := d.testDialect.Leaf(p, t)
	a.SQL = strings.ReplaceAll(a.SQL, `"`, "`")
	return a
}

func TestCaseP12QuotedIdentifiers(t *testing.T) {
	p := newPlanner(t)
	rels := []Relation{rel("my", "shop", "t", backticks{testDialect{text: connectors.Exact}}, "order:INTEGER", "select:VARCHAR")}
	plan := mustPlan(t, p, Input{SQL: refs(`SELECT "order" FROM {{ t }} WHERE "order" = 3 AND "select" = 'order'`, rels), Relations: rels})
	if got, want := plan.Extracts[0].Query.SQL, "SELECT `order`, `select` FROM `shop`.`t` WHERE `order` = 3 AND `select` = 'order'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCaseP13OtherMeanings: what engines read differently is not sent, or is in the
// normal form that each dialect spells itself.
func TestCaseP13OtherMeanings(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, a INTEGER, s VARCHAR, f BOOLEAN)": "(1, 2, 'x', true), (2, 3, '', false), (3, NULL, NULL, NULL), (4, -3, 'y', true)"})
	for _, c := range []struct{ sql, where, want string }{
		{"a / 2 = 1", "", "[[1]]"},
		{"a // 2 = 1", "", "[[1] [2]]"},
		{"a % 2 = 1", "", "[[2]]"},
		{"a / 0 > 1", "", "[[1] [2]]"},
		{"s || 'z' = 'xz'", "", "[[1]]"},
		{"concat(s, 'z') = 'z'", "", "[[2] [3]]"},
		{"s = ''", `"s" = ''`, "[[2]]"},
		{"s IS NULL", `"s" IS NULL`, "[[3]]"},
		{"f", `"f"`, "[[1] [4]]"},
		{"f = false", `NOT "f"`, "[[2]]"},
		{"f IS NOT TRUE", ``, "[[2] [3]]"},
		{"round(a / 2) = 2", "", "[[2]]"},
		{"s > 'a' COLLATE NOCASE", "", "[[1] [4]]"},
		{"a = '3'", `"a" = 3`, "[[2]]"},
		{"a::VARCHAR = '3'", "", "[[2]]"},
		{"length(s) = 0", "", "[[2]]"},
	} {
		got, plan := b.rows(t, "SELECT id FROM {{ t }} WHERE "+c.sql)
		if fmt.Sprint(got) != c.want || c.where != "" && where(plan, "t") != c.where || c.where == "" && strings.ContainsAny(where(plan, "t"), "/%|") {
			t.Errorf("%s: %v, want %s; sent %s", c.sql, got, c.want, where(plan, "t"))
		}
	}
	for order, want := range map[string]string{
		"a": `"a" NULLS LAST`, "a DESC": `"a" DESC NULLS LAST`, "a NULLS FIRST": `"a" NULLS FIRST`, "a DESC NULLS FIRST": `"a" DESC NULLS FIRST`,
	} {
		_, plan := b.rows(t, "SELECT id FROM {{ t }} ORDER BY "+order+" LIMIT 2")
		if got := plan.Extracts[0].Query.SQL; !strings.HasSuffix(got, " ORDER BY "+want+" LIMIT 2") {
			t.Errorf("ORDER BY %s: %s", order, got)
		}
	}
}

func TestCaseP14ArithmeticNearTheLimits(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, a INTEGER, b INTEGER, u UBIGINT)": "(1, 46341, 46340, 1), (2, -46341, 46340, 0), (3, 1, 1, 18446744073709551615), (4, NULL, 1, NULL)"})
	for _, c := range []struct{ sql, want string }{
		{"a * b > 0", "[[1] [3]]"}, {"a + b > 2 AND a * b <> 5", "[[1]]"}, {"u - 0 > 1", "[[3]]"}, {"abs(a) > 1", "[[1] [2]]"}, {"-a > 0", "[[2]]"},
		{"a::TINYINT = 1 AND id = 3", "[[3]]"}, {"id * 2 = 6", "[[3]]"}, {"a = 46341.0", "[[1]]"}, {"u > 9223372036854775807", "[[3]]"}, {"u = -1", "[]"},
	} {
		got, plan := b.rows(t, "SELECT id FROM {{ t }} WHERE "+c.sql)
		if w := where(plan, "t"); fmt.Sprint(got) != c.want || strings.ContainsAny(strings.ReplaceAll(w, "-46", ""), "*+") {
			t.Errorf("%s: %v, want %s; sent %s", c.sql, got, c.want, w)
		}
	}
}

func TestCaseP15VolatileFunctions(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, ts TIMESTAMPTZ)": "(1, '2026-03-10 11:59:59.999999+00'), (2, '2026-03-10 12:00:00+00'), (3, '2026-03-10 12:00:00.000001+00')"})
	plan := b.expect(t, "SELECT id FROM {{ t }} WHERE ts > now()", "[3]")
	if w, want := where(plan, "t"), `"ts" > TIMESTAMPTZ '2026-03-10 12:00:00+00'`; w != want {
		t.Errorf("sent %s, want %s", w, want)
	}
	b.expect(t, "SELECT id FROM {{ t }} WHERE ts <= current_timestamp AND now() = transaction_timestamp()", "[1]", "[2]")
	in := Input{SQL: refs("SELECT id FROM {{ t }} WHERE random() < 0.5 AND id > 1 LIMIT 1", b.rels), Relations: b.rels, Now: testNow}
	plan, err := b.planner.Plan(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	x := plan.Extracts[0]
	isRandom := func(c Conjunct) bool { return strings.Contains(c.SQL, "random()") }
	if x.Where != `"id" > 1` || x.Limit >= 0 || !slices.ContainsFunc(x.Kept, isRandom) || plan.Streamed != nil {
		t.Errorf("sent %s, kept %v, limit %d", x.Query.SQL, x.Kept, x.Limit)
	}
}

// TestCaseP16ConstantsThatAreNoText: DuckDB serializes a plan with such a constant as the
// empty text.
func TestCaseP16ConstantsThatAreNoText(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, bits BIT)": "(1, '11110000'), (2, '00000001'), (3, NULL)", "u(id BIGINT)": "(1), (2)"})
	for sql, want := range map[string]string{
		"SELECT id FROM {{ t }} WHERE bits > '00001111'::BIT AND id < 3":                                                                          `"id" < 3`,
		"SELECT id FROM {{ t }} WHERE bits IN ('1'::BIT, '00000001'::BIT) AND id > 1":                                                             `"id" > 1`,
		"WITH c AS (SELECT t.id, bits FROM {{ t }} t JOIN {{ u }} u ON t.id = u.id WHERE t.id > 1) SELECT id FROM c WHERE bits = '00000001'::BIT": `"id" > 1`,
	} {
		got, plan := b.rows(t, sql)
		if w := where(plan, "t"); len(got) != 1 || w != want {
			t.Errorf("%s: %v, sent %s", sql, got, w)
		}
	}
}
