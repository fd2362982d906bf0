package clickhouse

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	daySeconds = 86400
	// Old servers keep days and seconds beyond 2105 but show them as 1970.
	lastOldDay    = 49672
	lastOldSecond = lastOldDay*daySeconds + daySeconds - 1
	maxDay        = 1<<16 - 1 // what Date and DateTime can hold
	maxSecond     = 1<<32 - 1
	// What Date32 and DateTime64 show right.
	firstDay = -25567 // 1900-01-01
	lastDay  = 120529 // 2299-12-31
)

// infinite and infiniteDate tell DuckDB's ±infinity.
func infinite(v int64) bool     { return v == math.MaxInt64 || v == -math.MaxInt64 }
func infiniteDate(d int64) bool { return d == math.MaxInt32 || d == -math.MaxInt32 }

func infinityText(v int64) string {
	if v < 0 {
		return "-infinity"
	}
	return "infinity"
}

func dateFault(days int64, reason string) error {
	if infiniteDate(days) {
		return &valueFault{infinityText(days), reason}
	}
	return &valueFault{dateText(days), reason}
}

func dateText(days int64) string { return yearText(time.Unix(days*daySeconds, 0).UTC(), "-01-02") }

// yearText formats a time whose year may be beyond 9999 or before 1.
func yearText(t time.Time, layout string) string {
	y := t.Year()
	if y < 0 || y > 9999 {
		return fmt.Sprintf("%+05d", y) + t.Format(layout)
	}
	return fmt.Sprintf("%04d", y) + t.Format(layout)
}

func dateWriter(t *chType, typ connectors.Type, f *facts) oneFunc {
	if typ.Kind != connectors.Date {
		return nil
	}
	lo, hi := int64(firstDay), int64(lastDay)
	if t.name == "Date" {
		lo, hi = 0, maxDay
		if f.old() {
			hi = lastOldDay
		}
	}
	reason := fmt.Sprintf("%s holds %s to %s; column_types can make it String", t.name, dateText(lo), dateText(hi))
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		d := int64(arr.(*array.Date32).Value(i))
		if d < lo || d > hi {
			return dst, dateFault(d, reason)
		}
		if t.name == "Date" {
			return binary.LittleEndian.AppendUint16(dst, uint16(d)), nil
		}
		return binary.LittleEndian.AppendUint32(dst, uint32(int32(d))), nil
	}
}

// timeWriter writes time stamps as DateTime or DateTime64. Both count from 1970 in UTC,
// so instants stay instants and naive time stamps keep their digits.
func timeWriter(t *chType, typ connectors.Type, f *facts) oneFunc {
	from := 6
	switch typ.Kind {
	case connectors.Timestamp, connectors.TimestampTZ:
	case connectors.TimestampNS:
		from = 9
	default:
		return nil
	}
	to := t.prec // 0 for DateTime
	up, down := int64(math.Pow10(max(to-from, 0))), int64(math.Pow10(max(from-to, 0)))
	unit := int64(math.Pow10(to))
	lo, hi := int64(firstDay)*daySeconds, int64(lastDay)*daySeconds+daySeconds-1
	if t.name == "DateTime" {
		lo, hi = 0, maxSecond
		if f.old() {
			hi = lastOldSecond
		}
	}
	advice := "; column_types can make it String (ISO text) or Int64 (microseconds)"
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		v := int64(arr.(*array.Timestamp).Value(i))
		if infinite(v) {
			return dst, &valueFault{infinityText(v), t.text + " has no infinity" + advice}
		}
		if v%down != 0 {
			return dst, &valueFault{stampText(v, typ), t.text + " would cut its fraction of a second" + advice}
		}
		x := v / down
		over, _ := bits.Mul64(uint64(max(x, -x)), uint64(up))
		x *= up
		if over != 0 || floorDiv(x, unit) < lo || floorDiv(x, unit) > hi {
			return dst, &valueFault{stampText(v, typ), fmt.Sprintf("%s holds the years %d to %d%s", t.text, time.Unix(lo, 0).UTC().Year(), time.Unix(hi, 0).UTC().Year(), advice)}
		}
		if t.name == "DateTime" {
			return binary.LittleEndian.AppendUint32(dst, uint32(x)), nil
		}
		return binary.LittleEndian.AppendUint64(dst, uint64(x)), nil
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// stampText is the ISO 8601 text of a time stamp; instants end in Z.
func stampText(v int64, typ connectors.Type) string {
	perSecond := int64(1_000_000)
	if typ.Kind == connectors.TimestampNS {
		perSecond = 1_000_000_000
	}
	sec := floorDiv(v, perSecond)
	t := time.Unix(sec, (v-sec*perSecond)*(1_000_000_000/perSecond)).UTC()
	s := yearText(t, "-01-02T15:04:05.999999999")
	if typ.Kind == connectors.TimestampTZ {
		s += "Z"
	}
	return s
}

// timeText is hh:mm:ss with the fraction that there is; 24:00:00 exists.
func timeText(us int64) string {
	s := fmt.Sprintf("%02d:%02d:%02d", us/3_600_000_000, us/60_000_000%60, us/1_000_000%60)
	if f := us % 1_000_000; f != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%06d", f), "0")
	}
	return s
}

