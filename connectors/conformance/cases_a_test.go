package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/connectors"
)

// decimalColumn is a decimal in each source's own words; SQLite keeps long ones as text.
func decimalColumn(engine string, p, s int, value string) *Column {
	native := map[string]string{
		"postgres": "numeric(%d,%d)", "mysql": "decimal(%d,%d)", "clickhouse": "Nullable(Decimal(%d, %d))",
		"sqlite": "DECIMAL_TEXT(%d,%d)", "duckdb": "DECIMAL(%d,%d)", "file": "DECIMAL(%d,%d)",
	}[family(engine)]
	if engine != "clickhouse" && engine != "mysql" {
		value = plain(value)
	}
	return col("c", fmt.Sprintf(native, p, s), fmt.Sprintf("DECIMAL(%d,%d)", p, s), value)
}

// decimalArrives moves a decimal from some engines to every engine: value, precision and
// scale stay.
func decimalArrives(t *testing.T, p, s int, value string, sources ...string) {
	t.Helper()
	b := NewBench(t)
	for _, from := range sources {
		c := decimalColumn(from, p, s, value)
		everywhere(t, b, func(to *Site) {
			m := move(b.Site(from), to, c)
			m.want("c", c.Want, value, "NULL")
			if got := strings.ReplaceAll(m.native["c"], " ", ""); !strings.Contains(got, fmt.Sprintf("(%d,%d)", p, s)) {
				t.Errorf("%s → %s: the column is %s", from, to.Engine, m.native["c"])
			}
		})
	}
}

// A decimal's fraction survives, whatever its scale.
func TestCaseA1(t *testing.T) {
	t.Parallel()
	decimalArrives(t, 24, 6, "1.234567", Engines...)
}

// A number without a declared scale keeps its fraction.
func TestCaseA2(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, c := range []struct{ engine, native string }{{"postgres", "numeric"}, {"sqlite", "NUMERIC"}, {"sqlite", "NUMBER"}, {"mysql", "decimal(65,30)"}} {
		everywhere(t, b, func(to *Site) {
			move(b.Site(c.engine), to, col("c", c.native, "DECIMAL(3,1)", "10.5", "1", "-0.5")).want("c", "DECIMAL(3,1)", "10.5", "1", "-0.5", "NULL")
		})
	}
}

// Declared precision and scale are kept at 38 digits.
func TestCaseA3(t *testing.T) {
	t.Parallel()
	decimalArrives(t, 38, 10, "1234567890123456789012345678.0123456789", "mysql", "file")
}

// And so they are at 28 and 10 digits.
func TestCaseA4(t *testing.T) {
	t.Parallel()
	decimalArrives(t, 28, 8, "12345678901234567890.12345678", "postgres", "clickhouse")
	decimalArrives(t, 10, 2, "99999999.99", "sqlite", "duckdb")
}

// Text made of a decimal has room for its sign and its point, or is refused: it is never
// cut.
func TestCaseA6(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, c := range []struct{ engine, fits, short string }{
		{"postgres", "varchar(8)", "varchar(5)"}, {"mysql", "varchar(8)", "varchar(5)"}, {"clickhouse", "Nullable(String)", ""}, {"duckdb", "VARCHAR", ""}, {"sqlite", "TEXT", ""},
	} {
		to := b.Site(c.engine)
		m, err := attempt(b.Site("mysql"), to, connectors.TargetOptions{ColumnTypes: map[string]string{"c": c.fits}}, col("c", "decimal(6,3)", "DECIMAL(6,3)", "-100.000"))
		if err != nil {
			t.Errorf("%s: %v", c.engine, err)
			continue
		}
		m.want("c", "VARCHAR", "-100.000")
		if c.short != "" {
			_, err := attempt(b.Site("mysql"), to, connectors.TargetOptions{ColumnTypes: map[string]string{"c": c.short}}, col("c", "decimal(6,3)", "DECIMAL(6,3)", "-100.000"))
			refused(t, err, "c", "-100")
		}
	}
}

