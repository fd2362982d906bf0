package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

var intCol = []connectors.Column{{Name: "a", Type: connectors.Type{Kind: connectors.BigInt}}}

func (f *fixture) count(name string) string {
	f.t.Helper()
	return strings.TrimSpace(f.post("SELECT concat(toString(count()), ' ', toString(ifNull(sum(a), 0))) FROM " + f.db + "." + name))
}

// A reader that polls sees the old or the new content, or that there is no such table
// for the moment between the two renames of an old server; never a part of either.
func TestReplaceUnderReader(t *testing.T) {
	f := newFixture(t, "")
	f.exec("CREATE TABLE " + f.db + ".t (a Int64) ENGINE = MergeTree ORDER BY tuple()")
	f.exec("INSERT INTO " + f.db + ".t SELECT 1 FROM system.numbers LIMIT 1000")
	ok := map[string]bool{"1000": true}
	for i := range 10 {
		ok[fmt.Sprint(1001+i)] = true
	}
	reader := openConn(t, serverOutput(t, drivers()[0], f.db))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var reads, gaps int
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			rows, err := reader.text(context.Background(), countSQL(f.db+".t"))
			switch {
			case errors.Is(err, connectors.ErrNotFound):
				gaps++
			case err != nil:
				t.Error(err)
			case !ok[rows[0][0]]:
				t.Errorf("a reader saw %s rows", rows[0][0])
			}
			reads++
		}
	})
	for i := range 10 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(intCol))
		for range 1001 + i {
			b.Field(0).(*array.Int64Builder).Append(2)
		}
		rec := b.NewRecordBatch()
		if err := f.load(connectors.StageSpec{RunID: fmt.Sprintf("run%05d", i), Target: f.rel("t"), Columns: intCol}, rec); err != nil {
			t.Error(err)
		}
		rec.Release()
		b.Release()
	}
	close(stop)
	wg.Wait()
	t.Logf("%d reads, %d of them in a gap", reads, gaps)
	if left := f.tables(); !reflect.DeepEqual(left, []string{"t"}) || f.count("t") != "1010 2020" {
		t.Errorf("tables %q, content %s", left, f.count("t"))
	}
}

func TestReplaceViewAndMissing(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		rec := batch(t, intCol, `[{"a":5},{"a":null}]`)
		if err := f.load(connectors.StageSpec{Target: f.rel("t"), Columns: intCol}, rec); err != nil {
			t.Fatal(err)
		}
		f.exec("CREATE VIEW " + f.db + ".v AS SELECT a FROM " + f.db + ".t")
		f.exec("CREATE VIEW " + f.db + ".dep AS SELECT a + 1 AS b FROM " + f.db + ".v")
		if tab := f.describe("v"); !tab.View {
			t.Errorf("%+v", tab)
		}
		if err := f.load(connectors.StageSpec{Target: f.rel("v"), Columns: intCol}, batch(t, intCol, `[{"a":7}]`)); err != nil {
			t.Fatal(err)
		}
		if tab := f.describe("v"); tab.View || f.count("v") != "1 7" {
			t.Errorf("%+v %s", tab, f.count("v"))
		}
		if got := f.table("dep", ""); !reflect.DeepEqual(got, [][]string{{"8"}}) {
			t.Errorf("the dependent view gives %q", got)
		}
		f.exec("CREATE MATERIALIZED VIEW " + f.db + ".mv ENGINE = MergeTree ORDER BY tuple() AS SELECT a FROM " + f.db + ".v")
		if err := f.load(connectors.StageSpec{Target: f.rel("mv"), Columns: intCol}, batch(t, intCol, `[{"a":9}]`)); err != nil {
			t.Fatal(err)
		}
		if tab := f.describe("mv"); tab.View || f.count("mv") != "1 9" {
			t.Errorf("%+v %s", tab, f.count("mv"))
		}
		// An empty result gives an empty table.
		if err := f.load(connectors.StageSpec{Target: f.rel("t"), Columns: intCol}); err != nil {
			t.Fatal(err)
		}
		if tab := f.describe("t"); len(tab.Columns) != 1 || tab.Columns[0].Native != "Nullable(Int64)" || f.count("t") != "0 0" {
			t.Errorf("%+v %s", tab, f.count("t"))
		}
	})
}

func TestReplaceKeepsComments(t *testing.T) {
	f := newFixture(t, "")
	f.exec("CREATE TABLE " + f.db + ".t (a Int64) ENGINE = MergeTree ORDER BY tuple()")
	f.exec("ALTER TABLE " + f.db + ".t COMMENT COLUMN a 'it\\'s the key'")
	if err := f.load(connectors.StageSpec{Target: f.rel("t"), Columns: intCol}, batch(t, intCol, `[{"a":1}]`)); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(f.post("SELECT comment FROM system.columns WHERE database = '" + f.db + "' AND table = 't'")); got != `it\'s the key` {
		t.Errorf("comment %q", got)
	}
}

