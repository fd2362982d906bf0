package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

func alters(kv ...any) (out []connectors.Alteration) {
	for i := 0; i < len(kv); i += 2 {
		out = append(out, connectors.Alteration{Kind: kv[i].(connectors.AlterKind), Column: kv[i+1].(connectors.Column)})
	}
	return out
}

// Columns come, grow and go with a delta; what the table computes and says of itself
// stays, also the values that it has computed before.
func TestApplyAlters(t *testing.T) {
	f := newFixture(t, "")
	ctx := context.Background()
	f.exec("CREATE TABLE " + f.db + ".t (id Int32, v Nullable(Int16), old Nullable(Date), at UInt32 MATERIALIZED toUInt32(now()) + 1000 * id, twice Int64 ALIAS id * 2, st String DEFAULT 'new') ENGINE = MergeTree ORDER BY tuple()")
	f.exec("INSERT INTO " + f.db + ".t (id, v, st) VALUES (1, 1, 'keep'), (2, 2, 'keep')")
	f.exec("ALTER TABLE " + f.db + ".t COMMENT COLUMN v 'it''s v'")
	before := f.content("SELECT at FROM " + f.db + ".t WHERE id = 1")
	cs := cols("id", connectors.BigInt, "v", connectors.BigInt, "added", connectors.Varchar)
	d := connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{"id"}, Columns: colNames(cs),
		Alter: alters(connectors.AddColumn, cs[2], connectors.WidenColumn, cs[1], connectors.WidenColumn, cs[0], connectors.DropColumn, cols("old", connectors.Date)[0])}
	st := f.staged("t", cs, `[{"id":2,"v":5000000000,"added":"x"},{"id":5000000000,"v":null,"added":null}]`)
	time.Sleep(1100 * time.Millisecond) // now() is another second
	out, err := f.Apply(ctx, st, d)
	if err != nil || out != (connectors.Applied{Updated: 1, Inserted: 1}) {
		t.Fatal(out, err)
	}
	f.drop(st)
	if got, want := f.content("SELECT id, v, added, st, twice FROM "+f.db+".t"), `1|1|\N|keep|2 2|5000000000|x|keep|4 5000000000|\N|\N|new|10000000000`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if after := f.content("SELECT at FROM " + f.db + ".t WHERE id = 1"); after != before {
		t.Errorf("a computed value of a row that stayed was %s and is %s", before, after)
	}
	got := f.content("SELECT name, type, default_kind, comment FROM system.columns WHERE database = '" + f.db + "' AND table = 't'")
	for _, want := range []string{"id|Int64||", `v|Nullable(Int64)||it\'s v`, "at|UInt32|MATERIALIZED|", "twice|Int64|ALIAS|", "st|String|DEFAULT|", "added|Nullable(String)||"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is gone: %s", want, got)
		}
	}
	if strings.Contains(got, "old|") || len(f.tables()) != 1 {
		t.Error(got, f.tables())
	}
	var filled []string
	for _, c := range f.describe("t").Columns {
		if c.Attrs["default"] != "" {
			filled = append(filled, c.Name)
		}
	}
	if len(filled) != 3 {
		t.Errorf("columns with values of their own: %v", filled)
	}
	// A failure leaves neither rows nor columns.
	cs = cols("id", connectors.BigInt, "st", connectors.Varchar, "more", connectors.Varchar)
	d = connectors.Delta{Strategy: connectors.StrategyAppend, Columns: colNames(cs), Alter: alters(connectors.AddColumn, cs[2])}
	st = f.staged("t", cs, `[{"id":7,"st":null,"more":"x"}]`)
	var bad *connectors.ValueError
	if _, err := f.Apply(ctx, st, d); !errors.As(err, &bad) || bad.Column != "st" {
		t.Error(err)
	}
	f.drop(st)
	if now := f.content("SELECT name, type, default_kind, comment FROM system.columns WHERE database = '" + f.db + "' AND table = 't'"); now != got || len(f.tables()) != 1 {
		t.Error(now, f.tables())
	}
}

