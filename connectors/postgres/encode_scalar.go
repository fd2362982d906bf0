package postgres

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// binaryEncoder is what encodes a column of type t for the server's type info, nil if
// there is no exact way in binary. Each checks what the server would round, cut or
// shift without a word: scale, precision of fractions, length, range.
func binaryEncoder(t connectors.Type, info typeInfo, stripNUL bool) binder {
	if info.elem != 0 {
		if t.Kind != connectors.List {
			return nil
		}
		return arrayEncoder(t, info, stripNUL)
	}
	switch {
	case info.isText():
		return textColumn(t, info, stripNUL)
	case info.oid == oidJSON || info.oid == oidJSONB:
		return jsonColumn(t, info.oid == oidJSONB, stripNUL)
	}
	switch t.Kind {
	case connectors.Boolean:
		switch info.oid {
		case oidBool:
			return encodeBool
		case oidInt2, oidInt4, oidInt8:
			return encodeBoolInteger(info)
		}
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt,
		connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		return encodeInteger(t, info)
	case connectors.HugeInt, connectors.Decimal:
		if info.oid == oidNumeric {
			return encodeDecimal(t, info.typmod)
		}
		if t.Scale == 0 {
			return encodeDecimalInteger(info)
		}
	case connectors.Float, connectors.Double:
		return encodeFloat(t, info)
	case connectors.Blob:
		if info.oid == oidBytea {
			return func(a arrow.Array) appendFunc {
				v := a.(*array.Binary)
				return func(b []byte, row int) ([]byte, error) { return append(b, v.Value(row)...), nil }
			}
		}
	case connectors.UUID:
		if info.oid == oidUUID {
			return func(a arrow.Array) appendFunc {
				v := a.(*array.FixedSizeBinary)
				return func(b []byte, row int) ([]byte, error) { return append(b, v.Value(row)...), nil }
			}
		}
	case connectors.Bit:
		if info.oid == oidBit || info.oid == oidVarbit {
			return encodeBit(info)
		}
	default:
		return encodeTemporal(t, info)
	}
	return nil
}

// isText reports whether the binary form of the type is its text. Enums and citext have
// no fixed object identifier but are read by functions of fixed names.
func (t typeInfo) isText() bool {
	switch t.oid {
	case oidText, oidVarchar, oidBpchar, oidName:
		return true
	}
	switch name := t.receive[strings.LastIndexByte(t.receive, '.')+1:]; name {
	case "enum_recv", "citextrecv":
		return true
	}
	return false
}

func encodeBool(a arrow.Array) appendFunc {
	v := a.(*array.Boolean)
	return func(b []byte, row int) ([]byte, error) {
		if v.Value(row) {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	}
}

// encodeBoolInteger is for a model that asks for 1 and 0 by column_types.
func encodeBoolInteger(info typeInfo) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Boolean)
		return func(b []byte, row int) ([]byte, error) {
			n := int64(0)
			if v.Value(row) {
				n = 1
			}
			return appendInteger(b, n, false, info.oid)
		}
	}
}

// integerReader reads any integer array as a magnitude's bits and whether it is below 0.
func integerReader(a arrow.Array) func(row int) (int64, bool) {
	switch v := a.(type) {
	case *array.Int8:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Int16:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Int32:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Int64:
		return func(row int) (int64, bool) { return v.Value(row), false }
	case *array.Uint8:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Uint16:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Uint32:
		return func(row int) (int64, bool) { return int64(v.Value(row)), false }
	case *array.Uint64:
		return func(row int) (int64, bool) { n := v.Value(row); return int64(n), n > math.MaxInt64 }
	}
	return nil
}

func outOfRange(n int64, huge bool, typ string) error {
	s := strconv.FormatInt(n, 10)
	if huge {
		s = strconv.FormatUint(uint64(n), 10)
	}
	return &badValue{s, "out of the range of " + typ}
}

func encodeInteger(t connectors.Type, info typeInfo) binder {
	switch info.oid {
	case oidNumeric:
		return encodeIntegerNumeric(info.typmod)
	case oidFloat8:
		return func(a arrow.Array) appendFunc {
			read := integerReader(a)
			return func(b []byte, row int) ([]byte, error) {
				n, huge := read(row)
				if huge || n > 1<<53 || n < -1<<53 {
					return b, outOfRange(n, huge, "the integers that double precision holds exactly")
				}
				return binary.BigEndian.AppendUint64(b, math.Float64bits(float64(n))), nil
			}
		}
	case oidInt8:
		if t.Kind == connectors.BigInt {
			return func(a arrow.Array) appendFunc {
				v := a.(*array.Int64)
				return func(b []byte, row int) ([]byte, error) {
					return binary.BigEndian.AppendUint64(b, uint64(v.Value(row))), nil
				}
			}
		}
	case oidInt4:
		if t.Kind == connectors.Integer {
			return func(a arrow.Array) appendFunc {
				v := a.(*array.Int32)
				return func(b []byte, row int) ([]byte, error) {
					return binary.BigEndian.AppendUint32(b, uint32(v.Value(row))), nil
				}
			}
		}
	case oidInt2:
	default:
		return nil
	}
	return func(a arrow.Array) appendFunc {
		read := integerReader(a)
		return func(b []byte, row int) ([]byte, error) {
			n, huge := read(row)
			return appendInteger(b, n, huge, info.oid)
		}
	}
}

