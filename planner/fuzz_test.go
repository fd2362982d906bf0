package planner

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// TestPlansKeepResults runs random queries twice: over whole relations, and over what
// the plan extracts of them. Every row must be the same. DVT_FUZZ_QUERIES and
// DVT_FUZZ_SEED set how many and which.
func TestPlansKeepResults(t *testing.T) {
	queries := envInt(t, "DVT_FUZZ_QUERIES", 300)
	seed := envInt(t, "DVT_FUZZ_SEED", 1+time.Now().UnixNano()%1_000_000)
	t.Logf("DVT_FUZZ_SEED=%d DVT_FUZZ_QUERIES=%d", seed, queries)
	f := newFuzz(t, seed)
	for i := range int(queries) {
		f.step(i)
		if f.mismatch != "" {
			t.Fatalf("query %d of seed %d: %s", i, seed, f.mismatch)
		}
	}
	t.Logf("%+v", f.stats)
	// The comparison proves nothing if nothing was pushed or nothing came out.
	s := f.stats
	if queries >= 200 && (s.compared < int(queries)*9/10 || s.nonEmpty < s.compared/4 || s.pushed < s.scans/6 || s.limits == 0 || s.staged > s.whole*9/10) {
		t.Errorf("too little was put to the test: %+v", s)
	}
}

// TestLostGuardsAreFound takes away one guard at a time: the comparison must fail.
func TestLostGuardsAreFound(t *testing.T) {
	const limit = 400
	for _, g := range []guard{guardOr, guardLimit, guardScans, guardWhole, guardChain, guardDistinct, guardOffset, guardNulls} {
		t.Run(string(g), func(t *testing.T) {
			f := newFuzz(t, 5)
			f.planner.without, f.gen.prefer = g, g
			for i := range limit {
				f.step(i)
				if strings.HasPrefix(f.mismatch, "planning") {
					t.Fatal(f.mismatch)
				}
				if f.mismatch != "" {
					t.Logf("found by query %d", i)
					return
				}
			}
			t.Errorf("%d queries without the guard were right: %+v", limit, f.stats)
		})
	}
}

// TestSerializationFailures: without statistics_propagation one plan in four cannot be
// serialized. What comes instead must be right.
func TestSerializationFailures(t *testing.T) {
	kept := keepOptimizers
	defer func() { keepOptimizers = kept }()
	keepOptimizers = slices.DeleteFunc(slices.Clone(kept), func(o string) bool {
		return o == "statistics_propagation" || o == "empty_result_pullup"
	})
	f := newFuzz(t, 3)
	for i := range 80 {
		f.step(i)
		if f.mismatch != "" {
			t.Fatalf("query %d: %s", i, f.mismatch)
		}
	}
	if f.stats.noted < 5 {
		t.Errorf("%d plans without serialization, want more", f.stats.noted)
	}
}

