package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// PostgreSQL counts days and microseconds from 2000-01-01, Arrow from 1970-01-01.
const (
	epochDays   = 10957
	epochMicros = epochDays * 86400 * 1000000
)

var errLength = errors.New("a value has not the length of its type")

func be16(b []byte) int16 { return int16(binary.BigEndian.Uint16(b)) }
func be32(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }
func be64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// view is b as a string for a call that copies it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// valueDecoder returns what appends the binary form of a value of the server's type oid
// to b, whose layout is that of t. The pairs that no case names are refused.
func valueDecoder(b array.Builder, t connectors.Type, oid uint32, checkUTF8 bool) (func([]byte) error, error) {
	refuse := fmt.Errorf("the server sends type %s where %s was described: has the relation been altered?", spellOID(oid), t)
	switch t.Kind {
	case connectors.Boolean:
		if oid == oidBool {
			return decodeBool(b.(*array.BooleanBuilder)), nil
		}
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		if f := decodeInteger(b, t, oid); f != nil {
			return f, nil
		}
	case connectors.Float:
		if oid == oidFloat4 {
			return decodeFloat4(b.(*array.Float32Builder)), nil
		}
	case connectors.Double:
		if f := decodeFloat8(b.(*array.Float64Builder), oid); f != nil {
			return f, nil
		}
	case connectors.Decimal, connectors.HugeInt:
		if f := decodeDecimal(b.(*array.Decimal128Builder), t, oid); f != nil {
			return f, nil
		}
	case connectors.Varchar:
		switch oid {
		case oidText, oidVarchar, oidBpchar, oidName, oidUnknown:
			return decodeText(b.(*array.StringBuilder), checkUTF8), nil
		}
	case connectors.JSON:
		switch oid {
		case oidJSON, oidText, oidVarchar:
			return decodeText(b.(*array.StringBuilder), checkUTF8), nil
		case oidJSONB:
			return decodeJSONB(b.(*array.StringBuilder)), nil
		}
	case connectors.Blob:
		if oid == oidBytea {
			bb := b.(*array.BinaryBuilder)
			return func(v []byte) error { bb.Append(v); return nil }, nil
		}
	case connectors.UUID:
		if oid == oidUUID {
			return decodeUUID(b.(*array.FixedSizeBinaryBuilder)), nil
		}
	case connectors.Bit:
		if oid == oidBit || oid == oidVarbit {
			return decodeBit(b.(*array.StringBuilder)), nil
		}
	case connectors.List:
		if elem, ok := arrayOf[oid]; ok {
			return decodeArray(b, t, elem, checkUTF8)
		}
	default:
		if f := decodeTemporal(b, t, oid); f != nil {
			return f, nil
		}
	}
	return nil, refuse
}

func decodeBool(b *array.BooleanBuilder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 1 {
			return errLength
		}
		b.Append(v[0] != 0)
		return nil
	}
}

// integer reads any of the integer types, whose width is their length.
func integer(v []byte) (int64, error) {
	switch len(v) {
	case 8:
		return be64(v), nil
	case 4:
		return int64(be32(v)), nil
	case 2:
		return int64(be16(v)), nil
	}
	return 0, errLength
}

func decodeInteger(b array.Builder, t connectors.Type, oid uint32) func([]byte) error {
	switch oid {
	case oidInt2, oidInt4, oidInt8:
	case oidNumeric:
		return decodeIntegerNumeric(b, t)
	default:
		return nil
	}
	switch b := b.(type) { // the two that carry almost everything, without a range check
	case *array.Int64Builder:
		return func(v []byte) error {
			n, err := integer(v)
			b.Append(n)
			return err
		}
	case *array.Int32Builder:
		if oid != oidInt8 {
			return func(v []byte) error {
				n, err := integer(v)
				b.Append(int32(n))
				return err
			}
		}
	}
	put := integerAppender(b)
	return func(v []byte) error {
		n, err := integer(v)
		if err != nil {
			return err
		}
		if n < 0 && t.Kind >= connectors.UTinyInt || !put(uint64(n)) {
			return &badValue{strconv.FormatInt(n, 10), "out of the range of " + t.String()}
		}
		return nil
	}
}

// decodeIntegerNumeric reads a numeric that is known to be an integer, as an unsigned
// BIGINT is stored.
func decodeIntegerNumeric(b array.Builder, t connectors.Type) func([]byte) error {
	put := integerAppender(b)
	return func(v []byte) error {
		n, err := parseNumeric(v, 0)
		if err != nil {
			return err
		}
		bits := n.lo
		if n.neg {
			bits = -bits
		}
		signed := t.Kind < connectors.UTinyInt
		if n.hi != 0 || !signed && n.neg && bits != 0 || signed && n.lo > math.MaxInt64 && (!n.neg || n.lo > 1<<63) || !put(bits) {
			return &badValue{numericText(v), "out of the range of " + t.String()}
		}
		return nil
	}
}

// integerAppender appends the low bits of n if the builder's type holds the number, as
// two's complement for signed builders.
func integerAppender(b array.Builder) func(n uint64) bool {
	switch b := b.(type) {
	case *array.Int8Builder:
		return func(n uint64) bool { b.Append(int8(n)); return int64(int8(n)) == int64(n) }
	case *array.Int16Builder:
		return func(n uint64) bool { b.Append(int16(n)); return int64(int16(n)) == int64(n) }
	case *array.Int32Builder:
		return func(n uint64) bool { b.Append(int32(n)); return int64(int32(n)) == int64(n) }
	case *array.Int64Builder:
		return func(n uint64) bool { b.Append(int64(n)); return true }
	case *array.Uint8Builder:
		return func(n uint64) bool { b.Append(uint8(n)); return n <= math.MaxUint8 }
	case *array.Uint16Builder:
		return func(n uint64) bool { b.Append(uint16(n)); return n <= math.MaxUint16 }
	case *array.Uint32Builder:
		return func(n uint64) bool { b.Append(uint32(n)); return n <= math.MaxUint32 }
	case *array.Uint64Builder:
		return func(n uint64) bool { b.Append(n); return true }
	}
	return func(uint64) bool { return false }
}