// One bad text in row 1,000 of a column that is declared a time stamp is an error that
// names it; the declared type is kept and nothing is loaded.
func TestCaseA8(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	values := each(plain, strings.Split(strings.Repeat("2024-02-29 12:00:00,", 999)+"not a time", ",")...)
	from, to := b.Site("sqlite"), b.Site("postgres")
	rel := from.Create(col("c", "DATETIME", "TIMESTAMP", values...))
	target := to.Name()
	_, err := attemptFrom(from, rel, to, target, connectors.TargetOptions{})
	refused(t, err, "c", "not a time", "1000")
	if _, err := to.Conn.Describe(b.ctx, target); err == nil {
		t.Error("the target was made")
	}
}

// tinyint(1) is a boolean only where the connection says so.
func TestCaseA10(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	from := b.OpenSite("mysql", map[string]any{"tinyint1_is_bool": true})
	everywhere(t, b, func(to *Site) {
		m := move(from, to, col("c", "tinyint(1)", "BOOLEAN", "1", "0"))
		m.want("c", "BOOLEAN", "true", "false", "NULL")
		if n := m.native["c"]; n == "text" || n == "longtext" || n == "VARCHAR" {
			t.Errorf("%s: the column is %s", to.Engine, n)
		}
	})
}

// bit(1) is a boolean, bit(n) an unsigned integer.
func TestCaseA11(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	everywhere(t, b, func(to *Site) {
		m := move(b.Site("mysql"), to, col("one", "bit(1)", "BOOLEAN", "b'1'", "b'0'"), col("eight", "bit(8)", "UBIGINT", "b'11110000'"),
			col("all64", "bit(64)", "UBIGINT", "b'"+strings.Repeat("1", 64)+"'"))
		m.want("one", "BOOLEAN", "true", "false", "NULL")
		m.want("eight", "UBIGINT", "240", "NULL")
		m.want("all64", "UBIGINT", "18446744073709551615", "NULL")
	})
}

// textTypes are how targets call text in column_types.
var textTypes = map[string]string{"postgres": "varchar(10)", "mysql": "varchar(10)", "clickhouse": "Nullable(String)", "sqlite": "TEXT", "duckdb": "VARCHAR"}

// A boolean in a text column is true or false, on every target alike.
func TestCaseA12(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, typ := range textTypes {
		m, err := attempt(b.Site("postgres"), b.Site(engine), connectors.TargetOptions{ColumnTypes: map[string]string{"c": typ}}, col("c", "boolean", "BOOLEAN", "true", "false"))
		if err != nil {
			t.Errorf("%s: %v", engine, err)
			continue
		}
		m.want("c", "VARCHAR", "true", "false", "NULL")
	}
}

// A bit in an integer, text or boolean column.
func TestCaseA13(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	integer := map[string]string{"postgres": "integer", "mysql": "int", "clickhouse": "Nullable(Int32)", "sqlite": "INTEGER", "duckdb": "INTEGER"}
	for engine, typ := range textTypes {
		o := connectors.TargetOptions{ColumnTypes: map[string]string{"i": integer[engine], "s": typ}}
		bits := func(name string) *Column { return col(name, "bit(1)", "BOOLEAN", "b'1'", "b'0'") }
		m, err := attempt(b.Site("mysql"), b.Site(engine), o, bits("i"), bits("s"), bits("o"))
		if err != nil {
			t.Errorf("%s: %v", engine, err)
			continue
		}
		m.want("i", "INTEGER", "1", "0", "NULL")
		m.want("s", "VARCHAR", "true", "false", "NULL")
		m.want("o", "BOOLEAN", "true", "false", "NULL")
	}
}

// A UUID's bytes keep their order.
func TestCaseA14(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	const id = "9c0c9eed-feac-4b1c-8b5e-0123456789ab"
	for engine, native := range map[string]string{"postgres": "uuid", "mysql": "uuid", "clickhouse": "Nullable(UUID)", "sqlite": "UUID_TEXT", "duckdb": "UUID", "file": "UUID"} {
		everywhere(t, b, func(to *Site) {
			move(b.Site(engine), to, col("c", native, "UUID", plain(strings.ToUpper(id)))).want("c", "UUID", id, "NULL")
		})
	}
}