// A run that died between the two renames left the target under its old name.
func TestDeadRuns(t *testing.T) {
	for name, use := range map[string]func(f *fixture) error{
		"CleanStaging": func(f *fixture) error { return f.CleanStaging(context.Background(), f.rel("t")) },
		"Stage": func(f *fixture) error {
			st, err := f.Stage(context.Background(), connectors.StageSpec{RunID: "other123", Target: f.rel("t"), Columns: intCol})
			if err != nil {
				return err
			}
			return errors.Join(st.Discard(context.Background()), f.CleanStaging(context.Background(), f.rel("t")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "")
			old, staged := beside(f.rel("t"), oldPrefix, "deadrun1"), beside(f.rel("t"), stagingPrefix, "deadrun1")
			f.exec("CREATE TABLE " + relation(old, "") + " (a Int64) ENGINE = MergeTree ORDER BY tuple()")
			f.exec("INSERT INTO " + relation(old, "") + " SELECT 42")
			f.exec("CREATE TABLE " + relation(staged, "") + " (a Int64) ENGINE = MergeTree ORDER BY tuple()")
			f.exec("CREATE TABLE " + f.db + ".__dvt_deadrun1aaaaaaaaaaaa (a Int64) ENGINE = Memory") // another model's
			if err := use(f); err != nil {
				t.Fatal(err)
			}
			if left := f.tables(); !reflect.DeepEqual(left, []string{"__dvt_deadrun1aaaaaaaaaaaa", "t"}) || f.count("t") != "1 42" {
				t.Errorf("tables %q", left)
			}
		})
	}
}

// A swap whose second rename fails puts the target back.
func TestFailedSwap(t *testing.T) {
	f := newFixture(t, "")
	f.exec("CREATE TABLE " + f.db + ".t (a Int64) ENGINE = MergeTree ORDER BY tuple()")
	f.exec("INSERT INTO " + f.db + ".t SELECT 42")
	ctx := context.Background()
	st, err := f.Stage(ctx, connectors.StageSpec{RunID: "run00001", Target: f.rel("t"), Columns: intCol})
	if err != nil {
		t.Fatal(err)
	}
	f.exec("DROP TABLE " + st.(*staging).sqlName()) // somebody else was here
	if err := f.Replace(ctx, st); err == nil {
		t.Error("no error")
	}
	if err := st.Discard(ctx); err != nil {
		t.Error(err)
	}
	if left := f.tables(); !reflect.DeepEqual(left, []string{"t"}) || f.count("t") != "1 42" {
		t.Errorf("tables %q", left)
	}
}

// The model's engine, order_by and partition_by; and a database that is not there yet.
func TestTargetOptions(t *testing.T) {
	f := newFixture(t, "")
	cs := cols("id", connectors.BigInt, "d", connectors.Date, "na`me", connectors.Varchar, "n", connectors.BigInt)
	rec := batch(t, cs, "[{\"id\":2,\"d\":\"2024-01-02\",\"na`me\":\"x\",\"n\":null},{\"id\":1,\"d\":\"2024-02-01\",\"na`me\":\"x\",\"n\":3},{\"id\":1,\"d\":\"2024-02-01\",\"na`me\":\"x\",\"n\":4}]")
	for _, c := range []struct {
		name string
		o    connectors.TargetOptions
		want []string // in the definition
	}{
		{"default", connectors.TargetOptions{}, []string{"MergeTree", "tuple()", "Nullable(Int64)"}},
		{"order", connectors.TargetOptions{OrderBy: []string{"id", "na`me"}, PartitionBy: []string{"toYYYYMM(d)"}}, []string{"id Int64", "d Date", "toYYYYMM(d)", "n Nullable(Int64)"}},
		{"replacing", connectors.TargetOptions{Engine: "ReplacingMergeTree", OrderBy: []string{"id"}}, []string{"ReplacingMergeTree", "ORDER BY"}},
		{"log", connectors.TargetOptions{Engine: "Log"}, []string{"Log"}},
		{"own clauses", connectors.TargetOptions{Engine: "MergeTree PARTITION BY tuple() ORDER BY id", ColumnTypes: map[string]string{"id": "INT"}}, []string{"ORDER BY id", "id Int32"}},
		{"column types", connectors.TargetOptions{ColumnTypes: map[string]string{"n": "LowCardinality(Nullable(String))", "d": "String", "id": "Nullable(Decimal(38, 4))"}}, []string{"n LowCardinality(Nullable(String))", "d String", "Decimal(38, 4)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := f.load(connectors.StageSpec{Target: f.rel("t_" + strings.ReplaceAll(c.name, " ", "_")), Columns: cs, Options: c.o}, rec); err != nil {
				t.Fatal(err)
			}
			def := f.post("SELECT replaceAll(create_table_query, '`', '') FROM system.tables WHERE database = '" + f.db + "' AND name = 't_" + strings.ReplaceAll(c.name, " ", "_") + "'")
			for _, w := range c.want {
				if !strings.Contains(def, w) {
					t.Errorf("no %q in %s", w, def)
				}
			}
		})
	}
	other := openConn(t, serverOutput(t, drivers()[0], f.db+"_new"))
	fresh := &fixture{conn: other, t: t, db: f.db + "_new"}
	if err := fresh.load(connectors.StageSpec{Target: connectors.Relation{Name: "t"}, Columns: intCol}, batch(t, intCol, `[{"a":1}]`)); err != nil {
		t.Fatal(err)
	}
	if got := fresh.count("t"); got != "1 1" {
		t.Error(got)
	}
	f.exec("DROP DATABASE " + fresh.db)
}

