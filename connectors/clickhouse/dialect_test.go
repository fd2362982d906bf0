package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dvt-dev/dvt/connectors"
)

// Names and texts cannot become SQL: whatever they hold comes back from the server.
func TestQuoting(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		part := rapid.SampledFrom([]string{"a", "`", "'", `"`, `\`, "\\0", "\x00", "\n", "\r", "--", "/*", "*/", ";", " ", "é", "😀", "%", "{x}", "?", "$1", "\\'", "ʼ", "\t", "\x01", "\x7f"})
		rapid.Check(t, func(t *rapid.T) {
			s := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "")
			rows, err := readRows(f.conn, connectors.Query{SQL: "SELECT " + literal(s) + " AS " + quote(s), Columns: cols("c", connectors.Varchar)})
			if err != nil || rows[0][0] != s {
				t.Fatalf("%q: %q, %v", s, rows, err)
			}
		})
		for i, name := range []string{"a`b", `a\b`, "a'b", `a"b`, "select", "Ünïcode 😀", "a.b", "a\nb", "-- x", "a b;"} {
			cs := []connectors.Column{{Name: name, Type: connectors.T(connectors.Integer)}}
			rel := f.rel(fmt.Sprintf("t%d %s", i, strings.ReplaceAll(name, "/", "")))
			if err := f.load(connectors.StageSpec{Target: rel, Columns: cs}, batch(t, []connectors.Column{{Name: "x", Type: cs[0].Type}}, `[{"x":7}]`)); err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			tab, err := f.Describe(context.Background(), rel)
			if err != nil || tab.Columns[0].Name != name {
				t.Errorf("%q: %+v, %v", name, tab, err)
			}
			p := &connectors.Pred{Kind: connectors.PCmp, Op: "=", Vals: []connectors.Value{{Type: cs[0].Type, Int: bigOf("7")}}}
			where := connectors.RenderPred(f.Dialect(), p, tab)
			got := f.rows(connectors.Query{SQL: f.Dialect().Select(connectors.Extract{Table: tab, Columns: []int{0}, Where: where.SQL, Limit: 5}), Columns: tab.Columns})
			if !reflect.DeepEqual(got, [][]string{{"7"}}) {
				t.Errorf("%q: %q", name, got)
			}
		}
	})
}

// What a project declares of a column wins over the catalog, where the values allow it.
func TestDeclaredTypes(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.exec("CREATE TABLE " + f.db + ".t (b String, fs FixedString(2), flag Nullable(UInt8), n UInt64, d Decimal(9, 2)) ENGINE = Memory")
		f.exec("INSERT INTO " + f.db + ".t VALUES ('\\xff\\0', '\\xfea', NULL, 5, 1.25), ('ok', 'bc', 1, 6, -0.05)")
		read := func(col int, typ connectors.Type) ([]string, error) {
			tab := f.describe("t")
			tab.Columns[col].Type = typ
			rows, err := readRows(f.conn, connectors.Query{SQL: f.Dialect().Select(connectors.Extract{Table: tab, Columns: []int{col}, Limit: -1}), Columns: tab.Columns[col : col+1]})
			var got []string
			for _, r := range rows {
				got = append(got, r[0])
			}
			return got, err
		}
		for _, c := range []struct {
			col  int
			kind connectors.Kind
			want []string
		}{
			{0, connectors.Blob, []string{"/wA=", "b2s="}},
			{1, connectors.Blob, []string{"/mE=", "YmM="}},
			{2, connectors.Boolean, []string{"(null)", "true"}},
			{3, connectors.Integer, []string{"5", "6"}},
			{3, connectors.HugeInt, []string{"5", "6"}},
			{3, connectors.Varchar, []string{"5", "6"}},
			{4, connectors.Varchar, []string{"1.25", "-0.05"}},
		} {
			if got, err := read(c.col, connectors.T(c.kind)); err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("column %d as %s: %q, %v", c.col, c.kind, got, err)
			}
		}
		var ve *connectors.ValueError
		if _, err := read(0, connectors.T(connectors.Varchar)); !errors.As(err, &ve) || ve.Column != "b" || !strings.Contains(ve.Reason, "blob") || ve.Row == "" {
			t.Errorf("invalid UTF-8: %v", err)
		}
		if _, err := read(3, connectors.T(connectors.Boolean)); !errors.As(err, &ve) {
			t.Errorf("5 as boolean: %v", err)
		}
		var te *connectors.TypeError
		if _, err := read(4, connectors.T(connectors.Date)); !errors.As(err, &te) {
			t.Errorf("a decimal as date: %v", err)
		}
	})
}