// An array of ten UUIDs has no length to be cut to.
func TestCaseA15(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	ids := strings.TrimSuffix(strings.Repeat("9c0c9eed-feac-4b1c-8b5e-0123456789ab,", 10), ",")
	want := `["` + strings.ReplaceAll(ids, ",", `","`) + `"]`
	everywhere(t, b, func(to *Site) {
		c := col("c", "uuid[]", "UUID[]", plain("{"+ids+"}"), plain("{}"))
		c.Full = true // ClickHouse has no NULL arrays
		move(b.Site("postgres"), to, c).want("c", "UUID[]", want, "[]")
	})
}

// Arrays are arrays or JSON, with their NULLs.
func TestCaseA16(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	everywhere(t, b, func(to *Site) {
		move(b.Site("clickhouse"), to, col("c", "Array(String)", "VARCHAR[]", `['a', 'b,c', '']`)).want("c", "VARCHAR[]", `["a","b,c",""]`)
		if to.Engine != "clickhouse" {
			move(b.Site("postgres"), to, col("c", "integer[]", "INTEGER[]", `'{1,2,NULL}'`, `'{}'`)).want("c", "INTEGER[]", `["1","2",null]`, "[]", "NULL")
			move(b.Site("duckdb"), to, col("c", "INTEGER[]", "INTEGER[]", `[1, 2, NULL]`, `[]`)).want("c", "INTEGER[]", `["1","2",null]`, "[]", "NULL")
		}
	})
}

// Times keep their microseconds, and their offset where they have one.
func TestCaseA17(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	everywhere(t, b, func(to *Site) {
		m := move(b.Site("postgres"), to, col("t", "time", "TIME", plain("12:34:56.123456")), col("tz", "timetz", "TIMETZ", plain("08:30:45+02:00"), plain("08:30:45.000001-03:30")))
		m.want("t", "TIME", "12:34:56.123456", "NULL")
		m.want("tz", "TIMETZ", "08:30:45+02:00", "08:30:45.000001-03:30", "NULL")
		move(b.Site("mysql"), to, col("t", "time(6)", "TIME", plain("12:34:56.123456"))).want("t", "TIME", "12:34:56.123456", "NULL")
	})
}

// zeroDates moves dates that are none: NULL, or an error that names the row.
func zeroDates(t *testing.T, native, typ, zero, good string) {
	t.Helper()
	b := NewBench(t)
	c := func() *Column { return col("c", native, typ, plain(good), plain(zero), plain(good)) }
	want := (&Column{Want: typ}).Type()
	shown, err := Canon(want, good)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, b, func(to *Site) { move(b.Site("mysql"), to, c()).want("c", typ, shown, "NULL", shown, "NULL") })
	from := b.OpenSite("mysql", map[string]any{"zero_dates": "error"})
	_, err = attempt(from, b.Site("postgres"), connectors.TargetOptions{}, c())
	refused(t, err, "c", zero, "2")
}

// Zero dates are NULL, or an error that names the row.
func TestCaseA19(t *testing.T) {
	t.Parallel()
	zeroDates(t, "datetime", "TIMESTAMP", "0000-00-00 00:00:00", "2024-02-29 12:00:00")
}

func TestCaseA20(t *testing.T) {
	t.Parallel()
	zeroDates(t, "date", "DATE", "0000-00-00", "2024-02-29")
}

func TestCaseA21(t *testing.T) {
	t.Parallel()
	zeroDates(t, "date", "DATE", "2200-00-08", "2024-02-29")
}

// tinyint(1) holds numbers. As a boolean, 2 is an error.
func TestCaseA23(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	c := func() *Column { return col("c", "tinyint(1)", "TINYINT", "0", "1", "2", "-1") }
	everywhere(t, b, func(to *Site) { move(b.Site("mysql"), to, c()).want("c", "TINYINT", "0", "1", "2", "-1", "NULL") })
	_, err := attempt(b.OpenSite("mysql", map[string]any{"tinyint1_is_bool": true}), b.Site("duckdb"), connectors.TargetOptions{}, c())
	refused(t, err, "c", "2")
}

