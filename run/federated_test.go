package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/planner"
)

func fedEnv(t *testing.T, name string, def int64) int64 {
	t.Helper()
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

// TestAcceptanceFederated runs random queries over tables on six engines, federated, and
// over one DuckDB that holds the same rows. Every row must be the same. Some run again
// with rules of the planner switched off.
//
// DVT_FUZZ_SEED, DVT_FUZZ_QUERIES and DVT_FUZZ_MINUTES choose what is run;
// DVT_FUZZ_QUERY is one query of a seed. A run that was stopped goes on with the seed that
// it printed last and, as DVT_FUZZ_SKIP, how many queries of it were done.
func TestAcceptanceFederated(t *testing.T) {
	seed := fedEnv(t, "DVT_FUZZ_SEED", 1+time.Now().UnixNano()%1_000_000)
	queries, minutes := int64(300), fedEnv(t, "DVT_FUZZ_MINUTES", 0)
	switch {
	case minutes > 0:
		queries = 1 << 40
	case os.Getenv("DVT_ACCEPTANCE") == "full":
		queries = 200_000
	case os.Getenv("DVT_ACCEPTANCE") == "sample":
		queries = 1000
	case testing.Short():
		queries = 60
	}
	queries = fedEnv(t, "DVT_FUZZ_QUERIES", queries)
	only, skip := fedEnv(t, "DVT_FUZZ_QUERY", -1), fedEnv(t, "DVT_FUZZ_SKIP", 0)
	t.Logf("DVT_FUZZ_SEED=%d DVT_FUZZ_QUERIES=%d", seed, queries)
	total := &fedStats{byEngine: map[string]*fedShare{}}
	deadline := time.Now().Add(time.Duration(minutes) * time.Minute)
	// Each world has its own data.
	const inWorld = 20_000
	for done := int64(0); done < queries && total.mismatches() < fedTolerated; seed++ {
		first, n := skip, min(queries-done, inWorld-skip)
		done, skip = done+n, 0
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newFedWorld(t, seed)
			w.whole(t, seed)
			if only >= 0 {
				newFedRig(t, w, total).step(seed, only)
				return
			}
			w.spread(t, total, seed, first, first+n, func() bool { return minutes > 0 && time.Now().After(deadline) })
		})
		if only >= 0 || minutes > 0 && time.Now().After(deadline) {
			break
		}
	}
	t.Log(total)
	if only < 0 {
		total.enough(t, queries)
	}
}

// fedTolerated mismatches end a comparison: up to there it goes on and reports each.
const fedTolerated = 5

// spread runs the queries first to end of a seed on two workers, each with a run of its
// own.
func (w *fedWorld) spread(t *testing.T, total *fedStats, seed, first, end int64, over func() bool) {
	const workers = 2
	var wait sync.WaitGroup
	for k := range int64(workers) {
		w.threads = int(1 + k)
		rig := newFedRig(t, w, total)
		if queries := end - first; queries > 5000 {
			rig.often = 10
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := first + k; i < end && total.mismatches() < fedTolerated && !over(); i += workers {
				rig.step(seed, i)
				if i > first && i%2000 == 0 {
					t.Logf("DVT_FUZZ_SEED=%d DVT_FUZZ_SKIP=%d so far %s", seed, i, total)
				}
			}
		}()
	}
	wait.Wait()
}

// whole compares every table as it is, and the extremes of one of its columns: what goes
// wrong here is in a connector.
func (w *fedWorld) whole(t *testing.T, seed int64) {
	t.Helper()
	rig := newFedRig(t, w, &fedStats{byEngine: map[string]*fedShare{}})
	reduced := 0
	for i, x := range w.tables {
		c := fedIdent(x.cols[(int(seed)+i)%len(x.cols)].name)
		for _, items := range []string{"*", "min(" + c + ") AS least, max(" + c + ") AS greatest"} {
			sql := "SELECT " + items + " FROM " + fedName(x)
			want, cols, err := rig.want(sql)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rig.got(sql, nil)
			if err == nil {
				err = got.sameAs(want, cols, false)
			}
			if err != nil {
				t.Errorf("%s.%s: %s: %v", x.engine, x.name, items, err)
			} else if got.plan.Extracts[0].ReducedRows == 2 {
				reduced++
			}
		}
	}
	if reduced == 0 {
		t.Error("no extremes left a source as two rows")
	}
	if t.Failed() {
		t.FailNow()
	}
}

// fedRig is one worker.
type fedRig struct {
	t      *testing.T
	world  *fedWorld
	runner *Runner
	oracle *sql.DB
	conn   *sql.Conn
	stats  *fedStats
	often  int                 // of 100 queries so many run with rules off
	tamper func(*planner.Plan) // spoils a plan
}

