package conformance

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// spelling is how an engine declares a type; %d are precision and scale, or a length.
type spelling struct{ native, want string }

// spellings are the types that random schemas are made of.
var spellings = map[string][]spelling{
	"postgres": {
		{"boolean", "BOOLEAN"}, {"smallint", "SMALLINT"}, {"integer", "INTEGER"}, {"bigint", "BIGINT"}, {"numeric(%d,%d)", "DECIMAL(%d,%d)"},
		{"real", "FLOAT"}, {"double precision", "DOUBLE"}, {"text", "VARCHAR"}, {"varchar(60)", "VARCHAR"}, {"bytea", "BLOB"}, {"date", "DATE"},
		{"time", "TIME"}, {"timetz", "TIMETZ"}, {"timestamp", "TIMESTAMP"}, {"timestamptz", "TIMESTAMPTZ"}, {"interval", "INTERVAL"}, {"uuid", "UUID"},
		{"json", "JSON"}, {"varbit", "BIT"}, {"bigint[]", "BIGINT[]"}, {"text[]", "VARCHAR[]"},
	},
	"mysql": {
		{"tinyint", "TINYINT"}, {"tinyint unsigned", "UTINYINT"}, {"smallint", "SMALLINT"}, {"smallint unsigned", "USMALLINT"}, {"int", "INTEGER"},
		{"int unsigned", "UINTEGER"}, {"bigint", "BIGINT"}, {"bigint unsigned", "UBIGINT"}, {"decimal(%d,%d)", "DECIMAL(%d,%d)"}, {"float", "FLOAT"},
		{"double", "DOUBLE"}, {"varchar(60) character set utf8mb4", "VARCHAR"}, {"longtext character set utf8mb4", "VARCHAR"}, {"varchar(60) character set utf16", "VARCHAR"},
		{"longblob", "BLOB"}, {"varbinary(60)", "BLOB"}, {"date", "DATE"}, {"datetime(6)", "TIMESTAMP"}, {"time(6)", "TIME"}, {"json", "JSON"},
	},
	"clickhouse": {
		{"Nullable(Int8)", "TINYINT"}, {"Nullable(UInt8)", "UTINYINT"}, {"Nullable(Int16)", "SMALLINT"}, {"Nullable(UInt16)", "USMALLINT"}, {"Nullable(Int32)", "INTEGER"},
		{"Nullable(UInt32)", "UINTEGER"}, {"Nullable(Int64)", "BIGINT"}, {"Nullable(UInt64)", "UBIGINT"}, {"Nullable(Decimal(%d, %d))", "DECIMAL(%d,%d)"},
		{"Nullable(Float32)", "FLOAT"}, {"Nullable(Float64)", "DOUBLE"}, {"Nullable(String)", "VARCHAR"}, {"LowCardinality(Nullable(String))", "VARCHAR"},
		{"Nullable(Date)", "DATE"}, {"Nullable(DateTime('UTC'))", "TIMESTAMPTZ"}, {"Nullable(UUID)", "UUID"}, {"Array(Int64)", "BIGINT[]"}, {"Array(String)", "VARCHAR[]"},
	},
	"sqlite": {
		{"BOOLEAN", "BOOLEAN"}, {"INTEGER", "BIGINT"}, {"DECIMAL_TEXT(%d,%d)", "DECIMAL(%d,%d)"}, {"DOUBLE", "DOUBLE"}, {"TEXT", "VARCHAR"}, {"BLOB", "BLOB"},
		{"DATE", "DATE"}, {"TIME", "TIME"}, {"DATETIME", "TIMESTAMP"}, {"TIMESTAMPTZ", "TIMESTAMPTZ"}, {"UUID_TEXT", "UUID"}, {"JSON_TEXT", "JSON"},
	},
	"duckdb": duckSpellings,
	"file":   duckSpellings,
	"s3":     duckSpellings,
}