// A delta that leaves columns of the target alone is joined in parts.
func TestApplyBuckets(t *testing.T) {
	f := newFixture(t, "")
	f.cfg.joinBytes = 20_000
	f.exec("CREATE TABLE " + f.db + ".t (id Nullable(Int64), v Nullable(Int64), own Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()")
	f.exec("INSERT INTO " + f.db + ".t SELECT number, 0, number FROM system.numbers LIMIT 10000")
	cs := cols("id", connectors.BigInt, "v", connectors.BigInt)
	st := f.stagedRows("t", cs, 4000, func(b *array.RecordBuilder, i int) {
		b.Field(0).(*array.Int64Builder).Append(int64(8000 + i))
		b.Field(1).(*array.Int64Builder).Append(1)
	})
	m := &merge{c: f.conn, st: st.(*staging), staged: 4000}
	if n, err := m.buckets(context.Background()); err != nil || n < 3 {
		t.Errorf("%d parts, %v", n, err)
	}
	out, err := f.Apply(context.Background(), st, connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{"id"}, Columns: colNames(cs)})
	if err != nil || out != (connectors.Applied{Updated: 2000, Inserted: 2000}) {
		t.Error(out, err)
	}
	f.drop(st)
	if got := f.content("SELECT count(), uniqExact(id), sum(v), sum(own), countIf(own = id) FROM " + f.db + ".t"); got != "12000|12000|4000|49995000|10000" {
		t.Error(got)
	}
}

func (f *fixture) stagedRows(name string, cs []connectors.Column, n int, row func(b *array.RecordBuilder, i int)) connectors.Staging {
	f.t.Helper()
	ctx := context.Background()
	st, err := f.Stage(ctx, connectors.StageSpec{RunID: "delta003", Target: f.rel(name), Columns: cs})
	if err != nil {
		f.t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cs))
	defer b.Release()
	for i := range n {
		row(b, i)
		if i%65536 == 65535 || i == n-1 {
			rec := b.NewRecordBatch()
			err := st.Write(ctx, rec)
			rec.Release()
			if err != nil {
				f.t.Fatal(err)
			}
		}
	}
	if _, err := st.Seal(ctx); err != nil {
		f.t.Fatal(err)
	}
	return st
}

// A reader that polls sees each delta as a whole: appended rows of many blocks, and
// tables that were swapped, but for the gap of an old server's renames.
func TestApplyUnderReader(t *testing.T) {
	f := newFixture(t, "")
	out := serverOutput(t, drivers()[0], f.db) // an INSERT makes many blocks
	out.Keys["custom_settings"] = map[string]any{"max_block_size": 5000, "min_insert_block_size_rows": 5000, "min_insert_block_size_bytes": 0}
	w := &fixture{conn: openConn(t, out), t: t, db: f.db}
	const rows = 100_000
	f.exec("CREATE TABLE " + f.db + ".t (id Nullable(Int64), g Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()")
	f.exec("INSERT INTO " + f.db + ".t SELECT number, 0 FROM system.numbers LIMIT 1000")
	reader := openConn(t, serverOutput(t, drivers()[0], f.db))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	seen := map[string]int{}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			got, err := reader.text(context.Background(), "SELECT concat(toString(count()), ' ', toString(sum(g))) FROM "+f.db+".t")
			switch {
			case errors.Is(err, connectors.ErrNotFound):
				seen["gap"]++
			case err != nil:
				t.Error(err)
			default:
				seen[got[0][0]]++
			}
		}
	})
	cs := cols("id", connectors.BigInt, "g", connectors.BigInt)
	ok := map[string]bool{"gap": true, "1000 0": true, fmt.Sprintf("%d %d", 1000+rows, rows): true}
	apply := func(d connectors.Delta, n, g int) {
		st := w.stagedRows("t", cs, n, func(b *array.RecordBuilder, i int) {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.Int64Builder).Append(int64(g))
		})
		if _, err := w.Apply(context.Background(), st, d); err != nil {
			t.Error(err)
		}
		f.drop(st)
	}
	apply(connectors.Delta{Strategy: connectors.StrategyAppend, Columns: colNames(cs)}, rows, 1)
	apply(connectors.Delta{Strategy: connectors.StrategyDeleteInsert, Key: []string{"id"}, Columns: colNames(cs)}, rows, 0)
	ok[fmt.Sprintf("%d 0", rows)] = true
	for g := 1; g <= 4; g++ {
		apply(connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{"id"}, Columns: colNames(cs)}, 1000, g)
		ok[fmt.Sprintf("%d %d", rows, 1000*g)] = true
	}
	close(stop)
	wg.Wait()
	for s := range seen {
		if !ok[s] {
			t.Errorf("a reader saw %s", s)
		}
	}
	if len(seen) < 4 {
		t.Errorf("a reader saw %v", seen)
	}
}

// The same delta twice is there twice: the server drops no block as a repetition.
func TestApplyTwice(t *testing.T) {
	f := newFixture(t, "")
	f.exec("CREATE TABLE " + f.db + ".t (id Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()")
	for range 2 {
		st := f.staged("t", intCol2("id"), `[{"id":1},{"id":2}]`)
		out, err := f.Apply(context.Background(), st, connectors.Delta{Strategy: connectors.StrategyAppend, Columns: []string{"id"}})
		if err != nil || out.Inserted != 2 {
			t.Error(out, err)
		}
		f.drop(st)
	}
	if got := f.content("SELECT id FROM " + f.db + ".t"); got != "1 1 2 2" {
		t.Error(got)
	}
}

