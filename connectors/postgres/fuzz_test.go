package postgres

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// nastyTexts differ where engines compare text differently: case, accents, padding,
// digraphs, order by collation or by bytes, characters of LIKE.
var nastyTexts = []string{"", "a", "A", "ab", "aB", "AB", "á", "Á", "a ", " a", "b%", "b_", `b\x`, `b\`, `\`, "it's", `"q"`, "zz", "ss", "ß", "İ", "i", "I",
	"k", "K", "\u212a", "ch", "cz", "Ch", "日本", "a\t", "~", "_", "É", "é", "e\u0301", "-a", "a-b", "ab ", "Z", "z", "10", "9", "5", "\U0001F600", "a\nb", "a  "}

var nastyDays = []string{"2024-01-01", "2024-01-02", "2024-01-03", "2023-12-31", "2024-02-29", "1999-12-31", "0999-05-05", "1969-12-31", "9999-12-31", "0001-01-01", "infinity", "-infinity"}
var nastyClocks = []string{"00:00:00", "00:00:00.000001", "12:00:00", "23:59:59.999999", "10:30:00.5"}

// fuzzer makes random values and predicates.
type fuzzer struct{ *rand.Rand }

func (f fuzzer) pick(list ...string) string { return list[f.IntN(len(list))] }

func (f fuzzer) instant() string {
	day := f.pick(nastyDays...)
	if strings.HasSuffix(day, "infinity") {
		return day
	}
	return day + " " + f.pick(nastyClocks...)
}

// fuzzColumns are the columns of the source with their values, in PostgreSQL's spelling.
func fuzzColumns(f fuzzer) []struct {
	name, decl string
	value      func() string
} {
	text := func() string { return f.pick(nastyTexts...) }
	short := func() string {
		for {
			if s := text(); len([]rune(s)) <= 4 {
				return s
			}
		}
	}
	from := func(list ...string) func() string { return func() string { return f.pick(list...) } }
	return []struct {
		name, decl string
		value      func() string
	}{
		{"s", "text", text},
		{"s c", `text COLLATE "C"`, text},
		{"si", `text COLLATE "en-US-x-icu"`, text},
		{"sn", `text COLLATE nd`, text},
		{"v", "varchar(20)", text},
		{"c", "char(4)", short},
		{"cn", "char(4) COLLATE nd", short},
		{"cd", "padded", short},
		{"nm", "name", func() string { return text() + f.pick("", strings.Repeat("x", 70)) }},
		{"ci", "citext", text},
		{"e", "mood", from("sad", "very happy", "it's")},
		{"dm", "email", func() string { return text() + "@" }},
		{"p", "pair", from("(,)", "(1,)", "(1,a)", "(,b)")},
		{"ip", "inet", from("10.0.0.1", "10.0.0.1/8", "::1")},
		{"n", "integer", from("0", "1", "2", "-1", "-2", "2147483647")},
		{"n2", "smallint", from("0", "1", "2", "-1", "32767")},
		{"n8", "bigint", from("0", "1", "3", "9007199254740993", "-9223372036854775808", "9223372036854775807")},
		{"u", "numeric(20,0)", from("0", "1", "18446744073709551615", "9223372036854775808")},
		{"d9", "numeric(9,2)", from("0", "1.5", "-2.25", "3.33", "2.50", "12.34", "12.35", "1")},
		{"nu", "numeric", from("0", "1.5", "-2.250", "3.333", "12.34", "12.345")},
		{"h", "numeric(39,0)", from("0", "-1", "170141183460469231731687303715884105727")},
		{"f", "float8", from("NaN", "Infinity", "-Infinity", "0", "-0", "1.5", "0.1", "1e300", "16777217")},
		{"f4", "real", from("NaN", "Infinity", "-Infinity", "0", "-0", "0.1", "1.5", "16777216")},
		{"d", "date", from(nastyDays...)},
		{"ts", "timestamp", f.instant},
		{"tz", "timestamptz", func() string {
			s := f.instant()
			if strings.HasSuffix(s, "infinity") {
				return s
			}
			return s + f.pick("+00", "+02", "-05")
		}},
		{"tm", "time", from("00:00:00", "24:00:00", "12:00:00", "23:59:59.999999")},
		{"b", "boolean", from("true", "false")},
		{"id2", "uuid", from("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "80000000-0000-0000-0000-000000000000", "7fffffff-ffff-ffff-ffff-ffffffffffff")},
		{"j", "json", from("{}", "[1]", "null")},
		{"a", "integer[]", from("{}", "{1}", "{NULL}")},
	}
}

// value is a random constant to compare a column of type t with.
func (f fuzzer) value(t connectors.Type) connectors.Value {
	parse := func(typ connectors.Type, s string) connectors.Value {
		v := connectors.Value{Type: typ}
		neg, digits := strings.HasPrefix(s, "-"), strings.TrimPrefix(s, "-")
		before, after, _ := strings.Cut(digits, ".")
		v.Int, _ = new(big.Int).SetString(before+after, 10)
		if neg {
			v.Int.Neg(v.Int)
		}
		return v
	}
	switch t.Kind {
	case connectors.Varchar:
		s := f.pick(nastyTexts...)
		if f.IntN(6) == 0 {
			s += f.pick(nastyTexts...)
		}
		s = f.pick(s, s, s, s+"@", strings.Repeat("x", 70), "sad", "(,)", "10.0.0.1", s+strings.Repeat("x", 70))
		return connectors.Value{Type: t, Text: s}
	case connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt, connectors.Decimal:
		switch f.IntN(4) {
		case 0:
			return parse(connectors.Dec(5, 2), f.pick("1.50", "2.50", "-2.25", "12.34", "0.00", "3.33"))
		case 1:
			return parse(connectors.T(connectors.HugeInt), f.pick("18446744073709551615", "-9223372036854775809", "0", "2147483648"))
		case 2:
			if t.Kind == connectors.SmallInt || t.Kind == connectors.Integer {
				return connectors.Value{Type: connectors.T(connectors.Double), Float: []float64{0, 1, 1.5, math.NaN(), math.Inf(1), 1e300}[f.IntN(6)]}
			}
		}
		return parse(connectors.T(connectors.Integer), f.pick("0", "1", "2", "-1", "3"))
	case connectors.Float, connectors.Double:
		v := connectors.Value{Type: connectors.T(connectors.Double), Float: []float64{0, math.Copysign(0, -1), 1.5, 0.1, math.NaN(), math.Inf(1), math.Inf(-1), 16777217, 1e300}[f.IntN(9)]}
		if t.Kind == connectors.Float && f.IntN(2) == 0 {
			v.Type, v.Float = t, float64(float32(v.Float))
		}
		if f.IntN(5) == 0 {
			return parse(connectors.T(connectors.Integer), f.pick("0", "1", "16777216"))
		}
		return v
	case connectors.Boolean:
		return parse(t, f.pick("0", "1"))
	case connectors.Date:
		day := []int64{19723, 19724, -1, 0, 2932896, -719162, math.MaxInt32, -math.MaxInt32, -354567, 3000000, -800000}
		return connectors.Value{Type: t, Int: big.NewInt(day[f.IntN(len(day))])}
	case connectors.Timestamp, connectors.TimestampTZ:
		us := []int64{19723 * dayMicros, 19724*dayMicros + 43200000000, 19725*dayMicros - 1, 1, -1, math.MaxInt64, -math.MaxInt64, (maxDay+1)*dayMicros - 1, (maxDay + 2) * dayMicros}
		return connectors.Value{Type: t, Int: big.NewInt(us[f.IntN(len(us))])}
	case connectors.Time:
		return connectors.Value{Type: t, Int: big.NewInt([]int64{0, dayMicros, 43200000000, dayMicros - 1}[f.IntN(4)])}
	case connectors.UUID:
		return connectors.Value{Type: t, Text: f.pick("00000000-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000001")}
	}
	return connectors.Value{Type: connectors.T(connectors.Varchar), Text: "{}"}
}

func (f fuzzer) leaf(t *connectors.Table) *connectors.Pred {
	p := &connectors.Pred{Col: 1 + f.IntN(len(t.Columns)-1), Neg: f.IntN(2) == 0}
	typ := t.Columns[p.Col].Type
	switch n := f.IntN(12); {
	case n == 0:
		p.Kind = connectors.PNull
	case n < 3:
		p.Kind = connectors.PIn
		first := f.value(typ)
		for p.Vals = append(p.Vals, first); len(p.Vals) < 3; {
			if v := f.value(typ); v.Type.Equal(first.Type) {
				p.Vals = append(p.Vals, v)
			}
		}
	case n < 5 && typ.Kind == connectors.Varchar:
		p.Kind = connectors.PLike
		p.Op = f.pick("like", "prefix", "suffix", "contains")
		pattern := f.pick("a%", "%a", "%b%", "_", "a_", "%", "", `b\%`, `%\%`, "A%", "%é%", "b_", `%\x`, "ß%", "日_", "a", "é", " ", `\`, "'", "__", "%_%")
		p.Vals = []connectors.Value{{Type: typ, Text: pattern}}
	case typ.Kind == connectors.Boolean && n < 9:
		p.Kind = connectors.PBool
	case n == 9:
		for range 50 {
			if p.Col2 = 1 + f.IntN(len(t.Columns)-1); p.Col2 != p.Col && t.Columns[p.Col2].Type.Equal(typ) {
				p.Kind, p.Op = connectors.PColCmp, f.pick("=", "<>", "<", "<=", ">", ">=")
				return p
			}
		}
		fallthrough
	default:
		p.Kind, p.Op, p.Vals = connectors.PCmp, f.pick("=", "<>", "<", "<=", ">", ">="), []connectors.Value{f.value(typ)}
	}
	return p
}

func (f fuzzer) pred(t *connectors.Table, depth int) *connectors.Pred {
	if depth == 0 || f.IntN(5) < 2 {
		return f.leaf(t)
	}
	p := &connectors.Pred{Kind: connectors.PAnd}
	if f.IntN(2) == 0 {
		p.Kind = connectors.POr
	}
	for range 2 + f.IntN(2) {
		p.Kids = append(p.Kids, f.pred(t, depth-1))
	}
	return p
}