func newFedRig(t *testing.T, w *fedWorld, stats *fedStats) *fedRig {
	t.Helper()
	f := &fedRig{t: t, world: w, runner: w.runner(t), stats: stats, often: 25}
	if err := f.openOracle(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.oracle.Close() })
	return f
}

// openOracle gives the worker a DuckDB of its own, a new one after an internal error,
// with which an instance ends.
func (f *fedRig) openOracle() (err error) {
	if f.oracle != nil {
		_ = f.oracle.Close()
	}
	if f.oracle, err = sql.Open("duckdb", ""); err != nil {
		return err
	}
	ctx := context.Background()
	if f.conn, err = f.oracle.Conn(ctx); err != nil {
		return err
	}
	for _, q := range []string{"ATTACH " + fedQuote(filepath.Join(f.world.files, "oracle.db")) + " AS oracle (READ_ONLY)", "USE oracle",
		"SET disabled_optimizers = 'join_filter_pushdown'", "SET TimeZone = 'UTC'", "SET threads = 1"} {
		if _, err := f.conn.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// step makes query i of a seed and compares.
func (f *fedRig) step(seed, i int64) {
	g := &fedGen{r: rand.New(rand.NewSource(seed*1_000_003 + i)), tables: f.world.tables}
	sql, ordered := g.model()
	want, cols, err := f.want(sql)
	if err != nil { // a shape or a cast that DuckDB refuses
		f.stats.refuse(err)
		if strings.Contains(err.Error(), "INTERNAL Error") {
			f.t.Logf("query %d of seed %d: %.300v\n%s", i, seed, err, sql)
			if err := f.openOracle(); err != nil {
				f.t.Error(err)
			}
		}
		return
	}
	off := []map[string]bool{nil}
	if g.twice || g.chance(f.often) { // several extracts of a relation wherever that is safe
		off = append(off, map[string]bool{"estimate": true})
	}
	if g.chance(f.often) {
		off = append(off, map[string]bool{"pushdown": true})
	}
	if g.chance(f.often) {
		rules := map[string]bool{}
		for range 1 + g.n(4) {
			rules[planner.RuleNames()[1+g.n(len(planner.RuleNames())-1)]] = true
		}
		off = append(off, rules)
	}
	for _, rules := range off {
		err := f.compare(sql, ordered, want, cols, rules)
		if err != nil && strings.Contains(err.Error(), "DuckDB failed in itself") { // it does not always with the oracle's statistics
			f.stats.refuse(err)
			return
		}
		if err != nil {
			small := f.shrink(sql, g.preds, ordered, rules)
			f.stats.mismatch()
			f.t.Errorf("query %d of seed %d, rules off %v: %v\n%s\n\nsmaller:\n%s\n%s", i, seed, rules, err, sql, small, f.explain(small, ordered, rules))
			return
		}
	}
}

// compare runs a query federated.
func (f *fedRig) compare(sql string, ordered bool, want [][]*string, cols []connectors.Column, off map[string]bool) error {
	got, err := f.got(sql, off)
	if err != nil {
		return err
	}
	if len(off) == 0 {
		f.stats.count(got, len(want))
	}
	f.stats.countApart(got)
	if err := got.sameAs(want, cols, ordered); err != nil {
		return err
	}
	if got.streamed != nil {
		s := *got
		s.rows = got.streamed
		if err := s.sameAs(want, cols, false); err != nil {
			return fmt.Errorf("streamed: %w", err)
		}
	}
	return nil
}

// fedResult is what a federated query gave.
type fedResult struct {
	rows, streamed [][]*string
	cols           []connectors.Column
	plan           *planner.Plan // as it was carried out
	stats          []extract.Stat
}

// want is the oracle's answer as text, and its columns.
func (f *fedRig) want(sql string) ([][]*string, []connectors.Column, error) {
	sql = fedOracleNames(sql)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	described, err := fedStrings(ctx, f.conn, "SELECT column_name, column_type FROM (DESCRIBE "+sql+")")
	if err != nil {
		return nil, nil, err
	}
	var cols []connectors.Column
	for _, d := range described {
		t, err := connectors.ParseType(*d[1])
		if err != nil {
			return nil, nil, err
		}
		cols = append(cols, connectors.Column{Name: *d[0], Type: t})
	}
	rows, err := fedStrings(ctx, f.conn, compute.TextQuery(sql, cols))
	if err == nil && len(rows) > 100_000 {
		err = errors.New("too many rows")
	}
	return rows, cols, err
}

// got runs the query as a run would.
func (f *fedRig) got(sql string, off map[string]bool) (res *fedResult, err error) {
	// Long enough for a machine that does other things: a query that hangs is the fault.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r := f.runner
	r.Options.DisabledRules = off
	n, err := r.Project.Inline(fedModel(sql))
	if err != nil {
		return nil, err
	}
	p, err := r.prepare(ctx, n, planMode{live: true}, nil)
	if err != nil {
		return nil, err
	}
	if f.tamper != nil {
		f.tamper(p.Plan)
	}
	engine, err := r.Engine()
	if err != nil {
		return nil, err
	}
	m, err := engine.Model("fed")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	res = &fedResult{plan: p.Plan}
	if err := f.query(ctx, m, res); err != nil || p.Plan.Streamed == nil {
		return res, err
	}
	res.streamed, err = f.stream(ctx, m, p.Plan)
	return res, err
}

// query makes the extracts and runs the query, over rows that come where it may.
func (f *fedRig) query(ctx context.Context, m *compute.Model, res *fedResult) error {
	r := f.runner
	reads, err := extract.Start(ctx, res.plan, m, r.Conns.Get, r.limits, &extract.Progress{}, nil)
	if err != nil {
		return err
	}
	if !reads.Failed() {
		if res.cols, err = resultColumns(ctx, m, res.plan); err == nil {
			res.rows, err = fedRows(ctx, m, res.plan.SQL, res.cols)
		}
	}
	stats, failed := reads.Wait()
	res.plan, res.stats = reads.Plan, stats
	if failed != nil {
		return failed
	}
	return err
}

// stream reads what a streamed plan would hand to its target.
func (f *fedRig) stream(ctx context.Context, m *compute.Model, plan *planner.Plan) ([][]*string, error) {
	q := *plan.Streamed
	cols, all := append([]connectors.Column(nil), q.Columns...), make([]int, len(q.Columns))
	for i := range cols {
		all[i] = i
	}
	conn, err := f.runner.Conns.Get(plan.Extracts[0].Relation.Connection)
	if err != nil {
		return nil, err
	}
	to, err := m.Stage(ctx, "streamed", "s", "t", cols, all)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(conn.Read(ctx, q, func(rec arrow.RecordBatch) error { return to.Append(rec) }), to.Close()); err != nil {
		return nil, err
	}
	rows, err := fedRows(ctx, m, `SELECT * FROM "streamed`+planner.Marker+`"."s"."t"`, cols)
	if rows == nil {
		rows = [][]*string{}
	}
	return rows, err
}

func fedRows(ctx context.Context, m *compute.Model, sql string, cols []connectors.Column) (rows [][]*string, err error) {
	err = m.Query(ctx, compute.TextQuery(sql, cols), true, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			rows = append(rows, connectors.TextValues(rec, i))
		}
		return nil
	})
	return rows, err
}

