package planner

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// The TestCaseP… are cases in which pushdown gave wrong rows elsewhere. Each runs its
// queries over whole relations and over what the plan extracts.

// bench is a few relations with rows.
type bench struct{ *fuzz }

// caseBench makes relations from "name(column TYPE, …)" and their rows.
func caseBench(t *testing.T, d connectors.Dialect, tables map[string]string) bench {
	t.Helper()
	b := bench{newBench(t, rand.New(rand.NewSource(1)))}
	for head, rows := range tables {
		name, cols, _ := strings.Cut(strings.TrimSuffix(head, ")"), "(")
		var columns []string
		for c := range strings.SplitSeq(cols, ", ") {
			columns = append(columns, strings.Replace(c, " ", ":", 1))
		}
		b.exec("CREATE TABLE src_whole.main." + name + " (" + cols + ")")
		b.exec("INSERT INTO src_whole.main." + name + " VALUES " + rows)
		b.whole[name] = b.count("src_whole.main." + name)
		b.rels = append(b.rels, rel("src", "main", name, d, columns...))
	}
	return b
}

var exactSource = testDialect{text: connectors.Exact, catalog: "src_whole"}

// rows plans and runs sql; the rows must be those of one DuckDB that holds everything.
func (b bench) rows(t *testing.T, sql string) ([]string, *Plan) {
	t.Helper()
	in := Input{Model: "m", SQL: refs(sql, b.rels), Relations: b.rels, Now: testNow}
	want, err := b.run(in.SQL, "_whole")
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	plan, err := b.planner.Plan(context.Background(), in)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got := b.staged(t, sql, plan, want)
	// Again, with an extract for each place that names a relation.
	for _, r := range b.rels {
		r.Table.Stable = true
	}
	in.DisabledRules = map[string]bool{ruleEstimate: true}
	apart, err := b.planner.Plan(context.Background(), in)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	b.staged(t, sql, apart, want)
	for _, r := range b.rels {
		r.Table.Stable = false
	}
	var short []string
	for _, r := range got {
		_, r, _ = strings.Cut(r, "] ")
		short = append(short, r)
	}
	return short, plan
}

// staged runs what is left of sql over what plan extracts.
func (b bench) staged(t *testing.T, sql string, plan *Plan, want []string) []string {
	t.Helper()
	staged := b.stage(plan)
	got, err := b.run(plan.SQL, "_staged")
	if err != nil || !slices.Equal(want, got) {
		t.Errorf("%s: %v\n%s\n%s", sql, err, staged, difference(want, got))
	}
	return got
}

func (b bench) expect(t *testing.T, sql string, want ...string) *Plan {
	t.Helper()
	got, plan := b.rows(t, sql)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: rows %v, want %v", sql, got, want)
	}
	return plan
}

// where is what the source of a relation applies.
func where(p *Plan, relation string) string {
	for _, x := range p.Extracts {
		if x.Relation.Name == relation {
			return x.Where
		}
	}
	return "no such relation"
}

func TestCaseP1FilterOnNullSupplyingSide(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"a(id BIGINT)": "(1)", "b(id BIGINT, x VARCHAR)": "(1, 'p')"})
	plan := b.expect(t, "SELECT a.id FROM {{ a }} a LEFT JOIN {{ b }} b ON a.id = b.id WHERE b.x IS NULL")
	if w := where(plan, "b"); w != "" {
		t.Errorf("b is filtered by %s", w)
	}
}

