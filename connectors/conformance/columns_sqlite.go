package conformance

var liteText = hexed("CAST(X'%s' AS TEXT)")

func sqliteColumns() []*Column {
	long := longText(longSize())
	withNUL := join(texts, []string{"a\x00b", "\x00"})
	return []*Column{
		{Name: "integer", Native: "INTEGER", Want: "BIGINT", Values: int64s},
		{Name: "tinyint", Native: "TINYINT", Want: "BIGINT", Values: int64s},
		{Name: "boolean", Native: "BOOLEAN", Want: "BOOLEAN", Values: []string{"0", "1", "true"}},
		{Name: "dec_10_2", Native: "DECIMAL(10,2)", Want: "DECIMAL(10,2)", Values: decimals102},
		{Name: "numeric_15", Native: "NUMERIC(15,5)", Want: "DECIMAL(15,5)", Values: []string{"1234567890.12345", "-0.00001", "0.1"}},
		{Name: "dec_text", Native: "DECIMAL_TEXT(38,10)", Want: "DECIMAL(38,10)", Values: each(plain, decimals3810...)},
		{Name: "dec_text38", Native: "DECIMAL_TEXT(38,38)", Want: "DECIMAL(38,38)", Values: each(plain, decimals3838...)},
		{Name: "huge_text", Native: "DECIMAL_TEXT(39,0)", Want: "HUGEINT", Values: each(plain, hugeMin, hugeMax, "0")},
		{Name: "real", Native: "REAL", Want: "DOUBLE", Values: join(doubles, []string{"9e999", "-9e999"})},
		{Name: "double", Native: "DOUBLE PRECISION", Want: "DOUBLE", Values: []string{"0.1", "1"}},
		{Name: "text", Native: "TEXT", Want: "VARCHAR", Values: each(liteText, join(withNUL, []string{long})...)},
		{Name: "varchar", Native: "VARCHAR(40)", Want: "VARCHAR", Values: each(liteText, texts...)},
		{Name: "clob", Native: "CLOB", Want: "VARCHAR", Values: each(liteText, "", "ñ")},
		{Name: "blob", Native: "BLOB", Want: "BLOB", Values: each(hexed("X'%s'"), join(blobs, []string{long})...)},
		{Name: "date", Native: "DATE", Want: "DATE", Values: each(plain, dates...)},
		{Name: "datetime", Native: "DATETIME", Want: "TIMESTAMP", Values: each(plain, stamps...)},
		{Name: "timestamp", Native: "TIMESTAMP", Want: "TIMESTAMP", Values: each(plain, "2024-02-29T12:34:56.123456", "2024-02-29 12:34:56")},
		{Name: "timestamptz", Native: "TIMESTAMPTZ", Want: "TIMESTAMPTZ", Values: each(plain, utc(stamps)...)},
		{Name: "timestamp_ns", Native: "TIMESTAMP_NS", Want: "TIMESTAMP_NS", Values: each(plain, "1969-12-31 23:59:59.999999999", "2024-02-29 12:34:56.123456", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00")},
		{Name: "unix", Native: "UNIXTIME", Want: "TIMESTAMP", Values: []string{"0", "1709210096", "-1", "4102444800"}},
		{Name: "unix_ms", Native: "TIMESTAMP_UNIX_MS", Want: "TIMESTAMP", Values: []string{"1709210096123", "-1"}},
		{Name: "time", Native: "TIME", Want: "TIME", Values: each(plain, clocks...)},
		{Name: "uuid", Native: "UUID_TEXT", Want: "UUID", Values: each(plain, uuids...)},
		{Name: "json", Native: "JSON_TEXT", Want: "JSON", Values: each(plain, join(jsons, []string{`{"a": 1, "a": 2}`, " { } "})...)},
		{Name: "untyped", Native: "", Want: "VARCHAR", Values: []string{"'text'", "1"}},

		{Name: "int_text", Native: "INTEGER", Want: "BIGINT", Values: []string{"'abc'"}, Refused: "abc"},
		{Name: "int_empty", Native: "INTEGER", Want: "BIGINT", Values: []string{"''"}, Refused: "not an integer"},
		{Name: "int_real", Native: "INTEGER", Want: "BIGINT", Values: []string{"1.5"}, Refused: "1.5"},
		{Name: "bool_2", Native: "BOOLEAN", Want: "BOOLEAN", Values: []string{"2"}, Refused: "2"},
		{Name: "dec_long", Native: "DECIMAL(38,10)", Want: "DECIMAL(38,10)", Values: []string{decimals3810[0]}},
		{Name: "date_empty", Native: "DATE", Want: "DATE", Values: []string{"''"}, Refused: "date"},
		{Name: "datetime_text", Native: "DATETIME", Want: "TIMESTAMP", Values: []string{"'garbage'"}, Refused: "garbage"},
		{Name: "text_bytes", Native: "TEXT", Want: "VARCHAR", Values: []string{"CAST(X'ff' AS TEXT)"}, Refused: "UTF-8"},
		{Name: "json_broken", Native: "JSON_TEXT", Want: "JSON", Values: []string{"'{'"}, Refused: "JSON"},
	}
}
