package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// staged loads rows, in JSON, into a sealed staging table of the relation called name.
func (f *fixture) staged(name string, cs []connectors.Column, rows string) connectors.Staging {
	f.t.Helper()
	ctx := context.Background()
	st, err := f.Stage(ctx, connectors.StageSpec{RunID: "delta001", Target: f.rel(name), Columns: cs})
	if err != nil {
		f.t.Fatal(err)
	}
	rec := batch(f.t, cs, rows)
	if err := st.Write(ctx, rec); err != nil {
		f.t.Fatal(err)
	}
	if n, err := st.Seal(ctx); err != nil || n != rec.NumRows() {
		f.t.Fatal(n, err)
	}
	return st
}

func (f *fixture) drop(st connectors.Staging) {
	f.t.Helper()
	if err := st.Discard(context.Background()); err != nil {
		f.t.Error(err)
	}
}

// content is a query's rows as one text, in byte order, fields parted by |.
func (f *fixture) content(sql string) string {
	f.t.Helper()
	rows := strings.Split(strings.TrimRight(f.post(sql), "\n"), "\n")
	slices.Sort(rows)
	return strings.ReplaceAll(strings.Join(rows, " "), "\t", "|")
}

func colNames(cs []connectors.Column) (all []string) {
	for _, c := range cs {
		all = append(all, c.Name)
	}
	return all
}

// Every strategy meets keys that are NULL, in part or whole, in types with and without
// NULL, and a table that has columns of its own.
func TestApply(t *testing.T) {
	f := newFixture(t, "")
	cs := cols("v", connectors.Varchar, "k", connectors.Varchar, "n", connectors.BigInt)
	delta := `[{"v":"A2","k":"A","n":1},{"v":"pad","k":"b ","n":1},{"v":"null","k":null,"n":1},{"v":"both","k":null,"n":null},{"v":"empty","k":"","n":0},{"v":"new","k":"日本","n":7}]`
	for _, table := range []struct{ name, ddl string }{
		{"plain", "k Nullable(String), n Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()"},
		{"low cardinality", "k LowCardinality(Nullable(String)), n Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()"},
		{"partitions", "k Nullable(String), n Nullable(Int64)) ENGINE = MergeTree PARTITION BY p ORDER BY tuple()"},
		{"log", "k Nullable(String), n Nullable(Int64)) ENGINE = Log"},
	} {
		for _, s := range []struct {
			d    connectors.Delta
			want string
			out  connectors.Applied
		}{
			{connectors.Delta{Strategy: connectors.StrategyAppend}, `A|1|A2|d A|1|A|keep \N|1|null|d \N|1|one|keep \N|1|two|keep \N|\N|both|d a|1|a|keep b |1|pad|d b|1|b|keep |0|empty|d 日本|7|new|d`, connectors.Applied{Inserted: 6}},
			{connectors.Delta{Strategy: connectors.StrategyAppend, SkipExisting: true}, `A|1|A|keep \N|1|one|keep \N|1|two|keep \N|\N|both|d a|1|a|keep b |1|pad|d b|1|b|keep |0|empty|d 日本|7|new|d`, connectors.Applied{Inserted: 4}},
			{connectors.Delta{Strategy: connectors.StrategyMerge}, `A|1|A2|keep \N|1|null|keep \N|1|null|keep \N|\N|both|d a|1|a|keep b |1|pad|d b|1|b|keep |0|empty|d 日本|7|new|d`, connectors.Applied{Updated: 3, Inserted: 4}},
			{connectors.Delta{Strategy: connectors.StrategyMerge, Update: []string{}}, `A|1|A|keep \N|1|one|keep \N|1|two|keep \N|\N|both|d a|1|a|keep b |1|pad|d b|1|b|keep |0|empty|d 日本|7|new|d`, connectors.Applied{Inserted: 4}},
			{connectors.Delta{Strategy: connectors.StrategyDeleteInsert}, `A|1|A2|d \N|1|null|d \N|\N|both|d a|1|a|keep b |1|pad|d b|1|b|keep |0|empty|d 日本|7|new|d`, connectors.Applied{Deleted: 3, Inserted: 6}},
		} {
			if err := f.Exec(context.Background(), "DROP TABLE IF EXISTS "+f.db+".t; CREATE TABLE "+f.db+".t (x String DEFAULT 'd', p UInt8 DEFAULT length(v) % 3, v Nullable(String), "+table.ddl); err != nil {
				t.Fatal(err)
			}
			f.exec("INSERT INTO " + f.db + ".t (x, k, n, v) VALUES ('keep','a',1,'a'),('keep','A',1,'A'),('keep','b',1,'b'),('keep',NULL,1,'one'),('keep',NULL,1,'two')")
			s.d.Key, s.d.Columns = []string{"k", "n"}, []string{"n", "v", "k"}
			st := f.staged("t", cs, delta)
			out, err := f.Apply(context.Background(), st, s.d)
			if err != nil || out != s.out {
				t.Errorf("%s, %s: %+v, %v", table.name, s.d.Strategy, out, err)
			}
			f.drop(st)
			want := strings.Split(s.want, " ")
			if got := f.content("SELECT k, n, v, x FROM " + f.db + ".t"); got != s.want && !sameWords(got, want) {
				t.Errorf("%s, %s:\n got %s\nwant %s", table.name, s.d.Strategy, got, s.want)
			}
			if left := f.tables(); len(left) != 1 {
				t.Errorf("%s, %s: tables %v", table.name, s.d.Strategy, left)
			}
		}
	}
}

