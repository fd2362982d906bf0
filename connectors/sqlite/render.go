package sqlite

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// Days that a text of four-digit years can name.
const (
	minDay = -719528 // 0000-01-01
	maxDay = 2932896 // 9999-12-31
)

// decimalText spells an unscaled decimal: (12345, 2) is 123.45.
func decimalText(unscaled *big.Int, scale int) string {
	s := new(big.Int).Abs(unscaled).String()
	if scale > 0 {
		if len(s) <= scale {
			s = strings.Repeat("0", scale+1-len(s)) + s
		}
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if unscaled.Sign() < 0 {
		return "-" + s
	}
	return s
}

// appendDecimal writes what decimalText gives.
func appendDecimal(buf []byte, unscaled int64, scale int) []byte {
	m := uint64(unscaled)
	if unscaled < 0 {
		buf, m = append(buf, '-'), -m
	}
	var digits [64]byte // 20 of the number, 38 of the scale and a point at most
	at := len(digits)
	for n := 0; m > 0 || n <= scale; n++ {
		if n == scale && scale > 0 {
			at--
			digits[at] = '.'
		}
		at--
		digits[at] = byte('0' + m%10)
		m /= 10
	}
	return append(buf, digits[at:]...)
}

func dayName(days int64) string {
	switch {
	case days >= math.MaxInt32:
		return "infinity"
	case days <= -math.MaxInt32:
		return "-infinity"
	}
	return time.Unix(0, 0).UTC().AddDate(0, 0, int(days)).Format("2006-01-02")
}

func stampName(us int64) string {
	switch {
	case us == math.MaxInt64:
		return "infinity"
	case us == -math.MaxInt64:
		return "-infinity"
	}
	return time.UnixMicro(us).UTC().Format("2006-01-02 15:04:05.999999")
}

// appendClock writes HH:MM:SS and, if there is any, a fraction of digits digits.
func appendClock(buf []byte, seconds, fraction int64, digits int) []byte {
	buf = fmt.Appendf(buf, "%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	if fraction != 0 {
		buf = fmt.Appendf(buf, ".%0*d", digits, fraction)
	}
	return buf
}

func appendNanos(buf []byte, ns int64) []byte {
	t := time.Unix(0, ns).UTC()
	buf = t.AppendFormat(buf, "2006-01-02 ")
	return appendClock(buf, int64(t.Hour()*3600+t.Minute()*60+t.Second()), int64(t.Nanosecond()), 9)
}

func appendMicros(buf []byte, us int64) []byte { return appendClock(buf, us/1e6, us%1e6, 6) }

// appendInterval spells an interval as DuckDB does: 1 year 2 months 3 days 04:05:06.
func appendInterval(buf []byte, v arrow.MonthDayNanoInterval) []byte {
	start := len(buf)
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(buf) > start {
			buf = append(buf, ' ')
		}
		buf = append(strconv.AppendInt(buf, n, 10), " "+unit...)
		if n != 1 && n != -1 {
			buf = append(buf, 's')
		}
	}
	part(int64(v.Months/12), "year")
	part(int64(v.Months%12), "month")
	part(int64(v.Days), "day")
	if v.Nanoseconds == 0 && len(buf) > start {
		return buf
	}
	if len(buf) > start {
		buf = append(buf, ' ')
	}
	us := v.Nanoseconds / 1000
	if us < 0 {
		buf = append(buf, '-')
		us = -us
	}
	return appendMicros(buf, us)
}

// appendTimeTZ reads DuckDB's own bits: µs, and an offset counted down from 57599 s.
func appendTimeTZ(buf []byte, bits uint64) []byte {
	buf = appendMicros(buf, int64(bits>>24))
	offset := 57599 - int64(bits&0xffffff)
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	buf = fmt.Appendf(append(buf, sign), "%02d:%02d", offset/3600, offset/60%60)
	if offset%60 != 0 {
		buf = fmt.Appendf(buf, ":%02d", offset%60)
	}
	return buf
}

// appendText spells the value of a type that SQLite holds as text.
func appendText(buf []byte, t connectors.Type, arr arrow.Array, i int) (out []byte, reason string) {
	switch a := arr.(type) {
	case *array.Time64:
		return appendMicros(buf, int64(a.Value(i))), ""
	case *array.MonthDayNanoInterval:
		return appendInterval(buf, a.Value(i)), ""
	case *array.Uint64:
		return appendTimeTZ(buf, a.Value(i)), ""
	case *array.List, *array.Struct, *array.Map:
		return appendJSON(buf, t, arr, i)
	}
	return buf, "sqlite has no text for it"
}

