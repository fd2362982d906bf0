package dbt

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2"
	_ "github.com/duckdb/duckdb-go/v2"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3"

	"github.com/dvt-dev/dvt/jinja"
)

// engine is one place where the global macros' SQL runs.
type engine struct {
	name     string
	dialects []string
	driver   string
	dsn      func(t *testing.T) string
	ts       string // a timestamp literal; %s is 2024-01-31 10:20:30.123456
	quote    string
}

func server(t *testing.T, kind, scheme, port string, path string) string {
	t.Helper()
	env := func(name string) string {
		v := os.Getenv("DVT_TEST_" + kind + "_" + name)
		if v == "" {
			t.Fatalf("DVT_TEST_%s_%s is not set", kind, name)
		}
		return v
	}
	host := net.JoinHostPort(env("HOST"), env(port))
	if scheme == "" {
		return fmt.Sprintf("%s:%s@tcp(%s)/%s", env("USER"), env("PASSWORD"), host, path)
	}
	u := url.URL{Scheme: scheme, User: url.UserPassword(env("USER"), env("PASSWORD")), Host: host, Path: path}
	return u.String()
}

var engines = []engine{
	{name: "duckdb", dialects: []string{"duckdb"}, driver: "duckdb", dsn: func(*testing.T) string { return "" },
		ts: "timestamp '%s'", quote: `"`},
	{name: "postgres", dialects: []string{"postgres"}, driver: "pgx",
		dsn: func(t *testing.T) string {
			return server(t, "PG", "postgres", "PORT", os.Getenv("DVT_TEST_PG_DATABASE")) + "?sslmode=disable"
		},
		ts: "timestamp '%s'", quote: `"`},
	{name: "mariadb", dialects: []string{"mariadb", "mysql"}, driver: "mysql",
		dsn: mysqlDSN, ts: "cast('%s' as datetime(6))", quote: "`"},
	// the same server without MariaDB's own variants
	{name: "mysql", dialects: []string{"mysql"}, driver: "mysql", dsn: mysqlDSN, ts: "cast('%s' as datetime(6))", quote: "`"},
	{name: "clickhouse", dialects: []string{"clickhouse"}, driver: "clickhouse",
		dsn: func(t *testing.T) string { return server(t, "CH", "clickhouse", "PORT", "default") },
		ts:  "toDateTime('%s', 'UTC')", quote: `"`},
	{name: "sqlite", dialects: []string{"sqlite"}, driver: "sqlite3", dsn: func(*testing.T) string { return ":memory:" },
		ts: "'%s'", quote: `"`},
}

func mysqlDSN(t *testing.T) string {
	return server(t, "MY", "", "PORT", os.Getenv("DVT_TEST_MY_DATABASE")) + "?parseTime=true&loc=UTC"
}

func (e engine) spelling() *Spelling {
	ident := func(s string) string { return e.quote + s + e.quote }
	return &Spelling{Ident: ident, Relation: func(_, _, name string) string { return ident(name) }}
}

// render renders text in the context of a node of this engine.
func (e engine) render(t *testing.T, src string, project ...string) (string, error) {
	t.Helper()
	r, err := NewRegistry(NewEnv(), "proj")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range project {
		if err := r.AddSource("proj", fmt.Sprintf("macros/m%d.sql", i), p); err != nil {
			t.Fatal(err)
		}
	}
	target := Dict("name", "dev", "schema", "analytics", "database", "db", "type", e.dialects[0])
	c := NewNode(r, "proj", &Host{
		Ctx: context.Background(), Execute: true, Dialects: e.dialects, Spelling: e.spelling(), Target: target,
		Now: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC), Project: "proj",
		RunQuery: func(ctx context.Context, q string) (*Table, error) { return nil, fmt.Errorf("no queries here: %s", q) },
	})
	c.Vars["ts"] = jinja.NewFunc("ts", func(_ *jinja.State, a jinja.Args) (jinja.Value, error) {
		return fmt.Sprintf(e.ts, jinja.Str(a.Pos[0])), nil
	})
	tm, err := r.Env.Parse(src, "m.sql", 1)
	if err != nil {
		t.Fatal(err)
	}
	return tm.RenderState(c.State(false))
}