// Only the number of rows matters.
func TestCountOnly(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		f.exec("CREATE TABLE " + f.db + ".t (a Int8) ENGINE = Memory")
		f.exec("INSERT INTO " + f.db + ".t VALUES (1), (2), (3)")
		rows := f.rows(connectors.Query{SQL: f.Dialect().Select(connectors.Extract{Table: f.describe("t"), Limit: -1})})
		if len(rows) != 3 {
			t.Errorf("%d rows", len(rows))
		}
	})
}

// Top-N and extremes give what DuckDB would give over all rows.
func TestOrderAndExtremes(t *testing.T) {
	f := newFixture(t, "")
	f.exec("CREATE TABLE " + f.db + ".p (id Int32, n Nullable(Int64), s Nullable(String), lc LowCardinality(String), d Date, dt Nullable(DateTime), dec Nullable(Decimal(18, 4)), f Float64, e Enum8('b' = 1, 'a' = 2), u UUID) ENGINE = MergeTree ORDER BY id")
	f.exec("INSERT INTO " + f.db + ".p VALUES (1, NULL, '', 'é', '2024-01-02', NULL, -1.5, nan, 'a', '61f0c404-5cb3-11e7-907b-a6006ad3dba0'), (2, -9223372036854775808, 'Z', 'z', '1970-01-02', 1000, NULL, 1, 'b', '00000000-0000-0000-0000-000000000001'), (3, 9223372036854775807, NULL, 'Z', '2105-12-31', 2000, 99999999999999.9999, 2, 'a', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (4, 0, 'a\\0', '', '2024-01-01', 0, 0, inf, 'b', '00000000-0000-0000-0000-000000000002')")
	tab := f.describe("p")
	duck := duckCopy(t, f, tab)
	var sent int
	for col := range tab.Columns {
		for _, k := range []connectors.OrderKey{{Col: col}, {Col: col, Desc: true}, {Col: col, NullsLast: true}, {Col: col, Desc: true, NullsLast: true}} {
			key, ok := f.Dialect().OrderKey(tab, k)
			if !ok {
				continue
			}
			sent++
			e := connectors.Extract{Table: tab, Columns: []int{0}, OrderBy: []string{key, "`id` ASC"}, Limit: 2}
			var got []string
			for _, r := range f.rows(connectors.Query{SQL: f.Dialect().Select(e), Columns: tab.Columns[:1]}) {
				got = append(got, r[0])
			}
			dir, nulls := map[bool]string{true: "DESC", false: "ASC"}[k.Desc], map[bool]string{true: "LAST", false: "FIRST"}[k.NullsLast]
			var want string
			top := fmt.Sprintf(`SELECT id FROM p ORDER BY "%s" %s NULLS %s, id LIMIT 2`, tab.Columns[col].Name, dir, nulls)
			if err := duck.QueryRow("SELECT string_agg(id, ' ') FROM (" + top + ")").Scan(&want); err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: got %q, want %q", key, got, want)
			}
		}
		for _, max := range []bool{false, true} {
			expr, ok := f.Dialect().(connectors.Extremes).Extreme(tab, col, max)
			if !ok {
				continue
			}
			for where, duckWhere := range map[string]string{"": "true", "`id` > 100": "false", "`id` = 1": "id = 1"} {
				sql := f.Dialect().(connectors.Extremes).SelectExtremes(connectors.Extract{Table: tab, Where: where}, []string{expr})
				got := f.rows(connectors.Query{SQL: sql, Columns: tab.Columns[col : col+1]})
				fn := map[bool]string{false: "min", true: "max"}[max]
				n := tab.Columns[col].Name
				var same int
				if got[0][0] == "(null)" {
					if err := duck.QueryRow(fmt.Sprintf(`SELECT count("%s") FROM p WHERE %s`, n, duckWhere)).Scan(&same); err != nil || same != 0 {
						t.Errorf("%s: NULL, DuckDB has a value (%v)", sql, err)
					}
					continue
				}
				q := fmt.Sprintf(`SELECT count(*) FROM (SELECT %s("%s") AS m FROM p WHERE %s) WHERE m = CAST(%s AS %s)`, fn, n, duckWhere, duckText(got[0][0]), tab.Columns[col].Type)
				if err := duck.QueryRow(q).Scan(&same); err != nil || same != 1 {
					t.Errorf("%s: %s is not DuckDB's (%v)", sql, got[0][0], err)
				}
			}
		}
	}
	if sent != 28 {
		t.Errorf("%d order keys were sent", sent)
	}
}

