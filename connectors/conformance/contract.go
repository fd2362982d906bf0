package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// Connector is what each connector's own test runs: its types to itself, to DuckDB and
// back, random rows, and the promises of package connectors that are no matter of types.
func Connector(t *testing.T, engine string) {
	t.Run("types", func(t *testing.T) {
		b := NewBench(t)
		s := b.Source(engine, nil)
		s.Pair(engine)
		s.Pair("duckdb")
		if engine != "duckdb" {
			b.Source("duckdb", nil).Pair(engine)
		}
	})
	t.Run("random", func(t *testing.T) { NewBench(t).Random([]string{engine, "duckdb"}, []string{engine}) })
	for _, p := range promises {
		t.Run(p.name, func(t *testing.T) {
			b := NewBench(t)
			p.check(b, b.Site(engine))
		})
	}
}

// promises are what callers rely on.
var promises = []struct {
	name  string
	check func(b *Bench, s *Site)
}{
	{"missing relation", missingRelation}, {"empty result", emptyResult}, {"names", names}, {"many rows", manyRows}, {"only the number of rows", onlyCount},
	{"failed load", failedLoad}, {"replaced view", replacedView}, {"discard", discard}, {"cancelled", cancelled}, {"lock", lock}, {"row of an error", errorRow},
}

func intColumn(s *Site, values ...string) *Column {
	native := "INTEGER"
	if s.Engine == "clickhouse" {
		native = "Nullable(Int32)"
	}
	return &Column{Name: "n", Native: native, Want: "INTEGER", Values: values, Full: true}
}

// staged reads a small table of DuckDB: the result that is landed.
func (b *Bench) staged(values ...string) *Staged {
	b.Helper()
	from := b.Site("duckdb")
	st, err := from.Extract(from.Create(&Column{Name: "n", Native: "INTEGER", Want: "INTEGER", Values: values, Full: true}), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := st.Close(); err != nil {
			b.Error(err)
		}
	})
	return st
}

func (st *Staged) all() string { return "SELECT * FROM " + st.Table() + " ORDER BY id" }