// plain writes a driver's value so that the engines can be compared.
func plain(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return plain(string(x))
	case *string:
		if x == nil {
			return "NULL"
		}
		return plain(*x)
	case bool:
		if x {
			return "1"
		}
		return "0"
	case time.Time:
		s := x.Format("2006-01-02 15:04:05.999999")
		return strings.TrimSuffix(s, " 00:00:00")
	case string:
		return strings.TrimSuffix(x, " 00:00:00")
	}
	return fmt.Sprint(v)
}

func query(t *testing.T, db *sql.DB, q string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var out []string
	for rows.Next() {
		vals := make([]any, len(cols))
		for i := range vals {
			vals[i] = new(any)
		}
		if err := rows.Scan(vals...); err != nil {
			return "", err
		}
		var line []string
		for _, v := range vals {
			line = append(line, plain(*v.(*any)))
		}
		out = append(out, strings.Join(line, "|"))
	}
	return strings.Join(out, "; "), rows.Err()
}

// refused is the wanted value where the macro must say that the engine cannot.
const refused = "refused"

var macroCases = []struct {
	name, src, want string
	other           map[string]string // what single engines give instead
}{
	{"dateadd day", "select {{ dbt.dateadd('day', 30, ts('2024-01-31 10:20:30')) }}", "2024-03-01 10:20:30", nil},
	{"dateadd month", "select {{ dbt.dateadd('month', 1, ts('2024-01-31 10:20:30')) }}", "2024-02-29 10:20:30", map[string]string{"sqlite": refused}},
	{"dateadd quarter", "select {{ dbt.dateadd('quarter', -1, ts('2024-05-31 00:00:00')) }}", "2024-02-29", map[string]string{"sqlite": refused}},
	{"dateadd year", "select {{ dbt.dateadd('year', 1, ts('2024-02-29 00:00:00')) }}", "2025-02-28", map[string]string{"sqlite": refused}},
	{"dateadd week", "select {{ dbt.dateadd('weeks', 2, ts('2024-02-20 00:00:00')) }}", "2024-03-05", nil},
	{"dateadd hour", "select {{ dbt.dateadd('hour', 25, ts('2024-02-20 00:30:00')) }}", "2024-02-21 01:30:00", nil},
	{"dateadd millisecond", "select {{ dbt.dateadd('millisecond', 1500, ts('2024-02-20 00:00:00')) }}", "2024-02-20 00:00:01.5", map[string]string{"clickhouse": modern, "sqlite": refused}},
	{"dateadd microsecond", "select {{ dbt.dateadd('microsecond', 7, ts('2024-02-20 00:00:00')) }}", "2024-02-20 00:00:00.000007", map[string]string{"clickhouse": modern, "sqlite": refused}},
	{"dateadd of an expression", "select {{ dbt.dateadd('day', 'n + 1', ts('2024-02-28 00:00:00')) }} from (select 1 as n) as q", "2024-03-01", nil},
	{"dateadd unknown", "select {{ dbt.dateadd('fortnight', 1, ts('2024-02-28 00:00:00')) }}", refused, nil},

	{"datediff year", "select {{ dbt.datediff(ts('2023-12-31 23:59:59'), ts('2024-01-01 00:00:00'), 'year') }}", "1", nil},
	{"datediff quarter", "select {{ dbt.datediff(ts('2023-03-31 00:00:00'), ts('2024-04-01 00:00:00'), 'quarter') }}", "5", map[string]string{"sqlite": refused}},
	{"datediff month", "select {{ dbt.datediff(ts('2024-01-31 23:00:00'), ts('2024-03-01 00:00:00'), 'month') }}", "2", nil},
	{"datediff month back", "select {{ dbt.datediff(ts('2024-03-01 00:00:00'), ts('2023-12-31 00:00:00'), 'month') }}", "-3", nil},
	{"datediff week", "select {{ dbt.datediff(ts('2024-01-07 23:00:00'), ts('2024-01-08 01:00:00'), 'week') }}", "1", map[string]string{"sqlite": refused}},
	{"datediff week back", "select {{ dbt.datediff(ts('2024-01-08 01:00:00'), ts('2024-01-07 23:00:00'), 'week') }}", "-1", map[string]string{"sqlite": refused}},
	{"datediff day", "select {{ dbt.datediff(ts('2024-02-28 23:59:59'), ts('2024-03-01 00:00:01'), 'day') }}", "2", nil},
	{"datediff day back", "select {{ dbt.datediff(ts('2024-03-01 00:00:01'), ts('2024-02-29 23:59:59'), 'day') }}", "-1", nil},
	{"datediff before 1970", "select {{ dbt.datediff(ts('1969-12-30 23:00:00'), ts('1970-01-01 01:00:00'), 'day') }}", "2", map[string]string{"clickhouse": modern}},
	{"datediff hour", "select {{ dbt.datediff(ts('2024-01-01 10:59:59'), ts('2024-01-01 12:00:00'), 'hour') }}", "2", nil},
	{"datediff minute", "select {{ dbt.datediff(ts('2024-01-01 10:59:59'), ts('2024-01-01 11:01:00'), 'minute') }}", "2", nil},
	{"datediff second", "select {{ dbt.datediff(ts('2024-01-01 00:00:00'), ts('2024-01-02 00:00:01'), 'second') }}", "86401", nil},
	{"datediff second cuts", "select {{ dbt.datediff(ts('2024-01-01 00:00:00.900000'), ts('2024-01-01 00:00:01.100000'), 'second') }}", "1", map[string]string{"clickhouse": modern}},
	{"datediff millisecond", "select {{ dbt.datediff(ts('2024-01-01 00:00:00.000900'), ts('2024-01-01 00:00:01.001100'), 'millisecond') }}", "1001", map[string]string{"clickhouse": modern, "sqlite": refused}},
	{"datediff microsecond", "select {{ dbt.datediff(ts('2024-01-01 00:00:00.000900'), ts('2024-01-01 00:00:01.001100'), 'microsecond') }}", "1000200", map[string]string{"clickhouse": modern, "sqlite": refused}},

	{"date_trunc year", "select {{ dbt.date_trunc('year', ts('2024-08-15 10:20:30')) }}", "2024-01-01", nil},
	{"date_trunc quarter", "select {{ dbt.date_trunc('quarter', ts('2024-08-15 10:20:30')) }}", "2024-07-01", map[string]string{"sqlite": refused}},
	{"date_trunc month", "select {{ dbt.date_trunc('month', ts('2024-08-15 10:20:30')) }}", "2024-08-01", nil},
	{"date_trunc week", "select {{ dbt.date_trunc('week', ts('2024-08-15 10:20:30')) }}", "2024-08-12", nil},
	{"date_trunc week on monday", "select {{ dbt.date_trunc('week', ts('2024-08-12 10:20:30')) }}", "2024-08-12", nil},
	{"date_trunc week on sunday", "select {{ dbt.date_trunc('week', ts('2024-08-18 10:20:30')) }}", "2024-08-12", nil},
	{"date_trunc day", "select {{ dbt.date_trunc('day', ts('2024-08-15 10:20:30')) }}", "2024-08-15", nil},
	{"date_trunc hour", "select {{ dbt.date_trunc('hour', ts('2024-08-15 10:20:30')) }}", "2024-08-15 10:00:00", nil},
	{"date_trunc minute", "select {{ dbt.date_trunc('minute', ts('2024-08-15 10:20:30')) }}", "2024-08-15 10:20:00", nil},
	{"date_trunc second", "select {{ dbt.date_trunc('second', ts('2024-08-15 10:20:30.123456')) }}", "2024-08-15 10:20:30", map[string]string{"clickhouse": modern}},
	{"date_trunc millisecond", "select {{ dbt.date_trunc('millisecond', ts('2024-08-15 10:20:30.123999')) }}", "2024-08-15 10:20:30.123", map[string]string{"clickhouse": modern, "sqlite": refused}},
	{"last_day month", "select {{ dbt.last_day(ts('2024-02-15 10:20:30'), 'month') }}", "2024-02-29", nil},
	{"last_day quarter", "select {{ dbt.last_day(ts('2024-02-15 10:20:30'), 'quarter') }}", "2024-03-31", map[string]string{"sqlite": refused}},
	{"last_day year", "select {{ dbt.last_day(ts('2024-02-15 10:20:30'), 'year') }}", "2024-12-31", nil},
	{"date", "select {{ dbt.date(2024, 3, 9) }}", "2024-03-09", nil},
	{"current_timestamp", "select case when {{ dbt.current_timestamp() }} > {{ ts('2024-01-01 00:00:00') }} then 1 else 0 end", "1", map[string]string{"clickhouse": modern}},
	{"current_timestamp in utc", "select case when {{ dbt.datediff(ts('2024-01-01 00:00:00'), dbt.current_timestamp_in_utc_backcompat(), 'day') }} > 800 then 1 else 0 end", "1", map[string]string{"clickhouse": modern}},

	{"date_spine", "select * from ({{ dbt.date_spine('day', ts('2024-02-28 00:00:00'), ts('2024-03-02 00:00:00')) }}) as q order by 1", "2024-02-28; 2024-02-29; 2024-03-01", nil},
	{"date_spine month", "select date_month from ({{ dbt.date_spine('month', ts('2024-01-31 00:00:00'), ts('2024-04-15 00:00:00')) }}) as q order by 1", "2024-01-31; 2024-02-29; 2024-03-31", map[string]string{"sqlite": refused}},
	{"date_spine backwards", "select count(*) from ({{ dbt.date_spine('day', ts('2024-03-28 00:00:00'), ts('2024-03-02 00:00:00')) }}) as q", "0", nil},
	{"generate_series", "select * from ({{ dbt.generate_series(4) }}) as q order by 1", "1; 2; 3; 4", nil},
	{"get_powers_of_two", "select {{ dbt.get_powers_of_two(1000) }}", "10", nil},

	{"concat", "select {{ dbt.concat([\"'a'\", \"'b'\", \"'c'\"]) }}", "abc", nil},
	{"hash", "select {{ dbt.hash(\"'héllo'\") }}", "be50e8478cf24ff3595bc7307fb91b50", map[string]string{"sqlite": refused}},
	{"hash of a number", "select {{ dbt.hash('42') }}", "a1d0c6e83f027327d8461063f4ac58a6", map[string]string{"sqlite": refused}},
	{"length", "select {{ dbt.length(\"'héllo'\") }}", "5", nil},
	{"position", "select {{ dbt.position(\"'l'\", \"'héllo'\") }}", "3", nil},
	{"position of nothing", "select {{ dbt.position(\"'z'\", \"'héllo'\") }}", "0", nil},
	{"replace", "select {{ dbt.replace(\"'a-b-c'\", \"'-'\", \"'+'\") }}", "a+b+c", nil},
	{"right", "select {{ dbt.right(\"'héllo'\", 4) }}", "éllo", nil},
	{"right 0", "select {{ dbt.right(\"'héllo'\", 0) }}", "", nil},
	{"right too long", "select {{ dbt.right(\"'abc'\", 9) }}", "abc", nil},
	{"split_part", "select {{ dbt.split_part(\"'a--b--c'\", \"'--'\", 2) }}", "b", map[string]string{"sqlite": refused}},
	{"split_part first", "select {{ dbt.split_part(\"'a--b--c'\", \"'--'\", 1) }}", "a", map[string]string{"sqlite": refused}},
	{"split_part beyond", "select {{ dbt.split_part(\"'a--b--c'\", \"'--'\", 4) }}", "", map[string]string{"sqlite": refused}},
	{"split_part last", "select {{ dbt.split_part(\"'a--b--c'\", \"'--'\", -1) }}", "c", map[string]string{"sqlite": refused}},
	{"split_part from the end beyond", "select {{ dbt.split_part(\"'a--b--c'\", \"'--'\", -4) }}", "", map[string]string{"sqlite": refused}},
	{"literal", "select {{ dbt.string_literal(dbt.escape_single_quotes(\"it's a \\\\ \")) }}", `it's a \ `, nil},

	{"cast", "select {{ dbt.cast(\"'12'\", dbt.type_int()) }}", "12", nil},
	{"type_bigint", "select cast('9007199254740993' as {{ dbt.type_bigint() }})", "9007199254740993", nil},
	{"type_float", "select cast('0.1' as {{ dbt.type_float() }})", "0.1", nil},
	{"type_numeric", "select cast('1234567890.123456' as {{ dbt.type_numeric() }}) = 1234567890.123456", "1", map[string]string{"clickhouse": modern}},
	{"type_string", "select cast(12 as {{ dbt.type_string() }})", "12", nil},
	{"type_timestamp", "select cast('2024-01-02 03:04:05' as {{ dbt.type_timestamp() }})", "2024-01-02 03:04:05", map[string]string{"clickhouse": modern}},
	{"type_boolean", "select cast(1 as {{ dbt.type_boolean() }})", "1", map[string]string{"clickhouse": modern}},
	{"null casts", "select cast(null as {{ dbt.type_string() }}), cast(null as {{ dbt.type_timestamp() }}), cast(null as {{ dbt.type_int() }})", "NULL|NULL|NULL", map[string]string{"clickhouse": modern}},
	{"safe_cast", "select {{ dbt.safe_cast(\"'12'\", dbt.type_int()) }}", "12", map[string]string{"clickhouse": modern}},
	{"cast_bool_to_text", "select {{ dbt.cast_bool_to_text('1 = 1') }}, {{ dbt.cast_bool_to_text('1 = 2') }}", "true|false", nil},
	{"equals", "select {{ dbt.equals('1', '1') }}, {{ dbt.equals('1', '2') }}, {{ dbt.equals('1', 'null') }}", "1|0|0", nil},
	{"equals null", "select {{ dbt.equals('a', 'b') }} from (select null as a, null as b) as q", "1", nil},

	{"any_value", "select {{ dbt.any_value('x') }} from (select 5 as x union all select null) as q", "5", nil},
	{"bool_or", "select {{ dbt.bool_or('x > 1') }}, {{ dbt.bool_or('x > 2') }} from (select 1 as x union all select 2) as q", "1|0", nil},
	{"listagg", "select {{ dbt.listagg('x', \"'-'\", 'order by x desc') }} from (select 'a' as x union all select 'b' union all select null) as q", "b-a", map[string]string{"clickhouse": refused}},
	{"listagg default", "select {{ dbt.listagg('x') }} from (select 'a' as x) as q", "a", nil},
	{"listagg limit", "select {{ dbt.listagg('x', \"','\", 'order by x', 2) }} from (select 'a' as x union all select 'b' union all select 'c') as q", "a,b",
		map[string]string{"clickhouse": refused, "sqlite": refused}},
	{"listagg limit counts no nulls", "select {{ dbt.listagg('x', \"','\", 'order by x desc', 1) }} from (select 'a' as x union all select null) as q", "a",
		map[string]string{"clickhouse": refused, "sqlite": refused}},

	{"array_construct", "select {{ dbt.array_construct([1, 2, 3]) }}[2]", "2", map[string]string{"mariadb": refused, "mysql": refused, "sqlite": refused, "postgres": "skip"}},
	{"array_construct in parentheses", "select ({{ dbt.array_construct([1, 2, 3]) }})[2]", "2", map[string]string{"mariadb": refused, "mysql": refused, "sqlite": refused}},
	{"array_append", "select ({{ dbt.array_append(dbt.array_construct([1]), 7) }})[2]", "7", map[string]string{"mariadb": refused, "mysql": refused, "sqlite": refused}},
	{"array_append to nothing", "select ({{ dbt.array_append(dbt.array_construct(), 7) }})[1]", "7", map[string]string{"mariadb": refused, "mysql": refused, "sqlite": refused}},
	{"array_concat", "select ({{ dbt.array_concat(dbt.array_construct([1]), dbt.array_construct([8, 9])) }})[3]", "9", map[string]string{"mariadb": refused, "mysql": refused, "sqlite": refused}},

	{"except", "select count(*) from (select x from (select 1 as x union all select 2 union all select 2) as a {{ dbt.except() }} select 1) as q", "1", map[string]string{"clickhouse": modern}},
	{"intersect", "select count(*) from (select x from (select 1 as x union all select 2 union all select 2) as a {{ dbt.intersect() }} select x from (select 2 as x union all select 2) as b) as q", "1", map[string]string{"clickhouse": modern}},
}

// modern marks what needs a ClickHouse of 2022 or later: types and functions below a
// second, safe casts, EXCEPT. On an older server such a case is only rendered.
const modern = "modern"

func oldClickHouse(t *testing.T, db *sql.DB) bool {
	t.Helper()
	v, err := query(t, db, "select version()")
	if err != nil {
		t.Fatal(err)
	}
	return len(v) < 2 || v[:2] < "22"
}

func TestMacroValues(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			db, err := sql.Open(e.driver, e.dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			old := e.name == "clickhouse" && oldClickHouse(t, db)
			for _, c := range macroCases {
				want := c.want
				if o, ok := c.other[e.name]; ok {
					want = o
				}
				if want == "skip" {
					continue
				}
				q, err := e.render(t, c.src)
				if want == refused {
					if err == nil {
						t.Errorf("%s: no error, but %s", c.name, q)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				if want == modern {
					if old {
						continue
					}
					want = c.want
				}
				if got, err := query(t, db, q); err != nil {
					t.Errorf("%s: %s: %v", c.name, q, err)
				} else if got != want {
					t.Errorf("%s: %s: got %q, want %q", c.name, q, got, want)
				}
			}
		})
	}
}