func decodeFloat4(b *array.Float32Builder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 4 {
			return errLength
		}
		b.Append(math.Float32frombits(uint32(be32(v))))
		return nil
	}
}

func decodeFloat8(b *array.Float64Builder, oid uint32) func([]byte) error {
	switch oid {
	case oidFloat8:
		return func(v []byte) error {
			if len(v) != 8 {
				return errLength
			}
			b.Append(math.Float64frombits(uint64(be64(v))))
			return nil
		}
	case oidFloat4: // exact
		return func(v []byte) error {
			if len(v) != 4 {
				return errLength
			}
			b.Append(float64(math.Float32frombits(uint32(be32(v)))))
			return nil
		}
	}
	return nil
}

func decodeText(b *array.StringBuilder, check bool) func([]byte) error {
	if !check {
		return func(v []byte) error { b.Append(view(v)); return nil }
	}
	return func(v []byte) error {
		if !utf8.Valid(v) {
			return &badValue{strconv.QuoteToASCII(string(v)), "not UTF-8: the database's encoding is SQL_ASCII; select convert_from(…) in a view"}
		}
		b.Append(view(v))
		return nil
	}
}

// decodeJSONB drops the version byte in front of the text.
func decodeJSONB(b *array.StringBuilder) func([]byte) error {
	return func(v []byte) error {
		if len(v) == 0 || v[0] != 1 {
			return errors.New("an unknown version of jsonb")
		}
		b.Append(view(v[1:]))
		return nil
	}
}

func decodeUUID(b *array.FixedSizeBinaryBuilder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 16 {
			return errLength
		}
		b.Append(v)
		return nil
	}
}

// decodeBit spells bits out: on the wire they follow their number, packed.
func decodeBit(b *array.StringBuilder) func([]byte) error {
	var text []byte
	return func(v []byte) error {
		if len(v) < 4 {
			return errLength
		}
		n := int(be32(v))
		if v = v[4:]; n < 0 || len(v) != (n+7)/8 {
			return errLength
		}
		text = text[:0]
		for i := range n {
			text = append(text, '0'+v[i/8]>>(7-i%8)&1)
		}
		b.Append(view(text))
		return nil
	}
}

func decodeTemporal(b array.Builder, t connectors.Type, oid uint32) func([]byte) error {
	switch {
	case t.Kind == connectors.Date && oid == oidDate:
		return decodeDate(b.(*array.Date32Builder))
	case t.Kind == connectors.Time && oid == oidTime:
		return decodeTime(b.(*array.Time64Builder))
	case t.Kind == connectors.TimeTZ && oid == oidTimeTZ:
		return decodeTimeTZ(b.(*array.Uint64Builder))
	case t.Kind == connectors.Timestamp && oid == oidTimestamp, t.Kind == connectors.TimestampTZ && oid == oidTimestampTZ:
		return decodeTimestamp(b.(*array.TimestampBuilder))
	case t.Kind == connectors.Interval && oid == oidInterval:
		return decodeInterval(b.(*array.MonthDayNanoIntervalBuilder))
	}
	return nil
}

func decodeDate(b *array.Date32Builder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 4 {
			return errLength
		}
		switch n := be32(v); n {
		case math.MaxInt32:
			b.Append(math.MaxInt32)
		case math.MinInt32: // -infinity
			b.Append(-math.MaxInt32)
		default:
			b.Append(arrow.Date32(n + epochDays)) // the last date is 5874897-12-31
		}
		return nil
	}
}

func decodeTime(b *array.Time64Builder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 8 {
			return errLength
		}
		b.Append(arrow.Time64(be64(v)))
		return nil
	}
}

// decodeTimeTZ keeps time and zone. PostgreSQL counts the zone west of UTC.
func decodeTimeTZ(b *array.Uint64Builder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 12 {
			return errLength
		}
		b.Append(uint64(be64(v))<<24 | uint64(57599+int64(be32(v[8:]))))
		return nil
	}
}

func decodeTimestamp(b *array.TimestampBuilder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 8 {
			return errLength
		}
		switch n := be64(v); {
		case n == math.MaxInt64:
			b.Append(math.MaxInt64)
		case n == math.MinInt64: // -infinity
			b.Append(-math.MaxInt64)
		case n > math.MaxInt64-1-epochMicros:
			return &badValue{strconv.FormatInt(n, 10) + " µs after 2000-01-01", "after the year 294246, the last that DuckDB holds"}
		default:
			b.Append(arrow.Timestamp(n + epochMicros))
		}
		return nil
	}
}

func decodeInterval(b *array.MonthDayNanoIntervalBuilder) func([]byte) error {
	return func(v []byte) error {
		if len(v) != 16 {
			return errLength
		}
		micros, days, months := be64(v), be32(v[8:]), be32(v[12:])
		if micros > math.MaxInt64/1000 || micros < math.MinInt64/1000 {
			return &badValue{strconv.FormatInt(micros, 10) + " µs", "an interval of more than 292 years in hours, or an infinite one, cannot be carried"}
		}
		b.Append(arrow.MonthDayNanoInterval{Months: months, Days: days, Nanoseconds: micros * 1000})
		return nil
	}
}
