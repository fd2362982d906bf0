package planner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

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
	scans, limits, whole, staged         int // extracts, and rows
	pushed, exact, kept                  int // predicates: pushed, of these exactly; kept
	extremes, streamed, keys, ranges, no int // extracts of one row, streamed plans; reductions by keys, by a range, without an answer
	noted, apart, remembered             int // plans with notes; relations read by several extracts; plans from memory
}

func percent(part, of int) int { return 100 * part / max(of, 1) }

func (s fuzzStats) String() string {
	return fmt.Sprintf("%d queries compared, %d%% with rows; %d refused by DuckDB, %d where DuckDB's optimizer differs; of %d predicates %d%% pushed (%d%% exactly); "+
		"%d extracts bring %d%% of the rows, %d with a limit, %d of one row; %d keys, %d ranges, %d neither; %d streamed; %d notes; %d relations by several extracts; %d from memory",
		s.compared, percent(s.nonEmpty, s.compared), s.refused, s.duckdb, s.pushed+s.kept, percent(s.pushed, s.pushed+s.kept), percent(s.exact, s.pushed+s.kept),
		s.scans, percent(s.staged, s.whole), s.limits, s.extremes, s.keys, s.ranges, s.no, s.streamed, s.noted, s.apart, s.remembered)
}

// fuzzDialect reads the whole relations. Its answers get worse at random: no, or a
// superset that really is one.
type fuzzDialect struct {
	testDialect
	r *rand.Rand
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

func (d fuzzDialect) Extreme(t *connectors.Table, col int, highest bool) (string, bool) {
	sql, ok := d.testDialect.Extreme(t, col, highest)
	return sql, ok && d.r.Intn(20) > 0
}

func newFuzz(t *testing.T, seed int64) *fuzz {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	f := newBench(t, r)
	d := fuzzDialect{testDialect{text: connectors.Exact, catalog: "src_whole"}, r}
	for _, n := range []string{"ta", "tb", "tc"} {
		f.rels = append(f.rels, rel("src", "main", n, d, fuzzColumns...))
		f.gen.tables = append(f.gen.tables, viewName(&f.rels[len(f.rels)-1]))
	}
	return f
}

// newBench opens two databases, one of whole relations and one of what plans extract.
func newBench(t *testing.T, r *rand.Rand) *fuzz {
	t.Helper()
	f := &fuzz{t: t, planner: newPlanner(t), gen: &generator{r: r}, whole: map[string]int{}}
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
			CASE WHEN random() < .1 THEN NULL WHEN random() < .03 THEN 2147483647 ELSE (random()*8-4)::INTEGER END AS n,
			(['', 'a', 'A', 'ab', 'b%%', 'b_', 'é', 'É', 'e', 'it''s', 'a ', 'A ', ' a', 'zz', 'ß', NULL])[1 + floor(random()*16)::INT] AS s,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .03 THEN -9999999.99 ELSE (random()*8-3)::DECIMAL(9,2) END AS dec,
			(['nan'::double, 'inf'::double, '-inf'::double, 0, -0.0, 1.5, 2, -7.25, 1e10, NULL])[1 + floor(random()*10)::INT] AS f,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .04 THEN 'infinity' WHEN random() < .04 THEN '0001-01-01' WHEN random() < .04 THEN '9999-12-31 23:59:59.999999'
				ELSE TIMESTAMP '2024-01-01' + INTERVAL (floor(random()*16)::INT * 6) HOUR END AS ts,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .04 THEN '-infinity' WHEN random() < .04 THEN '9999-12-31 00:00:00+00'
				ELSE TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL (floor(random()*16)::INT * 6) HOUR END AS tz,
			CASE WHEN random() < .1 THEN NULL WHEN random() < .04 THEN 'infinity' WHEN random() < .04 THEN '0001-01-01' WHEN random() < .04 THEN '9999-12-31'
				ELSE DATE '2024-01-01' + floor(random()*5)::INT END AS d,
			([true, false, NULL])[1 + floor(random()*3)::INT] AS b,
			([0, 1, 2, 18446744073709551615, NULL]::UBIGINT[])[1 + floor(random()*5)::INT] AS u
			FROM range(%d) t(i), range(%d) UNION ALL BY NAME SELECT NULL::BIGINT AS id FROM range(%d)`, r.Name, 10+f.gen.r.Intn(30), 1+f.gen.r.Intn(2), f.gen.r.Intn(2)))
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
	if f.gen.prefer == guardPlace || f.gen.prefer == "" && f.gen.chance(30) { // wherever it is safe
		if in.DisabledRules == nil {
			in.DisabledRules = map[string]bool{}
		}
		in.DisabledRules[ruleEstimate] = true
	}
	f.estimate(&in)
	want, err := f.run(in.SQL, "_whole")
	if err != nil { // shapes that DuckDB does not support
		f.stats.refused++
		return
	}
	mem := f.analyzed(in)
	plan, err := f.planner.Plan(context.Background(), in)
	if err != nil {
		f.mismatch = fmt.Sprintf("planning: %v\n%s", err, in.SQL)
		return
	}
	if mem.hits >= 1 {
		f.stats.remembered++
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
	switch {
	case !slices.Equal(want, got) && f.unoptimizedAgree(plan.SQL):
		f.stats.duckdb++
		f.t.Logf("DuckDB's optimizer changes the result of %s", in.SQL)
	case !slices.Equal(want, got):
		f.mismatch = fmt.Sprintf("rules off %v\n%s\n%s\n%s", in.DisabledRules, in.SQL, staged, difference(want, got))
	case plan.Streamed != nil:
		f.stream(plan, in, want)
	}
}

// analyzed lets the planner analyze in beforehand, so that the plan comes from its memory.
// Dialects are not asked yet, for their answers are random.
func (f *fuzz) analyzed(in Input) *keeper {
	mem := newKeeper()
	f.planner.Remember(mem)
	q, err := f.planner.parse(context.Background(), in.SQL)
	if err != nil {
		return mem
	}
	used, err := q.resolve(in)
	if err == nil {
		_, _, _ = f.planner.analyze(context.Background(), q, used, in, ruleSet{in.DisabledRules, f.planner.without})
	}
	mem.hits = 0
	return mem
}

// estimate tells the planner sizes, some of the time, and wrong ones too: they may
// choose who goes first, no more. Sometimes a relation is the target.
func (f *fuzz) estimate(in *Input) {
	for _, r := range f.rels {
		r.Table.RowEstimate = []int64{-1, -1, -1, int64(f.whole[r.Name]), 0, 1_000_000}[f.gen.r.Intn(6)]
		r.Table.Stable = f.gen.prefer == guardPlace || f.gen.chance(80)
		if r.Table.Stats = nil; f.gen.chance(50) {
			for range r.Table.Columns {
				r.Table.Stats = append(r.Table.Stats, connectors.Stat{Distinct: []int64{0, 1, 9, 100, 1_000_000}[f.gen.r.Intn(5)], Width: f.gen.r.Intn(3) * 20})
			}
		}
	}
	if f.gen.chance(10) {
		in.TargetConnection, in.Target = "src", f.rels[0].Table.Relation
	}
}

// stream compares the read that a streamed plan is.
func (f *fuzz) stream(plan *Plan, in Input, want []string) {
	f.stats.streamed++
	got, err := f.run(plan.Streamed.SQL, "")
	if err != nil || !slices.Equal(want, got) {
		f.mismatch = fmt.Sprintf("streamed: %v\n%s\n%s\n%s", err, in.SQL, plan.Streamed.SQL, difference(want, got))
	}
	for i, c := range plan.Streamed.Columns {
		if c.Name != plan.Columns[i].Name || !c.Type.Equal(plan.Columns[i].Type) {
			f.mismatch = fmt.Sprintf("streamed column %s %s, not %s %s\n%s", c.Name, c.Type, plan.Columns[i].Name, plan.Columns[i].Type, in.SQL)
		}
	}
}

// difference shows the first rows that differ.
func difference(want, got []string) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	first := func(rows []string) string { return fmt.Sprintf("%.600s", strings.Join(rows[i:], " ")) }
	return fmt.Sprintf("%d rows, want %d; from row %d:\nwant %s\ngot  %s", len(got), len(want), i, first(want), first(got))
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

// stage does what execution does: extracts in the order of the key reductions, each
// reduced by what was staged before it.
func (f *fuzz) stage(plan *Plan) string {
	p := *plan
	p.Extracts = slices.Clone(plan.Extracts)
	var done []string
	ready := make([]bool, len(p.Extracts))
	stage := func(i int) {
		if !ready[i] {
			ready[i] = true
			done = append(done, "  "+f.stageOne(&p.Extracts[i]))
		}
	}
	for i, k := range p.KeyReductions {
		stage(k.From)
		if ready[k.To] {
			f.t.Fatalf("reduction %d of %+v comes too late", i, p.KeyReductions)
		}
		f.reduce(&p, i)
	}
	for i := range p.Extracts {
		stage(i)
	}
	return strings.Join(done, "\n")
}

// reduce makes one key reduction; which form it has is left to chance.
func (f *fuzz) reduce(p *Plan, i int) {
	k := p.KeyReductions[i]
	bounds, list := p.KeyQueries(i)
	typ := p.Extracts[k.From].Relation.Table.Columns[k.FromColumn].Type
	var lo, hi *string
	if err := f.db.QueryRowContext(context.Background(), strings.ReplaceAll(bounds, Marker, "_staged")).Scan(&lo, &hi); err != nil {
		f.t.Fatal(err)
	}
	low, ok1 := KeyValue(typ, lo)
	high, ok2 := KeyValue(typ, hi)
	if !ok1 || !ok2 {
		f.t.Fatalf("keys %q and %q of type %s are not understood", *lo, *hi, typ)
	}
	var keys []connectors.Value
	if f.gen.chance(70) {
		keys = []connectors.Value{}
		rows, err := f.db.QueryContext(context.Background(), strings.ReplaceAll(list, Marker, "_staged"))
		if err != nil {
			f.t.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				f.t.Fatal(err)
			}
			v, ok := KeyValue(typ, &text)
			if !ok {
				f.t.Fatalf("key %q of type %s is not understood", text, typ)
			}
			keys = append(keys, v)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			f.t.Fatal(err)
		}
	}
	x, ok := p.Reduce(i, low, high, keys)
	switch {
	case !ok:
		f.stats.no++
		return
	case keys == nil:
		f.stats.ranges++
	default:
		f.stats.keys++
	}
	p.Extracts[k.To] = x
}

// stageOne makes a relation with all columns, NULL where none was extracted.
func (f *fuzz) stageOne(x *Extract) string {
	var cols []string
	for i, c := range x.Relation.Table.Columns {
		if slices.Contains(x.Columns, i) {
			cols = append(cols, "q."+quote(c.Name))
		} else {
			cols = append(cols, "CAST(NULL AS "+c.Type.String()+") AS "+quote(c.Name))
		}
	}
	from := "(" + x.Query.SQL + ") q"
	if x.Pruned {
		cols, from = nil, "range(0)"
		for _, c := range x.Relation.Table.Columns {
			cols = append(cols, "CAST(NULL AS "+c.Type.String()+") AS "+quote(c.Name))
		}
	}
	catalog, name := quote(x.Relation.Catalog+"_staged"), quote(x.Relation.Name)
	if x.Relation.Use > 1 {
		f.exec("ATTACH IF NOT EXISTS ':memory:' AS " + catalog)
	}
	if x.Relation.Use == 1 {
		f.stats.apart++
	}
	q := "CREATE OR REPLACE TABLE " + catalog + ".main." + name + " AS SELECT " + strings.Join(cols, ", ") + " FROM " + from
	f.exec(q)
	f.stats.count(x)
	f.stats.whole += f.whole[x.Relation.Name]
	f.stats.staged += f.count(catalog + ".main." + name)
	return q
}

func (s *fuzzStats) count(x *Extract) {
	s.scans++
	s.kept += len(x.Kept)
	s.pushed += len(x.Pushed)
	for _, c := range x.Pushed {
		if c.Verdict == connectors.Exact {
			s.exact++
		}
	}
	if x.Limit >= 0 {
		s.limits++
	}
	if x.Reduced != "" {
		s.extremes++
	}
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
