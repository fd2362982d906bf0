package conformance

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Texts that loaders stumble over. None has a NUL, which PostgreSQL cannot hold.
var texts = []string{
	"", " ", "a ", " a", "a\u00a0", "NULL", "null", `\N`, `\\N`, `\`, `a\`, `\n`, "tab\there", "line\nfeed", "carriage\rreturn", "\r\n",
	"O'Brien", `say "hi"`, "`tick`", "a,b;c|d", "'", "''", `"`, `""`, "$1 %s {{ x }} ? :a", "-- comment", "/* c */", "007", "1e5", "true",
	"ñ العربية 中文", "e\u0301 combining", "\u00e9 composed", "🎉 four bytes \U0010ffff", "\ufeffbom", "\ufffd", "\u0001\u001f\u007f\u0085\u2028",
	"\x1a\b\f\v", "ﬀ ǅ ß İ ı",
}

// longText is text of n bytes whose escapes and long characters fall on every boundary.
func longText(n int) string {
	unit := "0123456789 'q' \"d\" \\ € 🎉\n\t"
	return strings.Repeat(unit, n/len(unit)) + strings.Repeat("x", n%len(unit))
}

// longSize is how long the longest text is.
func longSize() int {
	if full() {
		return 50 << 20
	}
	return 1 << 20
}

// allBytes is each byte once.
func allBytes() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

var blobs = []string{"", "\x00", "a\x00\xff", `\N`, "\\N\n\t\r,'\"", allBytes(), "\xff\xfe", "text"}

// deepJSON is an array in an array, n times.
func deepJSON(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

var jsons = []string{
	`{}`, `[]`, `null`, `true`, `"text"`, `1`, `{"b": 1, "a": [1, 2, {"c": null}]}`, `{"n": 12345678901234567890.123456789012345678}`,
	`{"s": "ñ 🎉 \" \\ \/ \n \t"}`, `[1e400]`, deepJSON(30), deepJSON(500),
}

// shallow are the documents that MariaDB's JSON holds.
func shallow(docs []string) (out []string) {
	for _, d := range docs {
		if !deeperThan(31)(d) {
			out = append(out, d)
		}
	}
	return out
}

// each applies a literal function.
func each(lit func(string) string, values ...string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = lit(v)
	}
	return out
}

// plain quotes for engines whose only escape is a doubled quote.
func plain(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// backslashed quotes for engines with backslash escapes.
func backslashed(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`, "\x00", `\0`).Replace(s) + "'"
}

// hexed gives bytes in an expression with %s for their hex digits.
func hexed(format string) func(string) string {
	return func(s string) string { return fmt.Sprintf(format, hex.EncodeToString([]byte(s))) }
}

var (
	int8s   = []string{"-128", "127", "0", "-1"}
	int16s  = []string{"-32768", "32767", "0", "-1"}
	int32s  = []string{"-2147483648", "2147483647", "0", "-1"}
	int64s  = []string{"-9223372036854775808", "9223372036854775807", "0", "-1", "9007199254740993"}
	uint8s  = []string{"0", "255", "128"}
	uint16s = []string{"0", "65535", "32768"}
	uint32s = []string{"0", "4294967295", "2147483648"}
	uint64s = []string{"0", "18446744073709551615", "9223372036854775808", "9007199254740993"}
	hugeMin = "-170141183460469231731687303715884105728"
	hugeMax = "170141183460469231731687303715884105727"
	nines38 = strings.Repeat("9", 38)

	decimals102  = []string{"0", "0.01", "-0.01", "99999999.99", "-99999999.99", "1.50", "100"}
	decimals3810 = []string{"1234567890123456789012345678.0123456789", "-" + strings.Repeat("9", 28) + "." + strings.Repeat("9", 10), "0.0000000001", "0"}
	decimals3838 = []string{"0." + strings.Repeat("0", 37) + "1", "-0." + strings.Repeat("0", 37) + "1", "0." + nines38, "0"}
	decimals380  = []string{nines38, "-" + nines38, "0", "1"}

	floats     = []string{"0", "-0", "0.1", "1.5", "3.4028234663852886e38", "-3.4028234663852886e38", "1.1754944e-38", "1e-45", "16777217"}
	doubles    = []string{"0", "-0", "0.1", "1.7976931348623157e308", "-1.7976931348623157e308", "2.2250738585072014e-308", "5e-324", "9007199254740993", "0.30000000000000004", "1e15", "123456789012345680"}
	notANumber = []string{"NaN", "Infinity", "-Infinity"}

	dates = []string{"0001-01-01", "1000-01-01", "1582-10-10", "1899-12-31", "1900-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "2105-12-31", "2106-02-08", "2149-06-06", "2299-12-31", "2300-01-01", "9999-12-31"}
	// The clocks of New York skip 02:30 on 2024-03-10 and show 01:30 twice on 2024-11-03;
	// those of Kolkata skipped 1941-10-01 00:00 to 00:59.
	stamps = []string{
		"0001-01-01 00:00:00", "1582-10-10 00:00:00", "1899-12-31 23:59:59.999999", "1900-01-01 00:00:00", "1941-10-01 00:30:00", "1969-12-31 23:59:59.999999",
		"1970-01-01 00:00:00", "1970-01-01 00:00:00.000001", "2024-02-29 12:34:56.123456", "2024-03-10 02:30:00", "2024-03-31 01:30:00", "2024-11-03 01:30:00",
		"2024-03-10 06:59:59.999999", "2024-03-10 07:00:00", "2024-11-03 05:30:00", "2024-11-03 06:30:00", "2038-01-19 03:14:07", "2038-01-19 03:14:08",
		"2100-02-28 23:59:59.1", "2105-12-31 23:59:59", "2299-12-31 23:59:59.999999", "2300-01-01 00:00:00", "9999-12-31 23:59:59.999999",
	}
	clocks = []string{"00:00:00", "23:59:59.999999", "12:34:56.000001", "12:34:56.1", "02:30:00"}
	uuids  = []string{"9c0c9eed-feac-4b1c-8b5e-0123456789ab", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "01020304-0506-0708-090a-0b0c0d0e0f10"}
)

// suffixed appends to each value.
func suffixed(values []string, s string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = v + s
	}
	return out
}

// utc marks time stamps as instants.
func utc(values []string) []string { return suffixed(values, "+00") }

func join(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// textLiteral writes text of any bytes in an engine's SQL.
func textLiteral(engine string) func(string) string {
	switch engine {
	case "postgres":
		return pgText
	case "mysql":
		return myText
	case "clickhouse":
		return backslashed
	case "sqlite":
		return liteText
	}
	return duckText
}