func TestCaseP2FiltersAboveOuterJoins(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{
		"a(id BIGINT, x VARCHAR)": "(1, 'p'), (2, NULL), (3, 'q'), (NULL, 'p')", "b(id BIGINT, x VARCHAR)": "(1, 'p'), (2, 'q'), (4, NULL), (5, 'p'), (NULL, NULL)"})
	for _, join := range []string{"LEFT JOIN", "RIGHT JOIN", "FULL JOIN"} {
		for _, side := range []string{"a", "b"} {
			for _, filter := range []string{"%s.x IS NULL", "NOT (%s.x = 'p')", "%s.x IS DISTINCT FROM 'p'", "coalesce(%s.x, 'p') = 'p'", "coalesce(%s.x, 'z') <> 'p'", "%s.x = 'p' OR %[1]s.id IS NULL",
				"%s.x IS NOT NULL", "NOT (%s.x IS NOT NULL)", "(%s.x = 'p') IS NOT TRUE", "CASE WHEN %s.x = 'p' THEN false ELSE true END", "%s.id NOT IN (1, 2)", "%s.id + 1 > 2"} {
				on := "a.id = b.id"
				for _, more := range []string{"", " AND b.x = 'p'", " AND a.x = 'p'"} {
					b.rows(t, "SELECT a.id, a.x, b.id AS id2, b.x AS x2 FROM {{ a }} a "+join+" {{ b }} b ON "+on+more+" WHERE "+fmt.Sprintf(filter, side))
				}
			}
		}
	}
}

func TestCaseP3SelfJoin(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, parent BIGINT, v INTEGER)": "(1, NULL, 10), (2, 1, 20), (3, 2, 5), (4, 3, 99)"})
	b.expect(t, "SELECT x.id, y.id AS child, y.v FROM {{ t }} x JOIN {{ t }} y ON x.id = y.parent WHERE x.v < 15", "[1 2 20]", "[3 4 99]")
	if b.stats.apart != 1 {
		t.Errorf("%d relations were read by several extracts, want 1", b.stats.apart)
	}
}

func TestCaseP4LimitBelowOtherOperators(t *testing.T) {
	d := exactSource
	d.refuse = func(p *connectors.Pred) bool { return p.Kind == connectors.PCmp && p.Op == "<>" }
	b := caseBench(t, d, map[string]string{"t(v INTEGER, g VARCHAR)": "(9, 'a'), (8, 'a'), (7, 'b'), (1, 'b'), (2, 'c'), (3, 'c'), (3, NULL)"})
	plan := b.expect(t, "SELECT v FROM {{ t }} ORDER BY v, g LIMIT 3", "[1]", "[2]", "[3]")
	if x := plan.Extracts[0]; x.Limit != 3 || !strings.HasSuffix(x.Query.SQL, `ORDER BY "v" NULLS LAST, "g" NULLS LAST LIMIT 3`) {
		t.Errorf("%s", x.Query.SQL)
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT g, sum(v) AS s FROM {{ t }} GROUP BY g ORDER BY s DESC LIMIT 1", "[[a 17]]"},
		{"SELECT DISTINCT g FROM {{ t }} WHERE g IS NOT NULL ORDER BY g LIMIT 2", "[[a] [b]]"},
		{"SELECT v, row_number() OVER (ORDER BY v DESC) AS r FROM {{ t }} ORDER BY v DESC LIMIT 2", "[[8 2] [9 1]]"},
		{"SELECT v FROM {{ t }} WHERE g <> 'b' ORDER BY v LIMIT 2", "[[2] [3]]"}, // not pushed
		{"SELECT v FROM {{ t }} WHERE v % 2 = 0 ORDER BY v LIMIT 1", "[[2]]"},    // kept
		{"SELECT v FROM {{ t }} ORDER BY v % 7, v LIMIT 2", "[[7] [1]]"},         // no order there
		{"SELECT count(*) AS n FROM (SELECT v FROM {{ t }} LIMIT 4) q", "[[4]]"}, // which rows is open, how many is not
		{"SELECT v FROM (SELECT v FROM {{ t }} ORDER BY v LIMIT 3) q WHERE v > 1 ORDER BY v LIMIT 1", "[[2]]"},
		{"SELECT a.v FROM {{ t }} a JOIN {{ t }} b ON a.v = b.v AND a.g IS NOT DISTINCT FROM b.g ORDER BY a.v LIMIT 1", "[[1]]"},
		{"SELECT v FROM {{ t }} ORDER BY v LIMIT 2 OFFSET 4", "[[7] [8]]"},
		{"(SELECT v FROM {{ t }} WHERE g = 'a') UNION ALL (SELECT v FROM {{ t }} WHERE g = 'c') ORDER BY v LIMIT 1", "[[2]]"},
	} {
		if got, _ := b.rows(t, c.sql); fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", c.sql, got, c.want)
		}
	}
}

