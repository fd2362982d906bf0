package run

import (
	"encoding/hex"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"time"
)

const tzType = "TIMESTAMP WITH TIME ZONE"

// fedPools are values as DuckDB prints them, from which columns of every engine are
// filled, so that joins across engines meet, and meet what is nearly equal.
var fedPools = map[string][]string{
	"small": {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "17", "20", "21", "30", "33", "40"},
	"int":   {"-2147483648", "2147483647", "-3", "-1", "0", "1", "2", "3", "5", "10", "12", "100", "65536"},
	"big":   {"-9223372036854775808", "9223372036854775807", "9007199254740993", "9007199254740992", "-1", "0", "1", "2", "5", "4294967296"},
	"ubig":  {"18446744073709551615", "9223372036854775808", "9223372036854775807", "9007199254740993", "0", "1", "2", "3", "5", "12"},
	"dec":   {"0.00", "0.01", "-0.01", "1.00", "1.50", "-2.25", "2.00", "5.00", "9999999.99", "-9999999.99", "12.30"},
	"big dec": {"0.0000000000", "1.0000000000", "1.5000000000", "-2.2500000000", "0.0000000001", "1234567890123456789.0123456789",
		"-1234567890123456789.0123456789", "12.3000000000", "5.0000000000"},
	"float": {"0.0", "-0.0", "0.1", "1.0", "1.5", "-2.25", "2.0", "5.0", "10000000000.0", "1e+300", "5e-324", "0.30000000000000004", "nan", "inf", "-inf", "16777217.0"},
	"real":  {"0.0", "-0.0", "0.1", "1.0", "1.5", "-2.25", "2.0", "5.0", "16777216.0", "nan", "inf"},
	"text": {"", " ", "a", "A", "a ", "A ", "a  ", " a", "á", "Á", "ä", "ab", "AB", "Ab", "abc", "ABC", "b", "B", "ß", "ss", "SS", "é", "e\u0301", "É", "e", "z", "Z",
		"ñ", "𝄞", "日本", "%", "_", "a%", "a_b", "it's", `back\slash`, `a\`, "tab\there", "line\nfeed", `"q"`, "Straße", "STRASSE", "i", "I", "İ", "ı", "0", "00", "1", "1.0",
		"null", "NULL", `\N`, "æ", "ae", "true", "2024-01-02", "zz\u00a0", "ﬁ", "fi", "x" + strings.Repeat("long ", 7)},
	"latin": {"", "a", "A", "a ", "á", "Á", "ab", "AB", "b", "B", "ß", "ss", "é", "É", "e", "z", "ñ", "%", "_", "a%", "it's", `a\`, "1"},
	"word":  {"", "a", "A", "ab", "AB", "abc", "b", "B", "á", "é", "z", "ß", "1", "%", "a b"},
	"enum":  {"a", "A ", "b", "B", "it's", "ñ"},
	"date": {"0001-01-01", "1582-10-10", "1899-12-31", "1969-12-31", "1970-01-01", "2023-12-31", "2024-01-01", "2024-01-02", "2024-01-03", "2024-02-29", "2024-03-10", "2024-11-03",
		"2038-01-19", "9999-12-31", "infinity", "-infinity"},
	"ts": {"0001-01-01 00:00:00", "1582-10-10 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2023-12-31 23:59:59.999999", "2024-01-01 00:00:00", "2024-01-02 00:00:00",
		"2024-01-02 00:00:00.000001", "2024-01-02 12:00:00", "2024-01-02 12:00:00.5", "2024-01-03 00:00:00", "2024-03-10 02:30:00", "2024-11-03 01:30:00", "2038-01-19 03:14:08",
		"9999-12-31 23:59:59.999999", "infinity", "-infinity"},
	"time": {"00:00:00", "23:59:59.999999", "12:34:56.000001", "12:34:56", "02:30:00"},
	"bool": {"true", "false"},
	"uuid": {"9c0c9eed-feac-4b1c-8b5e-0123456789ab", "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "01020304-0506-0708-090a-0b0c0d0e0f10",
		"80000000-0000-0000-0000-000000000000", "7fffffff-ffff-ffff-ffff-ffffffffffff"},
	"blob":     {``, `\x00`, `a`, `A`, `a\x00`, `\xFF`, `\xFFa`, `a\xC3`, `text`},
	"short":    {"", "a", "A", "ab", "AB", "b", "á", "é", "z", "1", "a b", " "},
	"huge":     {"170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "18446744073709551616", "9007199254740993", "-1", "0", "1", "2", "5"},
	"interval": {"00:00:00", "1 year 2 months 3 days 04:05:06.789", "-1 days", "00:00:00.000001", "25:00:00", "1 month", "29 days", "31 days"},
	"timetz":   {"08:30:45+02", "08:30:45+00", "23:59:59.999999+00", "00:00:00+05:30", "02:30:00+00"},
	"json":     {`{"a": 1}`, `{}`, `[1, 2]`, `null`, `"x"`, `{"b": {"c": [null, true]}}`, `1.5`},
	"bits":     {"00000000", "11110000", "11111111", "00000001"},
	"ms":       {"1970-01-01 00:00:00", "2024-01-01 00:00:00", "2024-01-02 12:00:00.5", "2024-01-02 12:00:00.499", "2024-01-02 12:00:00", "2038-01-19 03:14:08.999", "0001-01-01 00:00:00"},
	"ns":       {"1969-12-31 23:59:59.999999999", "2024-01-02 12:00:00.5", "2024-01-02 12:00:00.500000001", "2024-01-02 00:00:00", "2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00"},
	"zero":     {"0000-00-00", "2024-00-10", "2024-02-00", "1970-01-01", "2024-01-01", "2024-01-02", "2024-02-29", "0001-01-01", "9999-12-31"},
	"year":     {"1901", "1970", "1999", "2000", "2023", "2024", "2069", "2155", "0"},
	"set":      {"", "a", "b", "a,b", "a,c", "b,c"},
	"address":  {"192.168.0.1", "10.0.0.0/8", "2001:db8::1", "10.0.0.1"},
	"money":    {"0.00", "1.50", "12.30", "5.00", "9999999.99"},
	"choice":   {"z", "a", ""},
	"dec5":     {"1234567890.12345", "-0.00001", "0.10000", "1.50000", "5.00000", "0.00000"},
	"tiny":     {"-128", "-1", "0", "1", "2", "5", "12", "127"},
	"word16":   {"0", "1", "2", "5", "12", "255", "32768", "65535"},
	"list":     {"[]", "[1]", "[1, NULL]", "[NULL]", "[2, 1]", "[1, 2, 3]"},
}

// fedHolds tells what an engine's type cannot hold.
func fedHolds(engine, native, pool, v string) bool {
	native = strings.TrimPrefix(native, "Nullable(")
	odd := v == "nan" || strings.HasSuffix(v, "infinity") || strings.HasSuffix(v, "inf")
	switch {
	case v == "5e-324" && engine == "ch", // it reads 0
		v == "nan" && engine == "lite", odd && engine == "my", odd && strings.HasPrefix(native, "Date"):
		return false
	case strings.HasPrefix(native, "timestamp") && engine == "my", strings.HasPrefix(native, "Date"):
		return !odd && (v == "1970-01-01" || v > "1970-01-01 00:00:00") && v < "2038-01-19 03:14:08" && !((strings.HasPrefix(native, "DateTime") || native == "timestamp null") && strings.Contains(v, "."))
	case pool == "ts" && (native == "datetime" || native == "timestamp(0)"):
		return !strings.Contains(v, ".")
	case odd && engine == "lite":
		return pool == "float"
	case pool == "ubig" && engine == "lite":
		return len(v) < 19 || v <= "9223372036854775807" && len(v) == 19
	}
	return true
}

// fedNone is what comes out as NULL.
const fedNone = "\x00\x00"

// fedReads is what comes out for what went in.
func fedReads(engine, native, v string) string {
	native = strings.TrimPrefix(native, "Nullable(")
	switch {
	case engine == "pg" && native == "char(5)": // with its padding
		return v + strings.Repeat(" ", max(0, 5-len([]rune(v))))
	case engine == "my" && (native == "char(5)" || strings.HasPrefix(native, "enum")): // without
		return strings.TrimRight(v, " ")
	case engine == "my" && native == "bit(8)":
		n, _ := strconv.ParseUint(v, 2, 8)
		return strconv.FormatUint(n, 10)
	case engine == "ch" && strings.HasPrefix(native, "FixedString(4)"):
		return v + strings.Repeat("\x00", max(0, 4-len(v)))
	case strings.Contains(v, "-00") && len(v) == 10: // a date that is none
		return fedNone
	case engine == "lite" && v == "-0.0": // whole numbers are stored as integers
		return "0.0"
	}
	return v
}

// fedQuote is a text of standard SQL; NUL stands only where DuckDB reads it.
func fedQuote(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(q, "\x00") {
		q = "(" + strings.ReplaceAll(q, "\x00", "' || chr(0) || '") + ")"
	}
	return q
}

// fedBytes are the bytes of a BLOB as DuckDB prints it.
func fedBytes(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			n, _ := strconv.ParseUint(s[i+2:i+4], 16, 8)
			b = append(b, byte(n))
			i += 3
			continue
		}
		b = append(b, s[i])
	}
	return hex.EncodeToString(b)
}

// fedLiteral writes v in the SQL of an engine that stores it in a column of type logical.
func fedLiteral(engine, logical, v string) string {
	switch engine {
	case "duck", "lake":
		return "CAST(" + fedQuote(v) + " AS " + logical + ")"
	case "pg":
		switch logical {
		case "BLOB":
			return `'\x` + fedBytes(v) + "'"
		case "INTEGER[]":
			return "'" + strings.NewReplacer("[", "{", "]", "}").Replace(v) + "'"
		}
		return fedQuote(v)
	case "my":
		if logical == "UBIGINT" && len(v) == 8 && strings.Trim(v, "01") == "" {
			return "b'" + v + "'"
		}
	case "lite":
		switch {
		case logical == "BLOB":
			return "X'" + fedBytes(v) + "'"
		case logical == "BOOLEAN":
			return map[string]string{"true": "1", "false": "0"}[v]
		case strings.HasSuffix(v, "inf"):
			return strings.Replace(v, "inf", "9e999", 1)
		case logical == "BIGINT" || logical == "DOUBLE" || logical == "DECIMAL(9,2)" || logical == "DECIMAL(15,5)":
			return v
		}
		return fedQuote(v)
	}
	switch logical {
	case "BLOB":
		return "X'" + fedBytes(v) + "'"
	case "BOOLEAN":
		return map[string]string{"true": "1", "false": "0"}[v]
	case "SMALLINT": // '0' is the year 2000
		return v
	case "VARCHAR":
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\t", `\t`).Replace(v) + "'"
	case "DATE", "UUID", "TIMESTAMP", "TIME", "JSON":
		return "'" + v + "'"
	case tzType:
		if engine == "my" {
			return "'" + strings.TrimSuffix(v, "+00") + "'"
		}
		// ClickHouse reads a text as one of the column's zone.
		at, _ := time.Parse("2006-01-02 15:04:05-07", v)
		return strconv.FormatInt(at.Unix(), 10)
	}
	if engine == "my" { // '-0.0' as a number is a decimal zero
		return "'" + v + "'"
	}
	return v
}

// fedColumn is a column of one engine.
type fedColumn struct {
	name, native, logical, pool string
	lits                        []string // what it holds, as SQL of DuckDB, in order
}

func (c *fedColumn) value(r *rand.Rand, engine string, row int) *string {
	if c.pool == "id" {
		v := strconv.Itoa(row)
		return &v
	}
	var v string
	switch c.pool {
	case "row text":
		v = fmt.Sprintf("Row %05d", r.Intn(7000))
	case "row decimal":
		v = fmt.Sprintf("%d.%02d", r.Intn(3000), 25*r.Intn(4))
	case "row date":
		v = time.Date(2000, 1, 1+r.Intn(8000), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	case "row int":
		v = strconv.Itoa(r.Intn(7000) - 100)
	}
	if v != "" {
		return &v
	}
	if r.Intn(9) == 0 && (engine != "ch" || strings.Contains(c.native, "Nullable(") && c.pool != "list") {
		return nil
	}
	pool := fedPools[c.pool]
	for {
		v := pool[r.Intn(len(pool))]
		if fedHolds(engine, c.native, c.pool, v) {
			if c.logical == tzType && !strings.HasSuffix(v, "infinity") {
				v += "+00"
			}
			return &v
		}
	}
}
