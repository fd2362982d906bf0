package mysql

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// field is how the values of one column are written into a statement or a stream.
type field struct {
	t *target
	// wrap is the expression that turns the written text into the value, with %s for
	// the text; "" = the text itself. LOAD DATA reads such a column into a variable.
	wrap string
	// escape: the text may hold bytes that the statement or stream reads as signs.
	escape bool
	// bind returns what appends the text of row i of arr. A reason other than "" says
	// that the target cannot hold the value.
	bind func(arr arrow.Array) func(b []byte, i int) (out []byte, reason string)
}

// Instants that a TIMESTAMP column holds: 0 itself is its zero date.
const (
	minInstant = 1 * secMicros
	maxInstant = (1<<31)*secMicros - 1
)

func newField(t *target) (*field, error) {
	f := &field{t: t}
	k := t.col.Type.Kind
	switch k {
	case connectors.Boolean:
		f.bind = bindBool("1", "0")
		switch {
		case t.nat.base == "bit":
			f.wrap = "CAST(%s AS UNSIGNED)"
		case isCharacter(t.nat.base):
			f.bind = bindBool("true", "false") // as text, what every engine calls it
		}
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		f.bind = bindInteger
		switch t.nat.base {
		case "bit":
			f.wrap = "CAST(%s AS UNSIGNED)" // the text '5' is the bits of the character 5
		case "year":
			f.bind = bindYear
		}
	case connectors.HugeInt:
		f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) { return bindDecimal(arr, 0) }
	case connectors.Decimal:
		f.bind = func(arr arrow.Array) func([]byte, int) ([]byte, string) { return bindDecimal(arr, t.col.Type.Scale) }
	case connectors.Float:
		f.bind = bindFloat
	case connectors.Double:
		f.bind = bindDouble
	case connectors.Varchar, connectors.JSON, connectors.Bit:
		f.escape = true
		f.bind = t.bindText
	case connectors.Blob:
		f.wrap = "UNHEX(%s)"
		f.bind = t.bindBlob
	case connectors.Date:
		f.bind = bindDate
	case connectors.Time:
		f.bind = t.bindTime
	case connectors.TimeTZ:
		f.bind = bindTimeTZ
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		f.bind = t.bindTimestamp
	case connectors.Interval:
		f.bind = bindInterval
	case connectors.UUID:
		f.bind = bindUUID
	case connectors.List, connectors.Struct, connectors.Map:
		f.escape = true
		f.bind = t.bindNested
	default:
		return nil, &connectors.TypeError{Column: t.col.Name, Native: t.col.Type.String(), Reason: "dvt cannot write it"}
	}
	if t.depth > 0 {
		f.nested()
	}
	if t.chosen {
		f.narrow()
	}
	return f, nil
}

func bindBool(yes, no string) func(arrow.Array) func([]byte, int) ([]byte, string) {
	return func(arr arrow.Array) func([]byte, int) ([]byte, string) {
		a := arr.(*array.Boolean)
		return func(b []byte, i int) ([]byte, string) {
			if a.Value(i) {
				return append(b, yes...), ""
			}
			return append(b, no...), ""
		}
	}
}

func bindInteger(arr arrow.Array) func([]byte, int) ([]byte, string) {
	switch a := arr.(type) {
	case *array.Int8:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendInt(b, int64(a.Value(i)), 10), "" }
	case *array.Int16:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendInt(b, int64(a.Value(i)), 10), "" }
	case *array.Int32:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendInt(b, int64(a.Value(i)), 10), "" }
	case *array.Int64:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendInt(b, a.Value(i), 10), "" }
	case *array.Uint8:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendUint(b, uint64(a.Value(i)), 10), "" }
	case *array.Uint16:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendUint(b, uint64(a.Value(i)), 10), "" }
	case *array.Uint32:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendUint(b, uint64(a.Value(i)), 10), "" }
	case *array.Uint64:
		return func(b []byte, i int) ([]byte, string) { return strconv.AppendUint(b, a.Value(i), 10), "" }
	}
	panic(fmt.Sprintf("mysql: %T is not an integer array", arr))
}

