package conformance

import (
	"slices"
	"strings"
)

var duckText = hexed("decode(unhex('%s'))")

func duckdbColumns() []*Column {
	long := longText(longSize())
	withNUL := join(texts, []string{"a\x00b", "\x00"})
	return []*Column{
		{Name: "bool", Native: "BOOLEAN", Want: "BOOLEAN", Values: []string{"true", "false"}},
		{Name: "tinyint", Native: "TINYINT", Want: "TINYINT", Values: int8s},
		{Name: "smallint", Native: "SMALLINT", Want: "SMALLINT", Values: int16s},
		{Name: "integer", Native: "INTEGER", Want: "INTEGER", Values: int32s},
		{Name: "bigint", Native: "BIGINT", Want: "BIGINT", Values: int64s},
		{Name: "hugeint", Native: "HUGEINT", Want: "HUGEINT", Values: each(plain, hugeMin, hugeMax, "0", nines38)},
		{Name: "utinyint", Native: "UTINYINT", Want: "UTINYINT", Values: uint8s},
		{Name: "usmallint", Native: "USMALLINT", Want: "USMALLINT", Values: uint16s},
		{Name: "uinteger", Native: "UINTEGER", Want: "UINTEGER", Values: uint32s},
		{Name: "ubigint", Native: "UBIGINT", Want: "UBIGINT", Values: uint64s},
		{Name: "dec_10_2", Native: "DECIMAL(10,2)", Want: "DECIMAL(10,2)", Values: each(plain, decimals102...)},
		{Name: "dec_4_1", Native: "DECIMAL(4,1)", Want: "DECIMAL(4,1)", Values: each(plain, "999.9", "-0.1")},
		{Name: "dec_38_10", Native: "DECIMAL(38,10)", Want: "DECIMAL(38,10)", Values: each(plain, decimals3810...)},
		{Name: "dec_38_38", Native: "DECIMAL(38,38)", Want: "DECIMAL(38,38)", Values: each(plain, decimals3838...)},
		{Name: "dec_38_0", Native: "DECIMAL(38,0)", Want: "DECIMAL(38,0)", Values: each(plain, decimals380...)},
		{Name: "float", Native: "FLOAT", Want: "FLOAT", Values: each(plain, join(floats, notANumber)...)},
		{Name: "double", Native: "DOUBLE", Want: "DOUBLE", Values: each(plain, join(doubles, notANumber)...)},
		{Name: "varchar", Native: "VARCHAR", Want: "VARCHAR", Values: each(duckText, join(withNUL, []string{long})...)},
		{Name: "blob", Native: "BLOB", Want: "BLOB", Values: each(hexed("unhex('%s')"), join(blobs, []string{long})...)},
		{Name: "date", Native: "DATE", Want: "DATE", Values: each(plain, join(dates, []string{"infinity", "-infinity", "0044-03-15 (BC)", "5881580-07-10"})...)},
		{Name: "time", Native: "TIME", Want: "TIME", Values: each(plain, join(clocks, []string{"24:00:00"})...)},
		{Name: "timetz", Native: "TIME WITH TIME ZONE", Want: "TIMETZ", Values: each(plain, "08:30:45+02", "23:59:59.999999-15:59:59", "00:00:00+15:59:59", "12:00:00+05:30")},
		{Name: "timestamp", Native: "TIMESTAMP", Want: "TIMESTAMP", Values: each(plain, join(stamps, []string{"infinity", "-infinity", "0044-03-15 (BC) 12:00:00", "294247-01-10 04:00:54.775806"})...)},
		{Name: "timestamptz", Native: "TIMESTAMP WITH TIME ZONE", Want: "TIMESTAMPTZ", Values: each(plain, join(utc(stamps), []string{"infinity", "-infinity"})...)},
		{Name: "timestamp_ns", Native: "TIMESTAMP_NS", Want: "TIMESTAMP_NS", Values: each(plain, "1969-12-31 23:59:59.999999999", "2024-02-29 12:34:56.123456", "2024-02-29 12:34:56", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00", "infinity", "-infinity")},
		{Name: "interval", Native: "INTERVAL", Want: "INTERVAL", Values: each(plain, "0 days", "1 year 2 months 3 days 04:05:06.789", "-1 month", "25 hours", "1 microsecond")},
		{Name: "uuid", Native: "UUID", Want: "UUID", Values: each(plain, uuids...)},
		{Name: "json", Native: "JSON", Want: "JSON", Values: each(plain, join(jsons, []string{`{"a": 1, "a": 2}`, " { } ", `"\u0000"`})...)},
		{Name: "bit", Native: "BIT", Want: "BIT", Values: each(plain, "0", "1", "10101", "1111111111111111111111111111111111111111111111111111111111111111111111")},
		{Name: "ints", Native: "INTEGER[]", Want: "INTEGER[]", Values: []string{"[]", "[1, 2, NULL]"}},
		{Name: "ints2", Native: "INTEGER[][]", Want: "INTEGER[][]", Values: []string{"[]", "[[1, 2], [], NULL, [NULL]]"}},
		{Name: "texts", Native: "VARCHAR[]", Want: "VARCHAR[]", Values: []string{"[]", `['', NULL, 'NULL', 'a,b', 'O''Brien', 'back\slash', 'say "hi"', '{x}', 'ñ 🎉']`, `['a' || chr(0)]`}},
		{Name: "decs", Native: "DECIMAL(20,4)[]", Want: "DECIMAL(20,4)[]", Values: []string{"[1.5000, -9999999999999999.9999]"}},
		{Name: "structs", Native: `STRUCT(a INTEGER, "b c" VARCHAR)`, Want: `STRUCT(a INTEGER, "b c" VARCHAR)`, Values: []string{`{'a': 1, 'b c': 'x"y'}`, `{'a': NULL, 'b c': ''}`}},
		{Name: "list_struct", Native: "STRUCT(d DATE, n DOUBLE)[]", Want: "STRUCT(d DATE, n DOUBLE)[]", Values: []string{`[{'d': '2024-02-29', 'n': 0.1}, NULL]`, "[]"}},
		{Name: "map", Native: "MAP(VARCHAR, INTEGER)", Want: "MAP(VARCHAR, INTEGER)", Values: []string{"MAP {'b': 1, 'a': NULL}", "MAP {}"}},
		{Name: "int_map", Native: "MAP(INTEGER, VARCHAR)", Want: "MAP(INTEGER, VARCHAR)", Values: []string{"MAP {1: 'x', 2: NULL}"}},

		{Name: "uhugeint", Native: "UHUGEINT", Want: "HUGEINT", Values: []string{"1"}, Refused: "UHUGEINT"},
		{Name: "timestamp_s", Native: "TIMESTAMP_S", Want: "TIMESTAMP", Values: []string{"'2024-01-01'"}},
		{Name: "enum", Native: "ENUM('a', 'b')", Want: "VARCHAR", Values: []string{"'a'"}},
		{Name: "array", Native: "INTEGER[3]", Want: "INTEGER[]", Values: []string{"[1, 2, 3]"}, Refused: "INTEGER[3]"},
		{Name: "union", Native: "UNION(num INTEGER, str VARCHAR)", Want: "VARCHAR", Values: []string{"1"}, Refused: "UNION"},
	}
}

// fileColumns are the types that Parquet has.
func fileColumns() []*Column {
	skip := map[string]bool{
		"hugeint": true, // DuckDB writes it as a double
		"timetz":  true, // loses its offset
		"bit":     true,
	}
	var cols []*Column
	for _, c := range duckdbColumns() {
		if c.Name == "interval" {
			c.Values = slices.DeleteFunc(c.Values, func(v string) bool { return strings.Contains(v, "-") })
		}
		if !skip[c.Name] && c.Refused == "" {
			cols = append(cols, c)
		}
	}
	return cols
}
