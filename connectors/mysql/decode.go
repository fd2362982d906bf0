package mysql

import (
	"database/sql/driver"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// decoder puts the driver's values of one column into an Arrow builder. What it gets is
// what the binary protocol carries: int64, float32, float64, and bytes for all else:
// texts, decimals, dates and times in the engine's spelling, unsigned integers above
// int64's range as digits. The logical type of the query decides what becomes of them,
// not the protocol's: a column may have been given another type by the project.
type decoder struct {
	col   *connectors.Column
	null  func()
	put   func(v driver.Value) (reason string) // "" = stored; v is not nil
	zeros int64
}

// fault is the error for a value that does not fit.
func (d *decoder) fault(v driver.Value, row int64, reason string) error {
	return &connectors.ValueError{Column: d.col.Name, Value: connectors.Shorten(string(textOf(v))), Row: fmt.Sprintf("number %d", row), Reason: reason}
}

func newDecoder(c *Conn, col *connectors.Column, b array.Builder, rows driver.Rows, i int) (*decoder, error) {
	d := &decoder{col: col, null: b.AppendNull}
	wire := ""
	if t, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		wire = t.ColumnTypeDatabaseTypeName(i)
	}
	switch wire {
	case "DATETIME", "TIMESTAMP", "TIME":
		// The driver cuts the fraction off when the server does not say how long it is.
		if t, ok := rows.(driver.RowsColumnTypePrecisionScale); ok {
			if p, _, ok := t.ColumnTypePrecisionScale(i); ok && p > 6 {
				return nil, &connectors.TypeError{Column: col.Name, Native: wire, Reason: "the server does not say how many fractional digits it has: cast it to " + wire + "(6)"}
			}
		}
	}
	bit := wire == "BIT"
	switch k := col.Type.Kind; k {
	case connectors.Boolean:
		d.put = putBool(b.(*array.BooleanBuilder), bit)
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		d.put = putInteger(b, bit)
	case connectors.HugeInt:
		d.put = putHuge(b.(*array.Decimal128Builder))
	case connectors.Decimal:
		d.put = putDecimal(b.(*array.Decimal128Builder), col.Type.Precision, col.Type.Scale)
	case connectors.Float:
		d.put = putFloat(b.(*array.Float32Builder))
	case connectors.Double:
		d.put = putDouble(b.(*array.Float64Builder))
	case connectors.Varchar, connectors.JSON:
		d.put = putText(b.(*array.StringBuilder))
	case connectors.Blob:
		d.put = putBlob(b.(*array.BinaryBuilder))
	case connectors.Date:
		d.put = d.putDate(c, b.(*array.Date32Builder))
	case connectors.Time:
		d.put = putTime(b.(*array.Time64Builder))
	case connectors.Timestamp, connectors.TimestampTZ:
		d.put = d.putTimestamp(c, b.(*array.TimestampBuilder))
	case connectors.Interval:
		d.put = putInterval(b.(*array.MonthDayNanoIntervalBuilder))
	case connectors.UUID:
		d.put = putUUID(b.(*array.FixedSizeBinaryBuilder))
	default:
		return nil, &connectors.TypeError{Column: col.Name, Native: col.Native, Reason: "dvt cannot read it as " + col.Type.String()}
	}
	return d, nil
}

// textOf is the engine's text of a value.
func textOf(v driver.Value) []byte {
	switch v := v.(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case float32:
		return strconv.AppendFloat(nil, float64(v), 'g', -1, 32)
	case float64:
		return strconv.AppendFloat(nil, v, 'g', -1, 64)
	}
	return fmt.Append(nil, v)
}

// bitsOf reads a BIT: big endian, at most 8 bytes.
func bitsOf(b []byte) uint64 {
	var n uint64
	for _, x := range b {
		n = n<<8 | uint64(x)
	}
	return n
}

func putBool(b *array.BooleanBuilder, bit bool) func(driver.Value) string {
	return func(v driver.Value) string {
		n := int64(-1)
		switch v := v.(type) {
		case int64:
			n = v
		case []byte:
			if bit {
				n = int64(bitsOf(v))
			} else if x, err := strconv.ParseInt(string(v), 10, 64); err == nil {
				n = x
			}
		}
		if n != 0 && n != 1 {
			return "is neither 0 nor 1: read the column as a number (tinyint1_is_bool: false)"
		}
		b.Append(n == 1)
		return ""
	}
}