func (b *Bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// holds compares column n of a relation with values, in the order of id.
func (s *Site) holds(rel connectors.Relation, want ...string) {
	s.bench.Helper()
	rows := s.Texts(rel, []TextOf{{"n", s.Native(rel)["n"].Native, connectors.T(connectors.Integer)}})
	if len(rows) != len(want) {
		s.bench.Errorf("%s holds %d rows, want %d", rel, len(rows), len(want))
	}
	for i, w := range want {
		if row := rows[i+1]; row == nil || row[0] == nil || *row[0] != w {
			s.bench.Errorf("%s: row %d is not %s", rel, i+1, w)
		}
	}
}

func missingRelation(b *Bench, s *Site) {
	for _, rel := range []connectors.Relation{{Schema: s.Schema, Name: "nowhere"}, {Schema: s.Schema + "_nowhere", Name: "nowhere"}} {
		if _, err := s.Conn.Describe(b.ctx, rel); !errors.Is(err, connectors.ErrNotFound) {
			b.Errorf("describing %s: %v", rel, err)
		}
	}
}

// emptyResult: no rows are a table with its columns, which reads as no rows.
func emptyResult(b *Bench, s *Site) {
	st, rel := b.staged("1"), s.Name()
	b.must(st.Land(s, rel, st.Result(), "SELECT * FROM "+st.Table()+" WHERE id < 0", connectors.TargetOptions{}, true))
	s.holds(rel)
	back, err := s.Extract(rel, nil)
	b.must(err)
	if back.Rows != 0 || len(back.Columns) != 2 {
		b.Errorf("%d rows of %d columns were read", back.Rows, len(back.Columns))
	}
	b.must(back.Close())
}

var oddNames = []string{"Total %", "a b", "1st", "select", "order", `quo"te`, "back`tick", "ñ", "MixedCase", "nested.a", "semi;colon", "dash-ed", "per%sent", "it's", "q?", `back\slash`}

// names of columns and tables arrive as they are.
func names(b *Bench, s *Site) {
	for _, table := range []string{"select", "Mixed Case ñ", `quo"te`, "a.b", "it's"} {
		rel := connectors.Relation{Schema: s.Schema, Name: table}
		var cols []*Column
		for i, n := range oddNames {
			c := intColumn(s, fmt.Sprint(i))
			c.Name = n
			cols = append(cols, c)
		}
		s.CreateAs(rel, cols...)
		st, err := s.Extract(rel, nil)
		if err != nil {
			b.Errorf("reading %s: %v", rel, err)
			continue
		}
		target := connectors.Relation{Schema: s.Schema, Name: table + " 2"}
		if err := st.Land(s, target, st.Result(), st.all(), connectors.TargetOptions{}, true); err != nil {
			b.Errorf("loading %s: %v", target, err)
		} else if bad := st.again(s, target); bad != "" {
			b.Errorf("%s: %s", target, bad)
		}
		b.must(st.Close())
	}
}

// again reads a target and says what differs from what is staged.
func (st *Staged) again(s *Site, target connectors.Relation) string {
	back, err := s.extractTo(st.model, "again", target, nil, nil)
	if err != nil {
		return err.Error()
	}
	for i, c := range st.Columns {
		if back.Columns[i].Name != c.Name {
			return fmt.Sprintf("column %q is called %q", c.Name, back.Columns[i].Name)
		}
		if bad := st.differences(back, i); bad != "" {
			return bad
		}
	}
	return ""
}

// manyRows are more than one batch; they are counted and none is lost.
func manyRows(b *Bench, s *Site) {
	st, rel := b.staged("1"), s.Name()
	const n = connectors.BatchRows*2 + 17
	sql := fmt.Sprintf("SELECT CAST(i AS INTEGER) AS id, CAST(i * 3 AS INTEGER) AS n FROM %s, range(1, %d) r(i) ORDER BY 1", st.Table(), n+1)
	b.must(st.Land(s, rel, st.Result(), sql, connectors.TargetOptions{}, true))
	back, err := s.Extract(rel, nil)
	b.must(err)
	defer func() { b.must(back.Close()) }()
	if back.Rows != n {
		b.Fatalf("%d rows were read, want %d", back.Rows, n)
	}
	bad := 0
	b.must(back.model.Query(b.ctx, "SELECT id FROM "+back.Table()+" WHERE n IS DISTINCT FROM id * 3", false, func(rec arrow.RecordBatch) error {
		bad += int(rec.NumRows())
		return nil
	}))
	if bad > 0 {
		b.Errorf("%d rows changed", bad)
	}
}

// onlyCount: without columns only the number of rows matters.
func onlyCount(b *Bench, s *Site) {
	rel := s.Create(intColumn(s, "1", "2", "3"))
	st, err := s.extract(rel, nil, []string{})
	b.must(err)
	if st.Rows != 3 {
		b.Errorf("%d rows, want 3", st.Rows)
	}
	b.must(st.Close())
}

// failedLoad: whatever fails before the swap, the old content stays.
func failedLoad(b *Bench, s *Site) {
	st, rel := b.staged("1", "2"), s.Name()
	b.must(st.Land(s, rel, st.Result(), st.all(), connectors.TargetOptions{}, true))
	other := b.staged("3")
	b.must(other.Land(s, rel, other.Result(), other.all(), connectors.TargetOptions{}, false)) // sealed and discarded
	s.holds(rel, "1", "2")
	if err := other.Land(s, rel, other.Result(), "SELECT id, CAST(error('stop') AS INTEGER) AS n FROM "+other.Table(), connectors.TargetOptions{}, true); err == nil {
		b.Error("a query that fails was loaded")
	}
	s.holds(rel, "1", "2")
	b.must(other.Land(s, rel, other.Result(), other.all(), connectors.TargetOptions{}, true))
	s.holds(rel, "3")
}

// replacedView: a target that exists as a view becomes a table.
func replacedView(b *Bench, s *Site) {
	if s.inFiles() {
		return // has no views
	}
	rel := s.Name()
	s.Exec("CREATE VIEW " + s.relation(rel) + " AS SELECT 1 AS n")
	st := b.staged("1", "2")
	b.must(st.Land(s, rel, st.Result(), st.all(), connectors.TargetOptions{}, true))
	s.holds(rel, "1", "2")
}

// discard may be called twice, and after a swap, and drops nothing that counts.
func discard(b *Bench, s *Site) {
	st, rel := b.staged("1"), s.Name()
	b.must(st.Land(s, rel, st.Result(), st.all(), connectors.TargetOptions{}, true))
	o := connectors.TargetOptions{}
	if s.inFiles() {
		o.Format = "parquet"
	}
	ctx, cancel := context.WithCancel(b.ctx)
	staging, err := s.Conn.(connectors.Stager).Stage(ctx, connectors.StageSpec{RunID: "conformance", Target: rel, Columns: st.Result(), Options: o})
	b.must(err)
	cancel() // a run that was stopped
	for range 2 {
		b.must(staging.Discard(b.ctx))
	}
	s.holds(rel, "1")
	b.must(s.Conn.(connectors.Stager).CleanStaging(b.ctx, rel))
	s.holds(rel, "1")
}

// cancelled reads end with the error of their context.
func cancelled(b *Bench, s *Site) {
	rel := s.Create(intColumn(s, "1"))
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	start := time.Now()
	table, err := s.Conn.Describe(b.ctx, rel)
	b.must(err)
	q := connectors.Query{SQL: s.Conn.Dialect().Select(connectors.Extract{Table: table, Columns: []int{0, 1}, Limit: -1}), Columns: table.Columns}
	err = s.Conn.Read(ctx, q, func(arrow.RecordBatch) error { return nil })
	if !errors.Is(err, context.Canceled) {
		b.Errorf("reading after a cancellation: %v", err)
	}
	stop := errors.New("stop")
	if err := s.Conn.Read(b.ctx, q, func(arrow.RecordBatch) error { return stop }); !errors.Is(err, stop) {
		b.Errorf("reading until the receiver fails: %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		b.Errorf("it took %s", took)
	}
}

// lock: a second run waits, says so, and gives up with a *LockedError.
func lock(b *Bench, s *Site) {
	l, ok := s.Conn.(connectors.Locker)
	if !ok {
		b.Fatal("it locks nothing")
	}
	rel := s.Name()
	release, err := l.Lock(b.ctx, rel, time.Second, func() {})
	b.must(err)
	waited := 0
	var locked *connectors.LockedError
	if _, err := l.Lock(b.ctx, rel, 100*time.Millisecond, func() { waited++ }); !errors.As(err, &locked) {
		b.Errorf("a second lock: %v", err)
	}
	if waited != 1 {
		b.Errorf("it told %d times that it waits", waited)
	}
	other, err := l.Lock(b.ctx, s.Name(), time.Second, func() {})
	b.must(err)
	other()
	release()
	again, err := l.Lock(b.ctx, rel, 5*time.Second, func() {})
	b.must(err)
	again()
}

// refusedBy is a value that an engine refuses as a target; As is the type that the model
// asks for there.
var refusedBy = map[string]*Column{
	"postgres":   {Native: "VARCHAR", Want: "VARCHAR", Values: []string{"'a'", "'b'", "'c'", "chr(0)", "'e'"}},
	"mysql":      {Native: "DOUBLE", Want: "DOUBLE", Values: []string{"1", "2", "3", "'nan'", "5"}},
	"clickhouse": {Native: "DATE", Want: "DATE", Values: []string{"'2024-01-01'", "'2024-01-02'", "'2024-01-03'", "'9999-01-01'", "'2024-01-05'"}},
	"sqlite":     {Native: "DOUBLE", Want: "DOUBLE", Values: []string{"1", "2", "3", "'nan'", "5"}},
	"duckdb":     {Native: "INTEGER", Want: "INTEGER", Values: []string{"1", "2", "3", "300", "5"}, As: "TINYINT"},
	"s3":         {Native: "HUGEINT", Want: "HUGEINT", Values: []string{"1", "2", "3", "170141183460469231731687303715884105727", "5"}},
	"file":       {Native: "HUGEINT", Want: "HUGEINT", Values: []string{"1", "2", "3", "170141183460469231731687303715884105727", "5"}},
}

// errorRow: a refused value is named with its row, by key where the model has one.
func errorRow(b *Bench, s *Site) {
	c, asked := *refusedBy[s.Engine], map[string]string{}
	if c.As != "" {
		asked["c"], c.As = c.As, ""
	}
	c.Name = "c"
	from := b.Site("duckdb")
	st, err := from.Extract(from.Create(&c), nil)
	b.must(err)
	defer func() { b.must(st.Close()) }()
	sql := "SELECT id + 100 AS id, c FROM " + st.Table() + " ORDER BY id"
	for _, o := range []connectors.TargetOptions{{ColumnTypes: asked}, {ColumnTypes: asked, UniqueKey: []string{"id"}}, {ColumnTypes: asked, UniqueKey: []string{"c"}, NamedBy: []string{"id"}}} {
		err := st.Land(s, s.Name(), st.Result(), sql, o, true)
		var v *connectors.ValueError
		if !errors.As(err, &v) || v.Column != "c" {
			b.Errorf("the error is %v", err)
			continue
		}
		want := "id = 104"
		switch {
		case o.UniqueKey != nil:
		case s.fills(): // DuckDB itself writes there, and its rows have no numbers
			want = "id = 104, c = " + v.Value
		default:
			want = "number 4 (id = 104, c = " + v.Value + ")"
		}
		if v.Row != want {
			b.Errorf("the row is called %q, want %q", v.Row, want)
		}
	}
}
