package conformance

import "fmt"

var (
	myText  = hexed("CONVERT(X'%s' USING utf8mb4)")
	myBytes = hexed("X'%s'")
)

// longMySQL is a value of n bytes as an expression: its text does not fit into the
// driver's packets.
func longMySQL(format string, n int) string {
	const times = 1024
	return fmt.Sprintf("REPEAT(%s, %d)", hexed(format)(longText(n/times)), times)
}

func mysqlColumns() []*Column {
	long := func(format string) string { return longMySQL(format, longSize()) }
	withNUL := join(texts, []string{"a\x00b", "\x00"})
	return []*Column{
		{Name: "tinyint", Native: "tinyint(4)", Want: "TINYINT", Values: int8s},
		{Name: "tinyint1", Native: "tinyint(1)", Want: "TINYINT", Values: []string{"0", "1", "2", "-1"}},
		{Name: "utinyint", Native: "tinyint(3) unsigned", Want: "UTINYINT", Values: uint8s},
		{Name: "smallint", Native: "smallint(6)", Want: "SMALLINT", Values: int16s},
		{Name: "usmallint", Native: "smallint(5) unsigned", Want: "USMALLINT", Values: uint16s},
		{Name: "mediumint", Native: "mediumint(9)", Want: "INTEGER", Values: []string{"-8388608", "8388607", "0"}},
		{Name: "umediumint", Native: "mediumint(8) unsigned", Want: "UINTEGER", Values: []string{"0", "16777215"}},
		{Name: "int", Native: "int(11)", Want: "INTEGER", Values: int32s},
		{Name: "uint", Native: "int(10) unsigned", Want: "UINTEGER", Values: uint32s},
		{Name: "bigint", Native: "bigint(20)", Want: "BIGINT", Values: int64s},
		{Name: "ubigint", Native: "bigint(20) unsigned", Want: "UBIGINT", Values: uint64s},
		{Name: "dec_10_2", Native: "decimal(10,2)", Want: "DECIMAL(10,2)", Values: decimals102},
		{Name: "dec_38_10", Native: "decimal(38,10)", Want: "DECIMAL(38,10)", Values: decimals3810},
		{Name: "dec_38_38", Native: "decimal(38,38)", Want: "DECIMAL(38,38)", Values: decimals3838},
		{Name: "dec_38_0", Native: "decimal(38,0)", Want: "DECIMAL(38,0)", Values: decimals380},
		{Name: "dec_65_30", Native: "decimal(65,30)", Want: "DECIMAL(38,9)", Values: []string{"12345678901234567890.123456789", "-0.000000001", "0"}},
		{Name: "float", Native: "float", Want: "FLOAT", Values: floats},
		{Name: "double", Native: "double", Want: "DOUBLE", Values: doubles},
		{Name: "bit1", Native: "bit(1)", Want: "BOOLEAN", Values: []string{"b'0'", "b'1'"}},
		{Name: "bit8", Native: "bit(8)", Want: "UBIGINT", Values: []string{"b'11110000'", "b'0'"}},
		{Name: "bit64", Native: "bit(64)", Want: "UBIGINT", Values: []string{"b'1111111111111111111111111111111111111111111111111111111111111111'", "b'1'"}},
		{Name: "char", Native: "char(5) character set utf8mb4", Want: "VARCHAR", Values: each(myText, "", "ab", "abcde", "ñ🎉")},
		{Name: "varchar", Native: "varchar(40) character set utf8mb4", Want: "VARCHAR", Values: each(myText, withNUL...)},
		{Name: "tinytext", Native: "tinytext character set utf8mb4", Want: "VARCHAR", Values: each(myText, withNUL...)},
		{Name: "text", Native: "text character set utf8mb4", Want: "VARCHAR", Values: each(myText, withNUL...)},
		{Name: "longtext", Native: "longtext character set utf8mb4", Want: "VARCHAR", Values: append(each(myText, withNUL...), long("CONVERT(X'%s' USING utf8mb4)"))},
		{Name: "latin1", Native: "varchar(20) character set latin1", Want: "VARCHAR", Values: each(hexed("_latin1 X'%s'"), "\x91\x92\x93\x94\x80", "caf\xe9", "")},
		{Name: "utf16", Native: "varchar(20) character set utf16", Want: "VARCHAR", Values: each(myText, "ñ 中文 🎉")},
		{Name: "binary", Native: "binary(4)", Want: "BLOB", Values: each(myBytes, "\x00\xff\\N", "a")},
		{Name: "varbinary", Native: "varbinary(300)", Want: "BLOB", Values: each(myBytes, blobs...)},
		{Name: "blob", Native: "blob", Want: "BLOB", Values: each(myBytes, blobs...)},
		{Name: "longblob", Native: "longblob", Want: "BLOB", Values: append(each(myBytes, blobs...), long("X'%s'"))},
		{Name: "enum", Native: "enum('a','O''Brien','','ñ') character set utf8mb4", Want: "VARCHAR", Values: each(plain, "a", "O'Brien", "", "ñ")},
		{Name: "set", Native: "set('a','b','c') character set utf8mb4", Want: "VARCHAR", Values: each(plain, "", "a", "a,c")},
		{Name: "json", Native: "json", Want: "JSON", Values: each(backslashed, join(shallow(jsons), []string{`{"a": 1, "a": 2}`, `"\u0000"`})...)},
		{Name: "date", Native: "date", Want: "DATE", Values: each(plain, dates...)},
		{Name: "datetime6", Native: "datetime(6)", Want: "TIMESTAMP", Values: each(plain, stamps...)},
		{Name: "datetime", Native: "datetime", Want: "TIMESTAMP", Values: each(plain, "2024-02-29 12:34:56", "2024-03-10 02:30:00")},
		{Name: "timestamp6", Native: "timestamp(6)", Want: "TIMESTAMPTZ", Values: each(plain, "1970-01-01 00:00:01", "2024-03-10 06:59:59.999999", "2024-03-10 07:00:00", "2024-11-03 05:30:00", "2024-11-03 06:30:00", "2038-01-19 03:14:07")},
		{Name: "time6", Native: "time(6)", Want: "TIME", Values: each(plain, clocks...)},
		{Name: "time_interval", Native: "time(6)", Want: "TIME", As: "INTERVAL", Values: each(plain, "838:59:59", "-838:59:59", "-00:00:00.000001", "12:34:56")},
		{Name: "year", Native: "year(4)", Want: "SMALLINT", Values: each(plain, "1901", "2155", "0000")},
		{Name: "uuid", Newer: "uuid", Native: "uuid", Want: "UUID", Values: each(plain, uuids[0], uuids[1])},
		{Name: "inet4", Newer: "inet4", Native: "inet4", Want: "VARCHAR", Values: each(plain, "192.168.0.1")},
		{Name: "inet6", Newer: "inet6", Native: "inet6", Want: "VARCHAR", Values: each(plain, "2001:db8::1")},
		{Name: "point", Native: "point", Want: "BLOB", Values: []string{"ST_GeomFromText('POINT(1.5 -2)')"}},

		{Name: "dec_long", Native: "decimal(65,0)", Want: "DECIMAL(38,0)", Values: []string{nines38 + "9"}, Refused: "38"},
		{Name: "time_long", Native: "time", Want: "TIME", Values: each(plain, "838:59:59"), Refused: "INTERVAL"},
	}
}