func TestStatements(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"INSERT INTO t (a, b) VALUES (1, 'x),;('), (f(2, [3, 4]), NULL)", "INSERT INTO t (a, b) SELECT 1, 'x),;(' UNION ALL SELECT f(2, [3, 4]), NULL"},
		{"insert into t select 1", "insert into t select 1"},
		{"INSERT INTO `values` VALUES (1)", "INSERT INTO `values` SELECT 1"},
		{"-- INSERT\nSELECT 1", "-- INSERT\nSELECT 1"},
		{"INSERT INTO t (a) /* VALUES */ WITH 1 AS x SELECT x", "INSERT INTO t (a) /* VALUES */ WITH 1 AS x SELECT x"},
	} {
		if got, err := inlineInsert(c.in); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{"INSERT INTO t FORMAT CSV", "INSERT INTO t", "INSERT INTO t VALUES 1", "INSERT INTO t VALUES (1", "INSERT INTO t VALUES"} {
		if got, err := inlineInsert(bad); err == nil {
			t.Errorf("%s: %s", bad, got)
		}
	}
	if got := splitStatements("SELECT ';' -- ;\n; /* ; */ ;\nSELECT `a;b`;"); !reflect.DeepEqual(got, []string{"SELECT ';' -- ;", "SELECT `a;b`"}) {
		t.Errorf("%q", got)
	}
	f := newFixture(t, "native")
	ctx := context.Background()
	if err := f.Exec(ctx, "CREATE TABLE "+f.db+".t (a Int32, b Nullable(String)); INSERT INTO "+f.db+".t VALUES (1, 'x'), (2, NULL)"); err == nil {
		t.Error("a table without an engine") // ClickHouse 18 has no default engine
	}
	if err := f.Exec(ctx, "CREATE TABLE IF NOT EXISTS "+f.db+".t (a Int32, b Nullable(String)) ENGINE = Log; INSERT INTO "+f.db+".t VALUES (1, 'x'), (2, NULL);"); err != nil {
		t.Fatal(err)
	}
	if got := f.table("t", "a"); !reflect.DeepEqual(got, [][]string{{"1", "x"}, {"2", "(null)"}}) {
		t.Errorf("%q", got)
	}
}