// bindYear writes four digits: the text '0' is the year 2000, '0000' is 0.
func bindYear(arr arrow.Array) func([]byte, int) ([]byte, string) {
	put := bindInteger(arr)
	return func(b []byte, i int) ([]byte, string) {
		var buf [20]byte
		t, _ := put(buf[:0], i)
		n, err := strconv.Atoi(string(t))
		if err != nil || n != 0 && (n < 1901 || n > 2155) {
			return b, "is outside the years 1901 to 2155"
		}
		return digits(b, int64(n), 4), ""
	}
}

func bindDecimal(arr arrow.Array, scale int) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Decimal128)
	return func(b []byte, i int) ([]byte, string) { return appendDecimal(b, a.Value(i), scale), "" }
}

func appendDecimal(b []byte, v decimal128.Num, scale int) []byte {
	if v.HighBits() == int64(v.LowBits())>>63 {
		n := v.LowBits()
		if v.Sign() < 0 {
			b = append(b, '-')
			n = -n
		}
		b = strconv.AppendUint(b, n, 10)
		return placePoint(b, len(b)-uintLen(n), scale)
	}
	s := v.BigInt().String()
	if s[0] == '-' {
		b, s = append(b, '-'), s[1:]
	}
	b = append(b, s...)
	return placePoint(b, len(b)-len(s), scale)
}

func uintLen(n uint64) int {
	l := 1
	for n >= 10 {
		n /= 10
		l++
	}
	return l
}

// placePoint puts the decimal point into the digits b[from:].
func placePoint(b []byte, from, scale int) []byte {
	if scale <= 0 {
		return b
	}
	n := len(b) - from
	for ; n <= scale; n++ { // at least one digit before the point
		b = append(b, 0)
		copy(b[from+1:], b[from:])
		b[from] = '0'
	}
	at := len(b) - scale
	b = append(b, 0)
	copy(b[at+1:], b[at:])
	b[at] = '.'
	return b
}

const notFinite = "has no counterpart here: NaN and infinity are unknown to the engine"

// bindFloat writes the shortest text of the float64 that equals the value: the engine
// reads a double first, and the shortest text of a float32 would be rounded twice.
func bindFloat(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Float32)
	return func(b []byte, i int) ([]byte, string) { return appendFloat(b, float64(a.Value(i))) }
}

func bindDouble(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Float64)
	return func(b []byte, i int) ([]byte, string) { return appendFloat(b, a.Value(i)) }
}

func appendFloat(b []byte, f float64) ([]byte, string) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, notFinite
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64), ""
}

func (t *target) bindText(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.String)
	if t.chars == 0 && t.labels == nil {
		return func(b []byte, i int) ([]byte, string) { return append(b, a.Value(i)...), "" }
	}
	return func(b []byte, i int) ([]byte, string) {
		s := a.Value(i)
		switch {
		case t.labels != nil && !t.hasLabel(s):
			return b, "is no value of " + t.ddl
		case t.chars > 0 && len(s) > t.chars && utf8.RuneCountInString(s) > t.chars:
			return b, fmt.Sprintf("is longer than the %d characters of %s: give the column a longer type by column_types", t.chars, t.ddl)
		case t.nat.base == "char" && strings.HasSuffix(s, " "):
			return b, "ends in a space, which " + t.ddl + " does not keep"
		}
		return append(b, s...), ""
	}
}

// hasLabel keeps a number from being taken for the position of a label.
func (t *target) hasLabel(s string) bool {
	if t.nat.base == "enum" || s == "" {
		return t.labels[s] || s == "" && t.nat.base == "set"
	}
	for _, part := range strings.Split(s, ",") {
		if !t.labels[part] {
			return false
		}
	}
	return true
}

func (t *target) bindBlob(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Binary)
	size := -1
	if t.nat.base == "binary" {
		size = t.nat.arg(0, 1)
	}
	return func(b []byte, i int) ([]byte, string) {
		v := a.Value(i)
		if size >= 0 && len(v) != size {
			return b, fmt.Sprintf("has %d bytes, %s holds exactly %d", len(v), t.ddl, size)
		}
		return hex.AppendEncode(b, v), ""
	}
}