// sameAs compares bags of rows, or lists where the query orders them.
func (res *fedResult) sameAs(want [][]*string, cols []connectors.Column, ordered bool) error {
	for i, c := range cols {
		if len(res.cols) != len(cols) || res.cols[i].Name != c.Name || !res.cols[i].Type.Equal(c.Type) {
			return fmt.Errorf("columns %v, want %v", res.cols, cols)
		}
	}
	got, wanted := fedLines(res.rows, ordered), fedLines(want, ordered)
	if slices.Equal(got, wanted) {
		return nil
	}
	i := 0
	for i < len(got) && i < len(wanted) && got[i] == wanted[i] {
		i++
	}
	first := func(rows []string) string {
		return fmt.Sprintf("%.1500s", strings.Join(rows[min(i, len(rows)):], "\n     "))
	}
	return fmt.Errorf("%d rows, want %d; from row %d\nwant %s\ngot  %s", len(got), len(wanted), i, first(wanted), first(got))
}

// fedLines are rows as text. 0.0 and -0.0 are equal, and which one stands for a group, an
// extreme or a tie is left open by DuckDB.
func fedLines(rows [][]*string, ordered bool) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for _, v := range row {
			switch {
			case v == nil:
				b.WriteString("NULL\t")
			case *v == "-0.0":
				b.WriteString(`"0.0"` + "\t")
			default:
				fmt.Fprintf(&b, "%q\t", *v)
			}
		}
		out[i] = b.String()
	}
	if !ordered {
		sort.Strings(out)
	}
	return out
}

type fedQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func fedStrings(ctx context.Context, db fedQuerier, query string) (out [][]*string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		row, to := make([]*string, len(names)), make([]any, len(names))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}