// timeTZText reads DuckDB's bits: micros<<24 | (57599 - offset seconds).
func timeTZText(v uint64) string {
	off := 57599 - int64(v&0xffffff)
	sign := "+"
	if off < 0 {
		sign, off = "-", -off
	}
	s := timeText(int64(v>>24)) + fmt.Sprintf("%s%02d:%02d", sign, off/3600, off/60%60)
	if off%60 != 0 {
		s += fmt.Sprintf(":%02d", off%60)
	}
	return s
}

// intervalText spells an interval as DuckDB does.
func intervalText(v arrow.MonthDayNanoInterval) string {
	var parts []string
	add := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if n != 1 && n != -1 {
			unit += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, unit))
	}
	add(int64(v.Months/12), "year")
	add(int64(v.Months%12), "month")
	add(int64(v.Days), "day")
	if v.Nanoseconds != 0 || len(parts) == 0 {
		us, sign := v.Nanoseconds/1000, ""
		if us < 0 {
			us, sign = -us, "-"
		}
		parts = append(parts, sign+timeText(us))
	}
	return strings.Join(parts, " ")
}

// textWriter writes any scalar as String: text and bytes as they are, numbers in
// decimal, times in ISO 8601.
func textWriter(typ connectors.Type) oneFunc {
	var text func(arr arrow.Array, i int) string
	switch k := typ.Kind; {
	case isText(k) || k == connectors.Blob:
		return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
			v := textValue(arr, i)
			dst = binary.AppendUvarint(dst, uint64(len(v)))
			return append(dst, v...), nil
		}
	case isInteger(k):
		text = func(arr arrow.Array, i int) string { return intValue(arr, i).String() }
	case k == connectors.Decimal:
		text = func(arr arrow.Array, i int) string {
			return arr.(*array.Decimal128).Value(i).ToString(int32(typ.Scale))
		}
	case k == connectors.Boolean:
		text = func(arr arrow.Array, i int) string { return fmt.Sprint(arr.(*array.Boolean).Value(i)) }
	case k == connectors.Float:
		text = func(arr arrow.Array, i int) string { return formatFloat(float64(arr.(*array.Float32).Value(i)), 32) }
	case k == connectors.Double:
		text = func(arr arrow.Array, i int) string { return formatFloat(arr.(*array.Float64).Value(i), 64) }
	default:
		text = timesAsText(typ)
	}
	if text == nil {
		return nil
	}
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		s := text(arr, i)
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		return append(dst, s...), nil
	}
}

func timesAsText(typ connectors.Type) func(arr arrow.Array, i int) string {
	switch typ.Kind {
	case connectors.Date:
		return func(arr arrow.Array, i int) string {
			d := int64(arr.(*array.Date32).Value(i))
			if infiniteDate(d) {
				return infinityText(d)
			}
			return dateText(d)
		}
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		return func(arr arrow.Array, i int) string {
			v := int64(arr.(*array.Timestamp).Value(i))
			if infinite(v) {
				return infinityText(v)
			}
			return stampText(v, typ)
		}
	case connectors.Time:
		return func(arr arrow.Array, i int) string { return timeText(int64(arr.(*array.Time64).Value(i))) }
	case connectors.TimeTZ:
		return func(arr arrow.Array, i int) string { return timeTZText(arr.(*array.Uint64).Value(i)) }
	case connectors.Interval:
		return func(arr arrow.Array, i int) string {
			return intervalText(arr.(*array.MonthDayNanoInterval).Value(i))
		}
	case connectors.UUID:
		return func(arr arrow.Array, i int) string {
			h := hex.EncodeToString(arr.(*array.FixedSizeBinary).Value(i))
			return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
		}
	}
	return nil
}