var duckSpellings = []spelling{
	{"BOOLEAN", "BOOLEAN"}, {"TINYINT", "TINYINT"}, {"UTINYINT", "UTINYINT"}, {"SMALLINT", "SMALLINT"}, {"USMALLINT", "USMALLINT"}, {"INTEGER", "INTEGER"},
	{"UINTEGER", "UINTEGER"}, {"BIGINT", "BIGINT"}, {"UBIGINT", "UBIGINT"}, {"DECIMAL(%d,%d)", "DECIMAL(%d,%d)"}, {"FLOAT", "FLOAT"}, {"DOUBLE", "DOUBLE"},
	{"VARCHAR", "VARCHAR"}, {"BLOB", "BLOB"}, {"DATE", "DATE"}, {"TIME", "TIME"}, {"TIMESTAMP", "TIMESTAMP"}, {"TIMESTAMPTZ", "TIMESTAMPTZ"},
	{"UUID", "UUID"}, {"JSON", "JSON"}, {"BIGINT[]", "BIGINT[]"}, {"VARCHAR[]", "VARCHAR[]"},
}

// maker makes random values. narrow keeps them to what every version of every target
// holds: whole seconds of the years 1970 to 2105.
type maker struct {
	*rand.Rand
	narrow bool
	// doubles: decimals of 15 digits at most, no bytes and no documents, for a format that has numbers
	// and texts only.
	doubles bool
}

// columns are random columns of an engine, with rows values each.
func (m maker) columns(engine string, rows int) []*Column {
	all := spellings[engine]
	order := m.Perm(len(all))[:min(len(all), 10+m.IntN(5))]
	var cols []*Column
	for i, k := range order {
		s := all[k]
		if m.doubles && (s.want == "BLOB" || s.want == "JSON") {
			continue
		}
		c := &Column{Name: fmt.Sprintf("c%d", i), Native: s.native, Want: s.want}
		if strings.Contains(s.native, "%d") {
			p := 1 + m.IntN(38)
			if m.doubles {
				p = 1 + m.IntN(15)
			}
			scale := m.IntN(min(p, 30) + 1)
			c.Native, c.Want = fmt.Sprintf(s.native, p, scale), fmt.Sprintf(s.want, p, scale)
		}
		nulls := !strings.HasPrefix(c.Native, "Array") && !(m.narrow && strings.HasSuffix(c.Want, "[]"))
		for range rows {
			if nulls && m.IntN(8) == 0 {
				c.Values = append(c.Values, "NULL")
				continue
			}
			c.Values = append(c.Values, m.literal(engine, c))
		}
		c.Full = true
		cols = append(cols, c)
	}
	return cols
}

// literal is a random value in the engine's SQL.
func (m maker) literal(engine string, c *Column) string {
	t := c.Type()
	switch t.Kind {
	case connectors.Varchar:
		return textLiteral(engine)(m.text(20))
	case connectors.Blob:
		b := make([]byte, m.IntN(60))
		for i := range b {
			b[i] = byte(m.Uint32())
		}
		format := map[string]string{"postgres": `'\x%s'`, "mysql": "X'%s'", "sqlite": "X'%s'"}[engine]
		if format == "" {
			format = "unhex('%s')"
		}
		return fmt.Sprintf(format, hex.EncodeToString(b))
	case connectors.JSON:
		doc := fmt.Sprintf(`{"k": %d, "s": "%s", "l": [null, true, %s]}`, m.Int64(), strings.Map(jsonSafe, m.text(8)), m.float(64))
		if engine == "mysql" {
			return backslashed(doc)
		}
		return plain(doc)
	case connectors.List:
		return m.list(engine, *t.Elem)
	}
	text := m.scalar(t)
	if engine == "clickhouse" && t.Kind != connectors.UUID && t.Kind != connectors.Date && t.Kind != connectors.TimestampTZ ||
		engine == "sqlite" && (t.Kind == connectors.BigInt || t.Kind == connectors.Double || t.Kind == connectors.Boolean) {
		return text
	}
	if t.Kind == connectors.TimestampTZ && engine != "clickhouse" && engine != "mysql" {
		text += "+00"
	}
	return plain(text)
}

func jsonSafe(r rune) rune {
	if r < 0x20 || r == '"' || r == '\\' || r == 0x7f {
		return '_'
	}
	return r
}