const badDate = "is outside the years 0000 to 9999 that the engine's dates have"

var firstDay = daysOf(0, 1, 1)

func bindDate(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Date32)
	return func(b []byte, i int) ([]byte, string) {
		d := int64(a.Value(i))
		if d < firstDay || d > maxDay {
			return b, badDate
		}
		return appendDate(b, d), ""
	}
}

// fraction reports whether us has more fractional digits than the target, which would
// cut them off without a word.
func (t *target) fraction(us int64) bool {
	step := int64(1)
	switch t.nat.base {
	case "datetime", "timestamp", "time":
		for n := t.nat.arg(0, 0); n < 6; n++ {
			step *= 10
		}
	}
	return us%step != 0
}

func (t *target) bindTime(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Time64)
	return func(b []byte, i int) ([]byte, string) {
		us := int64(a.Value(i))
		if t.fraction(us) {
			return b, "has more fractional digits than " + t.ddl
		}
		return appendTime(b, us), ""
	}
}

// bindTimeTZ writes the local time and its offset: +hh:mm[:ss].
func bindTimeTZ(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Uint64)
	return func(b []byte, i int) ([]byte, string) {
		v := a.Value(i)
		off := 57599 - int64(v&(1<<24-1))
		b = appendTime(b, int64(v>>24))
		sign := byte('+')
		if off < 0 {
			sign, off = '-', -off
		}
		b = digits(append(b, sign), off/3600, 2)
		b = digits(append(b, ':'), off/60%60, 2)
		if off%60 != 0 {
			b = digits(append(b, ':'), off%60, 2)
		}
		return b, ""
	}
}

func (t *target) bindTimestamp(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.Timestamp)
	nanos := t.col.Type.Kind == connectors.TimestampNS
	instant := t.nat.base == "timestamp"
	return func(b []byte, i int) ([]byte, string) {
		us := int64(a.Value(i))
		if nanos {
			if us%1000 != 0 {
				return b, "has nanoseconds, the engine keeps microseconds"
			}
			us /= 1000
		}
		switch {
		case us < firstDay*dayMicros || us >= (maxDay+1)*dayMicros:
			return b, badDate
		case instant && (us < minInstant || us > maxInstant):
			return b, "is outside 1970-01-01 00:00:01 to 2038-01-19 03:14:07 UTC, which a timestamp holds: set column_types to datetime(6)"
		case t.fraction(us):
			return b, "has more fractional digits than " + t.ddl
		}
		return appendTimestamp(b, us), ""
	}
}

// bindInterval spells an interval as DuckDB prints it.
func bindInterval(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.MonthDayNanoInterval)
	return func(b []byte, i int) ([]byte, string) { return appendInterval(b, a.Value(i)), "" }
}

func appendInterval(b []byte, v arrow.MonthDayNanoInterval) []byte {
	from := len(b)
	unit := func(n int64, name string) {
		if n == 0 {
			return
		}
		if len(b) > from {
			b = append(b, ' ')
		}
		b = append(strconv.AppendInt(b, n, 10), ' ')
		b = append(b, name...)
		if n != 1 && n != -1 {
			b = append(b, 's')
		}
	}
	unit(int64(v.Months/12), "year")
	unit(int64(v.Months%12), "month")
	unit(int64(v.Days), "day")
	us := v.Nanoseconds / 1000
	if us == 0 && len(b) > from {
		return b
	}
	if len(b) > from {
		b = append(b, ' ')
	}
	if us < 0 {
		b, us = append(b, '-'), -us
	}
	b = appendTime(b, us)
	if us%secMicros == 0 {
		return b[:len(b)-7]
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

func bindUUID(arr arrow.Array) func([]byte, int) ([]byte, string) {
	a := arr.(*array.FixedSizeBinary)
	return func(b []byte, i int) ([]byte, string) { return appendUUID(b, a.Value(i)), "" }
}

func appendUUID(b, u []byte) []byte {
	for i, part := range [5][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}