func intCol2(name string) []connectors.Column { return cols(name, connectors.BigInt) }

func TestState(t *testing.T) {
	f := newFixture(t, "")
	ctx := context.Background()
	rec := connectors.StateRecord{Model: "m'1 ", Target: "db.`t`", UpdateKey: "at", Value: "2020-01-01T00:00:00+02:00", ColumnType: "DateTime", UpdatedAt: time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC), RunID: "r"}
	if all, err := f.ListState(ctx, ""); err != nil || all != nil {
		t.Error(all, err)
	}
	if err := f.DeleteState(ctx, "", "m", "t"); err != nil {
		t.Error(err)
	}
	if err := f.SaveState(ctx, connectors.StateSave{Record: rec}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.LoadState(ctx, "", rec.Model, rec.Target); err != nil || got == nil || *got != rec {
		t.Errorf("%+v, %v", got, err)
	}
	if err := f.SaveState(ctx, connectors.StateSave{Record: rec}); !errors.Is(err, connectors.ErrStateMoved) {
		t.Error(err)
	}
	// Of many that start from one value, one wins.
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := map[string]bool{}
	for i := range 4 {
		wg.Go(func() {
			next, prev := rec, rec.Value
			next.Value = fmt.Sprint("2021-", i)
			err := f.SaveState(ctx, connectors.StateSave{Record: next, Previous: &prev})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won[next.Value] = true
			} else if !errors.Is(err, connectors.ErrStateMoved) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := f.LoadState(ctx, "", rec.Model, rec.Target)
	if err != nil || len(won) != 1 || !won[got.Value] {
		t.Errorf("%v won, %v, %v", won, got, err)
	}
	f.exec("OPTIMIZE TABLE " + f.db + "._sling_state FINAL") // as the engine may at any time
	if again, err := f.LoadState(ctx, "", rec.Model, rec.Target); err != nil || *again != *got {
		t.Error(again, err)
	}
	if err := f.DeleteState(ctx, "", rec.Model, rec.Target); err != nil {
		t.Error(err)
	}
	if got, err := f.LoadState(ctx, "", rec.Model, rec.Target); err != nil || got != nil {
		t.Error(got, err)
	}
	if err := f.SaveState(ctx, connectors.StateSave{Record: rec}); err != nil { // it does not exist
		t.Error(err)
	}
	if all, err := f.ListState(ctx, f.db); err != nil || len(all) != 1 || all[0] != rec {
		t.Error(all, err)
	}
	f.exec("INSERT INTO " + f.db + "._sling_state SELECT 'm', 't', 'k', 'v', 'c', 'yesterday', 'r', 99, 0")
	if _, err := f.LoadState(ctx, "", "m", "t"); err == nil || !strings.Contains(err.Error(), "unreadable") {
		t.Error(err)
	}
	if left := f.tables(); len(left) != 1 {
		t.Errorf("tables %v", left)
	}
}

// An engine that joins rows of one key goes on doing so after a delta.
func TestApplyReplacing(t *testing.T) {
	f := newFixture(t, "")
	cs := cols("id", connectors.BigInt, "v", connectors.BigInt)
	for _, s := range []connectors.Strategy{connectors.StrategyMerge, connectors.StrategyAppend} {
		if err := f.Exec(context.Background(), "DROP TABLE IF EXISTS "+f.db+".t; CREATE TABLE "+f.db+".t (id Int64, v Nullable(Int64)) ENGINE = ReplacingMergeTree ORDER BY id"); err != nil {
			t.Fatal(err)
		}
		f.exec("INSERT INTO " + f.db + ".t VALUES (1, 1), (2, 2)")
		f.exec("INSERT INTO " + f.db + ".t VALUES (1, 3)")
		st := f.staged("t", cs, `[{"id":1,"v":5},{"id":3,"v":6}]`)
		if _, err := f.Apply(context.Background(), st, connectors.Delta{Strategy: s, Key: []string{"id"}, Columns: colNames(cs)}); err != nil {
			t.Error(err)
		}
		f.drop(st)
		f.exec("OPTIMIZE TABLE " + f.db + ".t FINAL")
		if got := f.content("SELECT id, v FROM " + f.db + ".t"); got != "1|5 2|2 3|6" {
			t.Errorf("%s: %s", s, got)
		}
	}
}