// appendInteger appends n as smallint, integer or bigint if it is in range.
func appendInteger(b []byte, n int64, huge bool, oid uint32) ([]byte, error) {
	switch {
	case huge:
	case oid == oidInt8:
		return binary.BigEndian.AppendUint64(b, uint64(n)), nil
	case oid == oidInt4 && n == int64(int32(n)):
		return binary.BigEndian.AppendUint32(b, uint32(n)), nil
	case oid == oidInt2 && n == int64(int16(n)):
		return binary.BigEndian.AppendUint16(b, uint16(n)), nil
	}
	return b, outOfRange(n, huge, spellOID(oid))
}

func encodeFloat(t connectors.Type, info typeInfo) binder {
	switch {
	case t.Kind == connectors.Float && info.oid == oidFloat4:
		return func(a arrow.Array) appendFunc {
			v := a.(*array.Float32)
			return func(b []byte, row int) ([]byte, error) {
				return binary.BigEndian.AppendUint32(b, math.Float32bits(v.Value(row))), nil
			}
		}
	case t.Kind == connectors.Float && info.oid == oidFloat8:
		return func(a arrow.Array) appendFunc {
			v := a.(*array.Float32)
			return func(b []byte, row int) ([]byte, error) {
				return binary.BigEndian.AppendUint64(b, math.Float64bits(float64(v.Value(row)))), nil
			}
		}
	case t.Kind == connectors.Double && info.oid == oidFloat8:
		return func(a arrow.Array) appendFunc {
			v := a.(*array.Float64)
			return func(b []byte, row int) ([]byte, error) {
				return binary.BigEndian.AppendUint64(b, math.Float64bits(v.Value(row))), nil
			}
		}
	case t.Kind == connectors.Double && info.oid == oidFloat4:
		return func(a arrow.Array) appendFunc {
			v := a.(*array.Float64)
			return func(b []byte, row int) ([]byte, error) {
				f := v.Value(row)
				if f == f && float64(float32(f)) != f {
					return b, &badValue{strconv.FormatFloat(f, 'g', -1, 64), "real would round it"}
				}
				return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(f))), nil
			}
		}
	}
	return nil
}

// encodeBit packs text of 0 and 1; bit(n) takes n of them, bit varying(n) at most n.
func encodeBit(info typeInfo) binder {
	return func(a arrow.Array) appendFunc {
		v := a.(*array.String)
		return func(b []byte, row int) ([]byte, error) {
			s := v.Value(row)
			n := int(info.typmod)
			if n > 0 && (len(s) > n || info.oid == oidBit && len(s) != n) {
				return b, &badValue{s, "its length does not fit " + spellOID(info.oid) + "(" + strconv.Itoa(n) + ")"}
			}
			b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
			for i := 0; i < len(s); i += 8 {
				var packed byte
				for j := range min(8, len(s)-i) {
					switch s[i+j] {
					case '1':
						packed |= 1 << (7 - j)
					case '0':
					default:
						return b, &badValue{s, "no string of bits"}
					}
				}
				b = append(b, packed)
			}
			return b, nil
		}
	}
}

// textColumn puts values of any type into a text column: text as it is, everything else
// as PostgreSQL itself would spell it.
func textColumn(t connectors.Type, info typeInfo, stripNUL bool) binder {
	text := textEncoder(t, true, stripNUL)
	limit, bytes := 0, false
	switch info.oid {
	case oidVarchar, oidBpchar:
		limit = max(int(info.typmod)-4, 0)
	case oidName:
		limit, bytes = maxIdent, true
	}
	if limit == 0 {
		return text
	}
	return func(a arrow.Array) appendFunc {
		value := text(a)
		return func(b []byte, row int) ([]byte, error) {
			at := len(b)
			b, err := value(b, row)
			if err != nil {
				return b, err
			}
			n := len(b) - at
			if n > limit && !bytes {
				n = utf8.RuneCount(b[at:])
			}
			if n > limit {
				return b, &badValue{string(b[at:]), "longer than the " + strconv.Itoa(limit) + " that " + spellOID(info.oid) + " holds"}
			}
			return b, nil
		}
	}
}

// abs64 is the magnitude of n.
func abs64(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}

// magnitude splits 128 bits of two's complement.
func magnitude(hi int64, lo uint64) number {
	if hi >= 0 {
		return number{uint64(hi), lo, false}
	}
	l, borrow := bits.Sub64(0, lo, 0)
	h, _ := bits.Sub64(0, uint64(hi), borrow)
	return number{h, l, true}
}