// appendJSON writes a nested value: numbers with all their digits, texts for what JSON
// has no type for, base64 for blobs.
func appendJSON(buf []byte, t connectors.Type, arr arrow.Array, i int) (out []byte, reason string) {
	if arr.IsNull(i) {
		return append(buf, "null"...), ""
	}
	switch a := arr.(type) {
	case *array.Boolean:
		return strconv.AppendBool(buf, a.Value(i)), ""
	case *array.Float32:
		return appendNumber(buf, float64(a.Value(i)), 32)
	case *array.Float64:
		return appendNumber(buf, a.Value(i), 64)
	case *array.Decimal128:
		return append(buf, decimalText(a.Value(i).BigInt(), t.Scale)...), ""
	case *array.String:
		if t.Kind == connectors.JSON {
			return append(buf, a.Value(i)...), ""
		}
		return appendString(buf, a.Value(i)), ""
	case *array.Binary:
		return appendString(buf, base64.StdEncoding.EncodeToString(a.Value(i))), ""
	case *array.FixedSizeBinary:
		u := a.Value(i)
		return fmt.Appendf(buf, `"%x-%x-%x-%x-%x"`, u[:4], u[4:6], u[6:8], u[8:10], u[10:]), ""
	case *array.Date32:
		return appendString(buf, dayName(int64(a.Value(i)))), ""
	case *array.Timestamp:
		switch t.Kind {
		case connectors.TimestampNS:
			return appendString(buf, string(appendNanos(nil, int64(a.Value(i))))), ""
		case connectors.TimestampTZ:
			return appendString(buf, stampName(int64(a.Value(i)))+"+00:00"), ""
		}
		return appendString(buf, stampName(int64(a.Value(i)))), ""
	case *array.List:
		from, to := a.ValueOffsets(i)
		return appendItems(append(buf, '['), ']', int(to-from), func(buf []byte, k int) ([]byte, string) {
			return appendJSON(buf, *t.Elem, a.ListValues(), int(from)+k)
		})
	case *array.Struct:
		return appendItems(append(buf, '{'), '}', a.NumField(), func(buf []byte, k int) ([]byte, string) {
			return appendJSON(append(appendString(buf, t.Fields[k].Name), ':'), t.Fields[k].Type, a.Field(k), i)
		})
	case *array.Map:
		return appendMap(buf, t, a, i)
	case *array.Uint64:
		if t.Kind == connectors.UBigInt {
			return strconv.AppendUint(buf, a.Value(i), 10), ""
		}
	}
	switch t.Kind {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger:
		return append(buf, arr.ValueStr(i)...), ""
	}
	text, reason := appendText(nil, t, arr, i)
	return appendString(buf, string(text)), reason
}

func appendItems(buf []byte, end byte, n int, item func([]byte, int) ([]byte, string)) ([]byte, string) {
	for k := range n {
		if k > 0 {
			buf = append(buf, ',')
		}
		var reason string
		if buf, reason = item(buf, k); reason != "" {
			return buf, reason
		}
	}
	return append(buf, end), ""
}

// appendMap writes an object for text keys, else a list of pairs.
func appendMap(buf []byte, t connectors.Type, a *array.Map, i int) ([]byte, string) {
	from, to := a.ValueOffsets(i)
	n := int(to - from)
	if t.Fields[0].Type.Kind == connectors.Varchar {
		return appendItems(append(buf, '{'), '}', n, func(buf []byte, k int) ([]byte, string) {
			buf, _ = appendJSON(buf, t.Fields[0].Type, a.Keys(), int(from)+k)
			return appendJSON(append(buf, ':'), t.Fields[1].Type, a.Items(), int(from)+k)
		})
	}
	return appendItems(append(buf, '['), ']', n, func(buf []byte, k int) ([]byte, string) {
		buf, reason := appendJSON(append(buf, `{"key":`...), t.Fields[0].Type, a.Keys(), int(from)+k)
		if reason != "" {
			return buf, reason
		}
		buf, reason = appendJSON(append(buf, `,"value":`...), t.Fields[1].Type, a.Items(), int(from)+k)
		return append(buf, '}'), reason
	})
}

func appendNumber(buf []byte, f float64, bits int) ([]byte, string) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return buf, "JSON has no NaN and no infinity"
	}
	return strconv.AppendFloat(buf, f, 'g', -1, bits), ""
}

// appendString quotes for JSON; nothing is escaped for HTML.
func appendString(buf []byte, s string) []byte {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return append(buf, strings.TrimSuffix(b.String(), "\n")...)
}