func TestCaseP5FilterOfOneUseOnly(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, v INTEGER)": "(1, 10), (2, 20), (3, 30)"})
	plan := b.expect(t, "WITH big AS (SELECT id FROM {{ t }} WHERE v > 15) SELECT t.id, big.id AS b FROM {{ t }} t LEFT JOIN big ON big.id = t.id", "[1 <nil>]", "[2 2]", "[3 3]")
	if w := where(plan, "t"); w != "" {
		t.Errorf("t is filtered by %s", w)
	}
	b.expect(t, "WITH c AS (SELECT * FROM {{ t }}) SELECT (SELECT count(*) FROM c WHERE v > 15) AS n, count(*) AS m FROM c", "[2 3]")
}

func TestCaseP6UnqualifiedColumn(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"a(id BIGINT, v INTEGER)": "(1, 5), (2, 50)", "b(id BIGINT, amount INTEGER)": "(1, 7), (2, 8)"})
	plan := b.expect(t, "SELECT a.id FROM {{ a }} a JOIN {{ b }} b ON a.id = b.id WHERE v > amount AND amount > 6", "[2]")
	// DuckDB concludes that v > 6.
	if wa, wb := where(plan, "a"), where(plan, "b"); wa != `"v" > 6` || wb != `"amount" > 6` {
		t.Errorf("a: %s, b: %s", wa, wb)
	}
}

func TestCaseP7SubqueryOverTheTarget(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"t(id BIGINT, v INTEGER)": "(1, 1), (2, 1), (NULL, 1), (4, 0)", "this(id BIGINT, v INTEGER)": "(1, 0), (3, 0)"})
	plan := b.expect(t, "SELECT id FROM {{ t }} WHERE v = 1 AND id NOT IN (SELECT id FROM {{ this }})", "[2]")
	for _, x := range plan.Extracts {
		if strings.Contains(strings.ToUpper(x.Query.SQL), "IN (") {
			t.Errorf("a key list or a subquery is sent: %s", x.Query.SQL)
		}
	}
	if wt, wthis := where(plan, "t"), where(plan, "this"); wt != `"v" = 1` || wthis != "" {
		t.Errorf("t: %s, this: %s", wt, wthis)
	}
	b.exec("INSERT INTO src_whole.main.this VALUES (NULL, 0)")
	b.expect(t, "SELECT id FROM {{ t }} WHERE v = 1 AND id NOT IN (SELECT id FROM {{ this }})")
}

func TestCaseP8OneAliasInTwoScopes(t *testing.T) {
	b := caseBench(t, exactSource, map[string]string{"a(id BIGINT, v INTEGER)": "(1, 1), (2, 2)", "b(id BIGINT, v INTEGER)": "(1, 10), (2, 20)"})
	plan := b.expect(t, "SELECT a.v AS av, b.v AS bv FROM {{ a }} b JOIN {{ b }} a ON a.id = b.id WHERE a.v > 10 AND b.v > 0", "[20 2]")
	if wa, wb := where(plan, "a"), where(plan, "b"); wa != `"v" > 0` || wb != `"v" > 10` {
		t.Errorf("a: %s, b: %s", wa, wb)
	}
	b.expect(t, "SELECT x.id FROM {{ a }} x WHERE EXISTS (SELECT 1 FROM {{ b }} x WHERE x.v > 10) AND x.v = 1", "[1]")
	b.expect(t, "SELECT a.id FROM (SELECT id FROM {{ b }} a WHERE a.v = 10) a JOIN (SELECT id FROM {{ a }} b WHERE b.v < 2) b ON a.id = b.id", "[1]")
}