// Exec throws away what a statement returns, whatever its types.
func TestExecSelect(t *testing.T) {
	both(t, func(t *testing.T, f *fixture) {
		for _, sql := range []string{"SELECT toLowCardinality('a'), [1, NULL], ([('x', 1)], 2), CAST(NULL AS Nullable(String)), toDecimal128('1', 2)", "SELECT 1 WHERE 1 = 0", "SHOW DATABASES"} {
			if err := f.Exec(context.Background(), sql+"; SELECT 1"); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	})
}

func TestParseType(t *testing.T) {
	for in, want := range map[string]string{
		"Array(Nullable(Decimal(18, 4)))":                           "DECIMAL(18,4)[]",
		"Tuple(a Int8, `b)c` Array(String), DateTime('UTC'))":       `STRUCT("a" TINYINT, "b)c" VARCHAR[], "3" TIMESTAMP WITH TIME ZONE)`,
		"Enum8('it\\'s, (' = -1, ')' = 2)":                          "VARCHAR",
		"Map(LowCardinality(String), Nested(a Int8, b String))":     `MAP(VARCHAR, STRUCT("a" TINYINT, "b" VARCHAR)[])`,
		"SimpleAggregateFunction(groupArrayArray(3), Array(Int8))":  "TINYINT[]",
		"AggregateFunction(quantiles(0.5, 0.9), Nullable(Float64))": "INVALID",
		"DateTime64(9)": "TIMESTAMP_NS", "DateTime64(3, 'Asia/Tokyo')": "TIMESTAMP WITH TIME ZONE", "Decimal128(3)": "DECIMAL(38,3)",
		"Array(AggregateFunction(sum, Int8))": "INVALID", "UInt128": "INVALID", "Decimal(76, 2)": "INVALID", "IntervalDay": "INVALID",
	} {
		p, err := parseType(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := p.logical().String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for _, bad := range []string{"", "Array(", "Array()", "Array(Int8, Int8)", "Map(Int8)", "Enum8('a')", "Nullable(Int8) x", "Decimal(x)", "Tuple(a", strings.Repeat("Array(", 200)} {
		if p, err := parseType(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestConfig(t *testing.T) {
	open := func(keys map[string]any) (*config, error) {
		return parseConfig(connectors.Output{Name: "ch", Type: "clickhouse", Keys: keys})
	}
	for _, c := range []struct {
		keys map[string]any
		port int
		http bool
	}{
		{map[string]any{}, 9000, false}, {map[string]any{"secure": true}, 9440, false}, {map[string]any{"driver": "http"}, 8123, true},
		{map[string]any{"driver": "http", "secure": "true"}, 8443, true}, {map[string]any{"port": 8123}, 8123, true}, {map[string]any{"port": "9001"}, 9001, false},
	} {
		cfg, err := open(c.keys)
		if err != nil || cfg.port != c.port || cfg.http != c.http {
			t.Errorf("%v: %+v, %v", c.keys, cfg, err)
		}
	}
	if cfg, err := open(map[string]any{"secure": true, "host": "h"}); err != nil || cfg.tls == nil || cfg.tls.InsecureSkipVerify {
		t.Errorf("%+v %v", cfg, err)
	}
	for _, bad := range []map[string]any{{"driver": "odbc"}, {"port": "x"}, {"port": 70000}, {"secure": "perhaps"}, {"custom_settings": "x"}, {"custom_settings": map[string]any{"a": []any{1}}}, {"compression": "brotli"}, {"clickhouse_merge": "always"}} {
		if cfg, err := open(bad); err == nil {
			t.Errorf("%v: %+v", bad, cfg)
		}
	}
	out := serverOutput(t, drivers()[0], "default")
	out.Keys["custom_settings"] = map[string]any{"max_threads": 1, "join_use_nulls": true, "totals_mode": "before_having"}
	c := openConn(t, out)
	rows, err := readRows(c, connectors.Query{SQL: "SELECT value FROM system.settings WHERE name IN ('max_threads', 'join_use_nulls', 'totals_mode') ORDER BY name", Columns: cols("v", connectors.Varchar)})
	if err != nil || !reflect.DeepEqual(rows, [][]string{{"1"}, {"1"}, {"before_having"}}) {
		t.Errorf("custom_settings: %q, %v", rows, err)
	}
}