// numeric without precision is exact.
func TestCaseA24(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	const v = "12345678901234567890.123456789"
	everywhere(t, b, func(to *Site) {
		move(b.Site("postgres"), to, col("c", "numeric", "DECIMAL(38,9)", plain(v))).want("c", "DECIMAL(38,9)", v, "NULL")
	})
}

// A decimal that is not a number is an error, not 0.
func TestCaseA25(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, native := range []string{"numeric", "numeric(10,2)"} {
		_, err := attempt(b.Site("postgres"), b.Site("duckdb"), connectors.TargetOptions{}, col("c", native, "DECIMAL(10,2)", "'NaN'"))
		refused(t, err, "c", "NaN")
	}
}

// A time stamp that the compute engine or the target cannot hold is an error.
func TestCaseA27(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, native := range []string{"timestamp", "timestamptz"} {
		_, err := attempt(b.Site("postgres"), b.Site("duckdb"), connectors.TargetOptions{}, col("c", native, "TIMESTAMP", "'294276-01-01 00:00:00+00'"))
		refused(t, err, "c")
	}
	for _, to := range []string{"mysql", "sqlite", "clickhouse"} {
		for _, typ := range []string{"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "DATE"} {
			_, err := attempt(b.Site("duckdb"), b.Site(to), connectors.TargetOptions{}, col("c", typ, typ, "'29424-01-01'"))
			refused(t, err, "c", "29424")
		}
	}
}

// SQLite holds any value in any column: what does not match is an error with the rowid,
// or what the connection says.
func TestCaseA28(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, v := range []string{"'abc'", "''", "1.5"} {
		_, err := attempt(b.Site("sqlite"), b.Site("postgres"), connectors.TargetOptions{}, col("c", "INTEGER", "BIGINT", "1", v))
		refused(t, err, "c", "rowid 2")
	}
	c := func() *Column { return col("c", "INTEGER", "VARCHAR", "7", "'abc'", "''", "1.5") }
	asText, asNull := b.OpenSite("sqlite", map[string]any{"sqlite_type_mismatch": "text"}), b.OpenSite("sqlite", map[string]any{"sqlite_type_mismatch": "null"})
	everywhere(t, b, func(to *Site) {
		move(b.Site("sqlite"), to, col("c", "TEXT", "VARCHAR", "0", "'x'")).want("c", "VARCHAR", "0", "x", "NULL")
		move(asText, to, c()).want("c", "VARCHAR", "7", "abc", "", "1.5", "NULL")
		move(asNull, to, c()).want("c", "BIGINT", "7", "NULL", "NULL", "NULL", "NULL")
	})
}

// Decimals reach ClickHouse as what they are.
func TestCaseA29(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, from := range Engines {
		move(b.Site(from), b.Site("clickhouse"), decimalColumn(from, 10, 2, "0.1")).want("c", "DECIMAL(10,2)", "0.1", "NULL")
	}
}