func sameWords(got string, want []string) bool {
	have := strings.Split(got, " ")
	slices.Sort(have)
	slices.Sort(want)
	return slices.Equal(have, want)
}

// Keys of every type: each row meets itself and no other.
func TestApplyKeys(t *testing.T) {
	f := newFixture(t, "")
	ctx := context.Background()
	for _, key := range []string{"Int8", "UInt64", "Nullable(Int32)", "Float64", "String", "Nullable(FixedString(3))", "LowCardinality(String)", "Enum8('b' = -2, 'a' = 1)", "Date", "Nullable(DateTime)", "DateTime('America/New_York')", "UUID", "Decimal(9, 2)", "Nullable(Decimal(38, 10))"} {
		if err := f.Exec(ctx, "DROP TABLE IF EXISTS "+f.db+".t; DROP TABLE IF EXISTS "+f.db+".src; CREATE TABLE "+f.db+".t (k "+key+", v Nullable(Int64), own Nullable(String)) ENGINE = MergeTree ORDER BY tuple(); CREATE TABLE "+f.db+".src (k "+key+", v Nullable(Int64)) ENGINE = Memory"); err != nil {
			t.Fatal(err)
		}
		values := "1), (2), (3"
		switch {
		case strings.Contains(key, "Enum"):
			values = "'a'), ('b'"
		case strings.Contains(key, "FixedString"):
			values = "'abc'), ('ABC'), (NULL"
		case strings.Contains(key, "String"):
			values = "'abc'), ('ABC'), (''"
		case strings.Contains(key, "UUID"):
			values = "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'), ('00000000-0000-0000-0000-000000000000'"
		case strings.Contains(key, "DateTime"): // 1 h apart, one clock time in New York
			values = "toDateTime(1699162200)), (toDateTime(1699165800)"
		case key == "Date":
			values = "'1970-01-01'), ('2100-01-01'"
		}
		n := int64(len(strings.Split(values, "), (")))
		f.exec("INSERT INTO " + f.db + ".t (k) VALUES (" + values + ")")
		f.exec("INSERT INTO " + f.db + ".src SELECT k, 9 FROM " + f.db + ".t LIMIT 2")
		st, sel, err := f.StageSelect(ctx, connectors.StageSelect{StageSpec: connectors.StageSpec{RunID: "delta002", Target: f.rel("t")}, SQL: "SELECT k, v FROM " + f.db + ".src"})
		if err != nil || sel.Rows != 2 {
			t.Fatal(key, sel, err)
		}
		out, err := f.Apply(ctx, st, connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{"k"}, Columns: []string{"k", "v"}})
		if err != nil || out != (connectors.Applied{Updated: 2}) {
			t.Errorf("%s: %+v, %v", key, out, err)
		}
		f.drop(st)
		if got, want := f.content("SELECT toString(count()), toString(countIf(v = 9)), toString(uniqExact(k)) FROM "+f.db+".t"), fmt.Sprintf("%d|2|%d", n, n-int64(strings.Count(values, "NULL"))); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// What the target would change is refused, and nothing has changed.
func TestApplyRefuses(t *testing.T) {
	f := newFixture(t, "")
	for _, x := range []struct{ name, ddl, rows, want string }{
		{"NULL", "(id Nullable(Int64), v String) ENGINE = MergeTree ORDER BY tuple()", `[{"id":3,"v":null}]`, "value NULL"},
		{"fixed", "(id Nullable(Int64), v FixedString(1)) ENGINE = MergeTree ORDER BY tuple()", `[{"id":3,"v":""}]`, "FixedString(1) does not hold it"},
		{"enum", "(id Nullable(Int64), v Enum8('a' = 1, 'b' = 2)) ENGINE = MergeTree ORDER BY tuple()", `[{"id":3,"v":"c"}]`, "c"},
		{"own column", "(id Nullable(Int64), v String, own Int64) ENGINE = MergeTree ORDER BY tuple()", `[{"id":3,"v":"c"}]`, `column "own" must not be NULL`},
		{"engine", "(id Nullable(Int64), v String) ENGINE = Buffer('default', 'none', 1, 10, 100, 10000, 1000000, 10000000, 100000000)", `[{"id":3,"v":"c"}]`, "engine is Buffer"},
	} {
		if err := f.Exec(context.Background(), "DROP TABLE IF EXISTS "+f.db+".t; CREATE TABLE "+f.db+".t "+x.ddl); err != nil {
			t.Fatal(x.name, err)
		}
		if x.name != "engine" {
			f.exec("INSERT INTO " + f.db + ".t (id, v) VALUES (1, 'a'), (2, 'b')")
		}
		cs := cols("id", connectors.BigInt, "v", connectors.Varchar)
		st := f.staged("t", cs, x.rows)
		if err := f.CheckDelta(context.Background(), f.describe("t"), connectors.Delta{}); (err != nil) != (x.name == "engine") {
			t.Errorf("%s, before anything is read: %v", x.name, err)
		}
		for _, s := range []connectors.Strategy{connectors.StrategyAppend, connectors.StrategyMerge, connectors.StrategyDeleteInsert} {
			out, err := f.Apply(context.Background(), st, connectors.Delta{Strategy: s, Key: []string{"id"}, Columns: colNames(cs)})
			if err == nil || !strings.Contains(err.Error(), x.want) || out != (connectors.Applied{}) {
				t.Errorf("%s, %s: %+v, %v", x.name, s, out, err)
			}
		}
		f.drop(st)
		if left := f.tables(); len(left) != 1 {
			t.Errorf("%s: tables %v", x.name, left)
		}
		if x.name != "engine" {
			if got := f.content("SELECT id, v FROM " + f.db + ".t"); got != "1|a 2|b" {
				t.Errorf("%s: %s", x.name, got)
			}
		}
	}
}

// The setting for servers that change rows in place is refused on others before anything
// is read.
func TestMutateNeedsServer(t *testing.T) {
	f := newFixture(t, "")
	f.cfg.mutate = true
	f.exec("CREATE TABLE " + f.db + ".t (id Nullable(Int64)) ENGINE = MergeTree ORDER BY tuple()")
	info, err := f.capabilities(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.CheckDelta(context.Background(), f.describe("t"), connectors.Delta{}); errors.Is(err, connectors.ErrTooOld) == info.atLeast(20, 8) {
		t.Error(err)
	}
}