func envInt(t *testing.T, name string, def int64) int64 {
	v := os.Getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// fuzz is a run of the comparison.
type fuzz struct {
	t        *testing.T
	planner  *Planner
	gen      *generator
	rels     []Relation
	db       *sql.Conn
	whole    map[string]int // rows
	mismatch string
	stats    fuzzStats
}

type fuzzStats struct {
	compared, nonEmpty, refused, duckdb  int // queries; refused by DuckDB itself; DuckDB's own differences
	scans, pushed, limits, whole, staged int // extracts, and rows
	noted                                int // plans with notes
}

// fuzzDialect reads the whole relations. Its answers get worse at random: no, or a
// superset that really is one.
type fuzzDialect struct {
	testDialect
	r *rand.Rand
}

func (d fuzzDialect) Relation(r connectors.Relation) string {
	return `"src_whole"."main".` + quote(r.Name)
}

func (d fuzzDialect) Leaf(p *connectors.Pred, t *connectors.Table) connectors.Answer {
	switch d.r.Intn(12) {
	case 0:
		return connectors.Answer{Reason: "at random"}
	case 1:
		a := d.testDialect.Leaf(p, t)
		return connectors.Answer{SQL: "(" + a.SQL + ` OR "id" % 3 = 0)`, Verdict: connectors.Superset, Reason: "at random"}
	}
	return d.testDialect.Leaf(p, t)
}

func (d fuzzDialect) Select(e connectors.Extract) string {
	// testDialect's Select, with the names of this one
	return strings.Replace(d.testDialect.Select(e), d.testDialect.Relation(e.Table.Relation), d.Relation(e.Table.Relation), 1)
}

func newFuzz(t *testing.T, seed int64) *fuzz {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	f := &fuzz{t: t, planner: newPlanner(t), gen: &generator{r: r}, whole: map[string]int{}}
	d := fuzzDialect{testDialect{text: connectors.Exact}, r}
	for _, n := range []string{"ta", "tb", "tc"} {
		f.rels = append(f.rels, rel("src", "main", n, d, fuzzColumns...))
		f.gen.tables = append(f.gen.tables, viewName(&f.rels[len(f.rels)-1]))
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if f.db, err = db.Conn(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.db.Close() })
	setUp := []string{"SET threads = 2", "ATTACH ':memory:' AS src_whole", "ATTACH ':memory:' AS src_staged"}
	for _, q := range slices.Concat(setUp, ExecutionSettings(), ClockMacros(testNow)) {
		f.exec(q)
	}
	return f
}

func (f *fuzz) exec(q string) {
	f.t.Helper()
	if _, err := f.db.ExecContext(context.Background(), q); err != nil {
		f.t.Fatalf("%s: %v", q, err)
	}
}

func (f *fuzz) count(table string) (n int) {
	if err := f.db.QueryRowContext(context.Background(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		f.t.Fatal(err)
	}
	return n
}

// load fills the whole relations anew.
func (f *fuzz) load() {
	f.exec(fmt.Sprintf("SELECT setseed(%f)", f.gen.r.Float64()))
	for _, r := range f.rels {
		f.exec(fmt.Sprintf(`CREATE OR REPLACE TABLE src_whole.main.%s AS SELECT i::BIGINT AS id,
			CASE WHEN random() < .1 THEN NULL ELSE (random()*9)::BIGINT END AS k,
			CASE WHEN random() < .1 THEN NULL ELSE (random()*8-4)::INTEGER END AS n,
			(['', 'a', 'A', 'ab', 'b%%', 'b_', 'é', 'it''s', 'a ', 'zz', NULL])[1 + (random()*11)::INT] AS s,
			CASE WHEN random() < .1 THEN NULL ELSE (random()*8-3)::DECIMAL(9,2) END AS dec,
			(['nan'::double, 'inf'::double, '-inf'::double, 0, -0.0, 1.5, 2, -7.25, 1e10, NULL])[1 + (random()*10)::INT] AS f,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .05 THEN 'infinity' ELSE TIMESTAMP '2024-01-01' + INTERVAL (floor(random()*16)::INT * 6) HOUR END AS ts,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .05 THEN '-infinity' ELSE TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (floor(random()*16)::INT * 6) HOUR END AS tz,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .05 THEN 'infinity' ELSE DATE '2024-01-01' + floor(random()*5)::INT END AS d,
			([true, false, NULL])[1 + (random()*3)::INT] AS b,
			([0, 1, 2, 18446744073709551615, NULL]::UBIGINT[])[1 + (random()*5)::INT] AS u FROM range(%d) t(i)`, r.Name, 10+f.gen.r.Intn(30)))
		f.whole[r.Name] = f.count("src_whole.main." + r.Name)
	}
}

// step makes one query and compares.
func (f *fuzz) step(i int) {
	if i%50 == 0 {
		f.load()
	}
	in := Input{Model: "m", SQL: f.gen.query(), Relations: f.rels, Now: testNow}
	if f.gen.prefer == "" && f.gen.chance(50) {
		in.DisabledRules = map[string]bool{}
		for range 1 + f.gen.r.Intn(4) {
			in.DisabledRules[f.gen.pick(RuleNames()...)] = true
		}
	}
	want, err := f.run(in.SQL, "_whole")
	if err != nil { // shapes that DuckDB does not support
		f.stats.refused++
		return
	}
	plan, err := f.planner.Plan(context.Background(), in)
	if err != nil {
		f.mismatch = fmt.Sprintf("planning: %v\n%s", err, in.SQL)
		return
	}
	if len(plan.Notes) > 0 {
		f.stats.noted++
	}
	staged := f.stage(plan)
	got, err := f.run(plan.SQL, "_staged")
	if err != nil {
		f.mismatch = fmt.Sprintf("over staged relations: %v\n%s\n%s", err, in.SQL, staged)
		return
	}
	f.stats.compared++
	if len(want) > 0 {
		f.stats.nonEmpty++
	}
	if strings.Join(want, "\n") == strings.Join(got, "\n") {
		return
	}
	if f.unoptimizedAgree(plan.SQL) {
		f.stats.duckdb++
		f.t.Logf("DuckDB's optimizer changes the result of %s", in.SQL)
		return
	}
	f.mismatch = fmt.Sprintf("rules off %v\n%s\n%s\nwant %.400q\ngot  %.400q", in.DisabledRules, in.SQL, staged, want, got)
}

// unoptimizedAgree tells DuckDB's errors from the planner's: without any optimizer both
// ways give one result.
func (f *fuzz) unoptimizedAgree(q string) bool {
	f.exec("PRAGMA disable_optimizer")
	defer f.exec("PRAGMA enable_optimizer")
	a, err1 := f.run(q, "_whole")
	b, err2 := f.run(q, "_staged")
	return err1 == nil && err2 == nil && strings.Join(a, "\n") == strings.Join(b, "\n")
}

// stage does what execution does: all columns, NULL where none was extracted.
func (f *fuzz) stage(plan *Plan) string {
	var done []string
	for _, x := range plan.Extracts {
		extracted := map[int]bool{}
		for _, c := range x.Columns {
			extracted[c] = true
		}
		var cols []string
		for i, c := range x.Relation.Table.Columns {
			if extracted[i] {
				cols = append(cols, "q."+quote(c.Name))
			} else {
				cols = append(cols, "CAST(NULL AS "+c.Type.String()+") AS "+quote(c.Name))
			}
		}
		from := "(" + x.Query.SQL + ") q"
		if x.Pruned {
			from = "range(0)"
		}
		name := quote(x.Relation.Name)
		q := "CREATE OR REPLACE TABLE src_staged.main." + name + " AS SELECT " + strings.Join(cols, ", ") + " FROM " + from
		f.exec(q)
		done = append(done, "  "+q)
		f.stats.scans++
		if x.Where != "" {
			f.stats.pushed++
		}
		if x.Limit >= 0 {
			f.stats.limits++
		}
		f.stats.whole += f.whole[x.Relation.Name]
		f.stats.staged += f.count("src_staged.main." + name)
	}
	return strings.Join(done, "\n")
}

// run returns the rows as sorted texts. -0.0 and 0.0 are equal for DuckDB, and which
// one a group shows is left open.
func (f *fuzz) run(q, suffix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rows, err := f.db.QueryContext(ctx, strings.ReplaceAll(q, Marker, suffix))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []string
	for rows.Next() {
		vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		out = append(out, strings.ReplaceAll(fmt.Sprintf("%q %v", vals, vals), "-0", "0"))
	}
	sort.Strings(out)
	return out, rows.Err()
}
