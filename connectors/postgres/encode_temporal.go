package postgres

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// What PostgreSQL's dates and timestamps hold, counted from 1970-01-01: 4713-11-24 BC to
// 5874897-12-31, and the same first day to the end of 294276 (past what Arrow counts).
const (
	firstDay       = -2440588
	lastDay        = 2145042905
	firstTimestamp = firstDay * dayMicros
)

func encodeTemporal(t connectors.Type, info typeInfo) binder {
	switch t.Kind {
	case connectors.Date:
		if info.oid == oidDate {
			return encodeDate
		}
	case connectors.Time:
		if info.oid == oidTime {
			return encodeTime(fraction(info.typmod))
		}
	case connectors.TimeTZ:
		if info.oid == oidTimeTZ {
			return encodeTimeTZ(fraction(info.typmod))
		}
	case connectors.Timestamp, connectors.TimestampTZ, connectors.TimestampNS:
		// A naive timestamp keeps its digits, an instant its UTC digits, in either type.
		if info.oid == oidTimestamp || info.oid == oidTimestampTZ {
			return encodeTimestamp(t.Kind == connectors.TimestampNS, fraction(info.typmod))
		}
	case connectors.Interval:
		if info.oid == oidInterval {
			return encodeInterval(intervalUnit(info.typmod))
		}
	}
	return nil
}

// fraction is the microseconds of the last digit that a type modifier keeps. The server
// rounds to it without a word.
func fraction(typmod int32) int64 {
	if typmod < 0 || typmod >= 6 {
		return 1
	}
	return int64(pow10[6-typmod].lo)
}

const tooFine = "it has more digits of a second than the target's type keeps"

func encodeDate(a arrow.Array) appendFunc {
	v := a.(*array.Date32)
	return func(b []byte, row int) ([]byte, error) {
		d := int32(v.Value(row))
		switch {
		case d == math.MaxInt32:
		case d == -math.MaxInt32:
			d = math.MinInt32
		case d < firstDay || d > lastDay:
			return b, &badValue{string(appendDate(nil, int64(d))), "PostgreSQL's dates go from 4713 BC to 5874897"}
		default:
			d -= epochDays
		}
		return binary.BigEndian.AppendUint32(b, uint32(d)), nil
	}
}

func encodeTime(unit int64) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Time64)
		return func(b []byte, row int) ([]byte, error) {
			n := int64(v.Value(row))
			if n < 0 || n > dayMicros {
				return b, &badValue{strconv.FormatInt(n, 10) + " µs", "no time of a day"}
			}
			if n%unit != 0 {
				return b, &badValue{string(appendTime(nil, n)), tooFine}
			}
			return binary.BigEndian.AppendUint64(b, uint64(n)), nil
		}
	}
}

// splitTimeTZ takes DuckDB's bits apart: microseconds and seconds east of UTC.
func splitTimeTZ(v uint64) (micros, east int64) {
	return int64(v >> 24), 57599 - int64(v&0xffffff)
}

func encodeTimeTZ(unit int64) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Uint64)
		return func(b []byte, row int) ([]byte, error) {
			n, east := splitTimeTZ(v.Value(row))
			if n%unit != 0 {
				return b, &badValue{string(appendTime(nil, n)), tooFine}
			}
			b = binary.BigEndian.AppendUint64(b, uint64(n))
			return binary.BigEndian.AppendUint32(b, uint32(-east)), nil
		}
	}
}

// micros is a timestamp's count in microseconds; ok is false when nanoseconds are lost.
func micros(n int64, nanos bool) (m int64, ok bool) {
	if !nanos || n == math.MaxInt64 || n == -math.MaxInt64 {
		return n, true
	}
	m = n / 1000
	if n%1000 < 0 {
		m--
	}
	return m, n%1000 == 0
}

func encodeTimestamp(nanos bool, unit int64) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Timestamp)
		return func(b []byte, row int) ([]byte, error) {
			n, ok := micros(int64(v.Value(row)), nanos)
			switch {
			case !ok:
				return b, &badValue{string(appendTimestamp(nil, n)) + " and nanoseconds", "PostgreSQL keeps microseconds: cast it to TIMESTAMP in the model"}
			case n == math.MaxInt64:
			case n == -math.MaxInt64:
				n = math.MinInt64
			case n < firstTimestamp:
				return b, &badValue{string(appendTimestamp(nil, n)), "PostgreSQL's timestamps start in 4713 BC"}
			case n%unit != 0:
				return b, &badValue{string(appendTimestamp(nil, n)), tooFine}
			default:
				n -= epochMicros
			}
			return binary.BigEndian.AppendUint64(b, uint64(n)), nil
		}
	}
}

// intervalUnit is what an interval's modifier keeps: the fields named in its high half
// and all before them, and a fraction. Months and microseconds must be multiples of the
// two units, a unit of 0 asks for 0.
func intervalUnit(typmod int32) (u struct{ months, days, micros int64 }) {
	u.months, u.days, u.micros = 1, 1, 1
	if typmod < 0 {
		return u
	}
	const month, year, day, hour, minute, second = 1 << 1, 1 << 2, 1 << 3, 1 << 10, 1 << 11, 1 << 12
	switch fields := typmod >> 16; {
	case fields&second != 0:
		u.micros = fraction(typmod & 0xffff)
	case fields&minute != 0:
		u.micros = 60 * 1000000
	case fields&hour != 0:
		u.micros = 3600 * 1000000
	case fields&day != 0:
		u.micros = 0
	case fields&month != 0:
		u.days, u.micros = 0, 0
	case fields&year != 0:
		u.months, u.days, u.micros = 12, 0, 0
	}
	return u
}

// multiple reports whether n is a multiple of unit, and 0 where unit is.
func multiple(n, unit int64) bool { return n == 0 || unit != 0 && n%unit == 0 }

func encodeInterval(u struct{ months, days, micros int64 }) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.MonthDayNanoInterval)
		return func(b []byte, row int) ([]byte, error) {
			i := v.Value(row)
			if i.Nanoseconds%1000 != 0 || !multiple(i.Nanoseconds/1000, u.micros) || !multiple(int64(i.Days), u.days) || !multiple(int64(i.Months), u.months) {
				return b, &badValue{string(appendInterval(nil, i)), "it has finer parts than the target's type keeps"}
			}
			b = binary.BigEndian.AppendUint64(b, uint64(i.Nanoseconds/1000))
			b = binary.BigEndian.AppendUint32(b, uint32(i.Days))
			return binary.BigEndian.AppendUint32(b, uint32(i.Months)), nil
		}
	}
}

// appendInterval spells an interval so that each part keeps its own sign.
func appendInterval(b []byte, i arrow.MonthDayNanoInterval) []byte {
	b = strconv.AppendInt(b, int64(i.Months), 10)
	b = strconv.AppendInt(append(b, " mons "...), int64(i.Days), 10)
	b = append(b, " days "...)
	us := i.Nanoseconds / 1000
	if us < 0 {
		b = append(b, '-')
	}
	m := abs64(us)
	b = strconv.AppendUint(b, m/1000000, 10)
	b = appendFraction(b, int64(m%1000000))
	return append(b, " secs"...)
}