// A column that came from ClickHouse gets its own type back, and its values.
func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		types := []string{"Int8", "UInt64", "Float32", "String", "Nullable(String)", "FixedString(3)", "LowCardinality(String)", "LowCardinality(Nullable(String))", "Enum8('b\\'' = -2, 'a' = 1)", "Enum16('x' = 300)",
			"Date", "DateTime", "DateTime('Asia/Tokyo')", "UUID", "Decimal(9, 2)", "Decimal(38, 10)", "Array(Nullable(Int16))", "Array(LowCardinality(String))", "Tuple(a Int8, b Array(String))"}
		values := []string{"-5", "18446744073709551615", "1.5", "'x'", "NULL", "'abc'", "'lc'", "NULL", "'b\\''", "'x'", "'2024-01-02'", "toDateTime(1710055800)", "toDateTime(1710055800)", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "-1.25", "1.0000000001", "[1, NULL]", "['p', 'q', 'p']", "(1, ['z'])"}
		var defs []string
		for i, ty := range types {
			defs = append(defs, fmt.Sprintf("c%d %s", i, ty))
		}
		f.exec("CREATE TABLE " + f.db + ".src (" + strings.Join(defs, ", ") + ") ENGINE = MergeTree ORDER BY tuple()")
		f.exec("INSERT INTO " + f.db + ".src VALUES (" + strings.Join(values, ", ") + ")")
		src := f.describe("src")
		f.roundTrip(t, src)
		for i, c := range f.describe("dst").Columns {
			want, err := parseType(types[i])
			if err != nil {
				t.Fatal(err)
			}
			if c.Native != want.withNull() {
				t.Errorf("%s became %s", types[i], c.Native)
			}
		}
		if got, want := f.post("SELECT * FROM "+f.db+".dst"), f.post("SELECT * FROM "+f.db+".src"); got != want {
			t.Errorf("got  %swant %s", got, want)
		}
	})
}

// Several blocks in one load, bounded by rows and by bytes.
func TestManyBlocks(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		cs := cols("a", connectors.BigInt, "s", connectors.Varchar)
		b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cs))
		defer b.Release()
		long := strings.Repeat("x", 1<<20)
		ctx := context.Background()
		st, err := f.Stage(ctx, connectors.StageSpec{RunID: "run00001", Target: f.rel("t"), Columns: cs})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Discard(ctx) }()
		var n, sum int64
		write := func(rows int, s string) {
			for range rows {
				b.Field(0).(*array.Int64Builder).Append(n)
				b.Field(1).(*array.StringBuilder).Append(s)
				sum += n
				n++
			}
			rec := b.NewRecordBatch()
			defer rec.Release()
			if err := st.Write(ctx, rec); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			write(16384, "short")
		}
		for range 12 {
			write(4, long)
		}
		write(140_000, "")
		rows, err := st.Seal(ctx)
		if err != nil || rows != n {
			t.Fatalf("%d of %d rows, %v", rows, n, err)
		}
		if err := f.Replace(ctx, st); err != nil {
			t.Fatal(err)
		}
		if got := f.count("t"); got != fmt.Sprintf("%d %d", n, sum) {
			t.Error(got)
		}
		if tab := f.describe("t"); tab.RowEstimate != n {
			t.Errorf("estimate %d", tab.RowEstimate)
		}
	})
}

// A cancelled load leaves neither a statement nor a table.
func TestCancelledLoad(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(context.Background())
		st, err := f.Stage(ctx, connectors.StageSpec{RunID: "run00001", Target: f.rel("t"), Columns: intCol})
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(intCol))
		defer b.Release()
		for i := range blockRows + 10 {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		rec := b.NewRecordBatch()
		defer rec.Release()
		if err := st.Write(ctx, rec); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := st.Write(ctx, rec); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
		if err := st.Discard(ctx); err != nil {
			t.Error(err)
		}
		f.waitFor(st.(*staging).table.Name, false)
		if left := f.tables(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}