func (m maker) list(engine string, elem connectors.Type) string {
	items := make([]string, m.IntN(5))
	for i := range items {
		if elem.Kind == connectors.BigInt {
			items[i] = strconv.FormatInt(m.bits(64), 10)
			continue
		}
		items[i] = strings.Map(jsonSafe, m.text(8))
		switch engine {
		case "postgres":
			items[i] = `"` + items[i] + `"`
		case "clickhouse":
			items[i] = backslashed(items[i])
		default:
			items[i] = plain(items[i])
		}
	}
	if engine == "postgres" {
		return plain("{" + strings.Join(items, ",") + "}")
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// bits is a signed number of at most n bits, of any magnitude.
func (m maker) bits(n int) int64 {
	v := int64(m.Uint64())
	return v >> (64 - n + m.IntN(n))
}

var unsignedBits = map[connectors.Kind]int{connectors.UTinyInt: 8, connectors.USmallInt: 16, connectors.UInteger: 32, connectors.UBigInt: 64}
var signedBits = map[connectors.Kind]int{connectors.TinyInt: 8, connectors.SmallInt: 16, connectors.Integer: 32, connectors.BigInt: 64}

func (m maker) scalar(t connectors.Type) string {
	if n := signedBits[t.Kind]; n > 0 {
		return strconv.FormatInt(m.bits(n), 10)
	}
	if n := unsignedBits[t.Kind]; n > 0 {
		return strconv.FormatUint(m.Uint64()>>(64-n+m.IntN(n)), 10)
	}
	switch t.Kind {
	case connectors.Boolean:
		return strconv.Itoa(m.IntN(2))
	case connectors.Decimal:
		return m.decimal(t.Precision, t.Scale)
	case connectors.Float:
		return m.float(32)
	case connectors.Double:
		return m.float(64)
	case connectors.Date:
		return m.moment().Format("2006-01-02")
	case connectors.Timestamp, connectors.TimestampTZ:
		return m.moment().Format("2006-01-02 15:04:05.999999")
	case connectors.Time:
		return m.moment().Format("15:04:05.999999")
	case connectors.TimeTZ:
		return m.moment().Format("15:04:05.999999") + fmt.Sprintf("%+03d:%02d", m.IntN(29)-14, m.IntN(4)*15)
	case connectors.Interval:
		return fmt.Sprintf("%d months %d days %d microseconds", m.IntN(2400)-1200, m.IntN(2000)-1000, m.Int64N(1e12)-5e11)
	case connectors.UUID:
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte(m.Uint32())
		}
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case connectors.Bit:
		s := make([]byte, 1+m.IntN(80))
		for i := range s {
			s[i] = '0' + byte(m.IntN(2))
		}
		return string(s)
	}
	panic("conformance: no random " + t.String())
}

func (m maker) decimal(precision, scale int) string {
	digits := make([]byte, precision)
	for i := range digits {
		digits[i] = '0'
	}
	for i := range 1 + m.IntN(precision) { // of any magnitude
		digits[precision-1-i] = '0' + byte(m.IntN(10))
	}
	s := string(digits[:precision-scale]) + "." + string(digits[precision-scale:])
	s = strings.TrimSuffix(strings.TrimLeft(s, "0"), ".")
	if s == "" || s[0] == '.' {
		s = "0" + s
	}
	if m.IntN(2) == 0 && strings.Trim(s, "0.") != "" {
		s = "-" + s
	}
	return s
}

// float is finite and not -0.
func (m maker) float(size int) string {
	for {
		f := math.Float64frombits(m.Uint64())
		if size == 32 {
			f = float64(math.Float32frombits(m.Uint32()))
		}
		if m.IntN(2) == 0 {
			f = float64(m.IntN(2000000)-1000000) / 64
		}
		if !math.IsNaN(f) && !math.IsInf(f, 0) && f != 0 && math.Abs(f) > 1e-300 {
			return strconv.FormatFloat(f, 'e', -1, 64)
		}
	}
}

func (m maker) moment() time.Time {
	if m.narrow {
		return time.Unix(86400+m.Int64N(4200000000), 0).UTC()
	}
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	return time.Unix(first+m.Int64N(last-first), int64(m.IntN(1000000))*1000).UTC()
}

var alphabet = []rune("abcXYZ019 _-.,;'\"`\\\t\n\r%$?{}ñßİéü€中文🎉\u0301\u200d\ufeff\u0001\u007f")

func (m maker) text(n int) string {
	s := make([]rune, m.IntN(n))
	for i := range s {
		s[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(s)
}