// Microseconds stay, or are an error where the target's type has none.
func TestCaseA30(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	const v = "2024-02-29 12:34:56.123456"
	everywhere(t, b, func(to *Site) {
		m, err := attempt(b.Site("postgres"), to, connectors.TargetOptions{}, col("c", "timestamp", "TIMESTAMP", plain(v)))
		if to.Engine == "clickhouse" && err != nil {
			refused(t, err, "c", "fraction", "column_types")
			m, err = attempt(b.Site("postgres"), to, connectors.TargetOptions{ColumnTypes: map[string]string{"c": "Nullable(String)"}}, col("c", "timestamp", "TIMESTAMP", plain(v)))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range m.texts["c"][:1] {
			if s := strings.TrimSuffix(strings.Replace(*got, "T", " ", 1), "+00"); s != v {
				t.Errorf("%s: %s, want %s", to.Engine, s, v)
			}
		}
	})
}

// Instants past what ClickHouse's type holds do not wrap.
func TestCaseA32(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for _, v := range []string{"2300-01-01 00:00:00", "9999-12-31 00:00:00", "0001-01-01 00:00:00"} {
		for native, typ := range map[string]string{"timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "date": "DATE"} {
			_, err := attempt(b.Site("postgres"), b.Site("clickhouse"), connectors.TargetOptions{}, col("c", native, typ, plain(v+"+00")))
			refused(t, err, "c", v[:10])
		}
	}
}

// An integer in a column of time stamps has a defined unit or is refused.
func TestCaseA33(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, typ := range map[string]string{"clickhouse": "DateTime('UTC')", "postgres": "timestamp", "mysql": "datetime(6)", "duckdb": "TIMESTAMP"} {
		_, err := attempt(b.Site("duckdb"), b.Site(engine), connectors.TargetOptions{ColumnTypes: map[string]string{"c": typ}}, col("c", "BIGINT", "BIGINT", "1700000000"))
		if err == nil {
			t.Errorf("%s: 1700000000 was taken as a %s", engine, typ)
		}
	}
}

// Unsigned integers beyond 63 bits are exact.
func TestCaseA34(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, native := range map[string]string{"mysql": "bigint unsigned", "clickhouse": "Nullable(UInt64)", "duckdb": "UBIGINT"} {
		everywhere(t, b, func(to *Site) {
			move(b.Site(engine), to, col("c", native, "UBIGINT", "18446744073709551615", "9223372036854775808")).want("c", "UBIGINT", "18446744073709551615", "9223372036854775808", "NULL")
		})
	}
}

// The two instants that a clock shows as 2024-11-03 01:30 stay two, in a predicate too.
func TestCaseA36(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	for engine, native := range map[string]string{"postgres": "timestamptz", "mysql": "timestamp", "clickhouse": "Nullable(DateTime('America/New_York'))", "sqlite": "TIMESTAMPTZ", "duckdb": "TIMESTAMPTZ"} {
		from := b.Site(engine)
		values := utc([]string{"2024-11-03 05:30:00", "2024-11-03 06:30:00"})
		switch engine {
		case "mysql":
			values = []string{"2024-11-03 05:30:00", "2024-11-03 06:30:00"}
		case "clickhouse":
			values = []string{"1730611800", "1730615400"}
		}
		if engine != "clickhouse" {
			values = each(plain, values...)
		}
		rel := from.Create(col("c", native, "TIMESTAMPTZ", values...))
		if n := from.countSince(rel, "c", 1730615400_000000); n != 1 {
			t.Errorf("%s: %d rows since the second 01:30, want 1", engine, n)
		}
		everywhere(t, b, func(to *Site) {
			m, err := attemptFrom(from, rel, to, to.Name(), connectors.TargetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{"2024-11-03 05:30:00", "2024-11-03 06:30:00"} {
				if got := *m.texts["c"][i]; !strings.HasPrefix(strings.Replace(got, "T", " ", 1), want) {
					t.Errorf("%s → %s: %s, want %s", engine, to.Engine, got, want)
				}
			}
		})
	}
}

// A naive time stamp stays naive.
func TestCaseA37(t *testing.T) {
	t.Parallel()
	b := NewBench(t)
	const v = "2024-03-10 02:30:00"
	for engine, native := range map[string]string{"postgres": "timestamp", "mysql": "datetime(6)", "sqlite": "DATETIME", "duckdb": "TIMESTAMP", "file": "TIMESTAMP"} {
		everywhere(t, b, func(to *Site) {
			m := move(b.Site(engine), to, col("c", native, "TIMESTAMP", plain(v)))
			if got := strings.TrimSuffix(strings.Replace(*m.texts["c"][0], "T", " ", 1), ".000000"); strings.TrimSuffix(got, "+00") != v {
				t.Errorf("%s → %s: %s, want %s", engine, to.Engine, got, v)
			}
			if n := m.native["c"]; strings.Contains(n, "with time zone") || n == "TIMESTAMPTZ" {
				t.Errorf("%s → %s: the column is %s", engine, to.Engine, n)
			}
		})
	}
}