// putInteger covers the eight integer types.
func putInteger(b array.Builder, bit bool) func(driver.Value) string {
	low, high, add := integerSink(b)
	return func(v driver.Value) string {
		switch v := v.(type) {
		case int64:
			if v < 0 {
				if v < low {
					return "is out of the type's range"
				}
			} else if uint64(v) > high {
				return "is out of the type's range"
			}
			add(uint64(v))
			return ""
		case []byte:
			if bit {
				if n := bitsOf(v); n <= high {
					add(n)
					return ""
				}
				return "is out of the type's range"
			}
			return addDigits(v, low, high, add)
		}
		return "is not an integer"
	}
}

// addDigits reads what the protocol spells: bigint unsigned, and SUM, which is a decimal.
func addDigits(v []byte, low int64, high uint64, add func(uint64)) string {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		if n < low || n > 0 && uint64(n) > high {
			return "is out of the type's range"
		}
		add(uint64(n))
		return ""
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil {
		return "is not an integer of 64 bits"
	}
	if n > high {
		return "is out of the type's range"
	}
	add(n)
	return ""
}

// integerSink gives the range of an integer builder and a function that appends the
// low bits of its argument.
func integerSink(b array.Builder) (low int64, high uint64, add func(uint64)) {
	switch b := b.(type) {
	case *array.Int8Builder:
		return math.MinInt8, math.MaxInt8, func(n uint64) { b.Append(int8(n)) }
	case *array.Int16Builder:
		return math.MinInt16, math.MaxInt16, func(n uint64) { b.Append(int16(n)) }
	case *array.Int32Builder:
		return math.MinInt32, math.MaxInt32, func(n uint64) { b.Append(int32(n)) }
	case *array.Int64Builder:
		return math.MinInt64, math.MaxInt64, func(n uint64) { b.Append(int64(n)) }
	case *array.Uint8Builder:
		return 0, math.MaxUint8, func(n uint64) { b.Append(uint8(n)) }
	case *array.Uint16Builder:
		return 0, math.MaxUint16, func(n uint64) { b.Append(uint16(n)) }
	case *array.Uint32Builder:
		return 0, math.MaxUint32, func(n uint64) { b.Append(uint32(n)) }
	case *array.Uint64Builder:
		return 0, math.MaxUint64, func(n uint64) { b.Append(n) }
	}
	panic(fmt.Sprintf("mysql: %T is not an integer builder", b))
}

func putHuge(b *array.Decimal128Builder) func(driver.Value) string {
	return func(v driver.Value) string {
		n, neg, ok := parseDecimal(textOf(v), 0)
		if !ok {
			return "is not an integer of 128 bits"
		}
		b.Append(signed(n, neg))
		return ""
	}
}

func putDecimal(b *array.Decimal128Builder, precision, scale int) func(driver.Value) string {
	limit := powerOfTen(precision)
	reason := fmt.Sprintf("does not fit DECIMAL(%d,%d)", precision, scale)
	return func(v driver.Value) string {
		n, neg, ok := parseDecimal(textOf(v), scale)
		if !ok || !n.less(limit) {
			return reason
		}
		b.Append(signed(n, neg))
		return ""
	}
}

func signed(n u128, neg bool) decimal128.Num {
	d := decimal128.New(int64(n.hi), n.lo)
	if neg {
		d = d.Negate()
	}
	return d
}

func putFloat(b *array.Float32Builder) func(driver.Value) string {
	return func(v driver.Value) string {
		switch v := v.(type) {
		case float32:
			b.Append(v)
			return ""
		case float64:
			if f := float32(v); float64(f) == v {
				b.Append(f)
				return ""
			}
			return "is not a FLOAT"
		case int64:
			if f := float32(v); float64(f) == float64(v) && int64(f) == v {
				b.Append(f)
				return ""
			}
		}
		return "is not a FLOAT"
	}
}

func putDouble(b *array.Float64Builder) func(driver.Value) string {
	return func(v driver.Value) string {
		switch v := v.(type) {
		case float64:
			b.Append(v)
			return ""
		case float32:
			b.Append(float64(v))
			return ""
		case int64:
			if f := float64(v); int64(f) == v && f != 1<<63 {
				b.Append(f)
				return ""
			}
			return "is not exact as a DOUBLE"
		case []byte:
			// Only where the project declares double for a decimal: the nearest double is
			// what the declaration asks for.
			if f, err := strconv.ParseFloat(string(v), 64); err == nil {
				b.Append(f)
				return ""
			}
		}
		return "is not a number"
	}
}

func putText(b *array.StringBuilder) func(driver.Value) string {
	return func(v driver.Value) string {
		t := textOf(v)
		if !utf8.Valid(t) {
			return "has bytes that are no characters of its character set: read the column as blob"
		}
		b.BinaryBuilder.Append(t)
		return ""
	}
}

func putBlob(b *array.BinaryBuilder) func(driver.Value) string {
	return func(v driver.Value) string {
		b.Append(textOf(v))
		return ""
	}
}

// zero handles a date that is none: it may become NULL, never another date.
func (d *decoder) zero(c *Conn, kind dateKind) string {
	if kind == dateInvalid {
		return "is not a date"
	}
	if c.zeroDates == zeroError {
		return "is a zero or partial date (zero_dates: error)"
	}
	d.zeros++
	d.null()
	return ""
}

func (d *decoder) putDate(c *Conn, b *array.Date32Builder) func(driver.Value) string {
	return func(v driver.Value) string {
		t := textOf(v)
		days, kind := parseDate(t)
		if kind != dateReal {
			return d.zero(c, kind)
		}
		if us, _ := parseTimestamp(t); len(t) > 10 && us != days*dayMicros {
			return "has a time of day: it is not a DATE"
		}
		b.Append(arrow.Date32(days))
		return ""
	}
}

func (d *decoder) putTimestamp(c *Conn, b *array.TimestampBuilder) func(driver.Value) string {
	return func(v driver.Value) string {
		us, kind := parseTimestamp(textOf(v))
		if kind != dateReal {
			return d.zero(c, kind)
		}
		b.Append(arrow.Timestamp(us))
		return ""
	}
}

func putTime(b *array.Time64Builder) func(driver.Value) string {
	return func(v driver.Value) string {
		us, ok := parseClock(textOf(v))
		if !ok {
			return "is not a time"
		}
		if us < 0 || us > dayMicros {
			return "is outside one day: give the column data_type interval, or varchar for the engine's text"
		}
		b.Append(arrow.Time64(us))
		return ""
	}
}

// putInterval serves TIME columns that the project declares as interval.
func putInterval(b *array.MonthDayNanoIntervalBuilder) func(driver.Value) string {
	return func(v driver.Value) string {
		us, ok := parseClock(textOf(v))
		if !ok {
			return "is not a time"
		}
		b.Append(arrow.MonthDayNanoInterval{Nanoseconds: us * 1000})
		return ""
	}
}

func putUUID(b *array.FixedSizeBinaryBuilder) func(driver.Value) string {
	return func(v driver.Value) string {
		u, ok := parseUUID(textOf(v))
		if !ok {
			return "is not a UUID"
		}
		b.Append(u[:])
		return ""
	}
}

// parseUUID reads 32 hexadecimal digits with or without dashes, or the 16 bytes of a
// binary(16).
func parseUUID(s []byte) (u [16]byte, ok bool) {
	if len(s) == 16 {
		return [16]byte(s), true
	}
	n := 0
	for _, c := range s {
		var x byte
		switch {
		case c >= '0' && c <= '9':
			x = c - '0'
		case c >= 'a' && c <= 'f':
			x = c - 'a' + 10
		case c >= 'A' && c <= 'F':
			x = c - 'A' + 10
		case c == '-':
			continue
		default:
			return u, false
		}
		if n >= 32 {
			return u, false
		}
		u[n/2] |= x << (4 - 4*(n%2))
		n++
	}
	return u, n == 32
}
