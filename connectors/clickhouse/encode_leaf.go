package clickhouse

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// leafWriter writes values of one logical type as one ClickHouse type. It checks every
// value: the server would wrap what is out of range without an error.
type leafWriter struct {
	zero []byte // what stands in the place of a NULL
	// bulk appends many values whose bytes are the same on both sides; nil if they are not.
	bulk func(dst []byte, arr arrow.Array, from, to int) []byte
	one  func(dst []byte, arr arrow.Array, i int) ([]byte, error)
}

func (w *leafWriter) add(dst []byte, arr arrow.Array, from, to int) ([]byte, error) {
	if w.bulk != nil {
		return w.bulk(dst, arr, from, to), nil
	}
	var err error
	for i := from; i < to; i++ {
		if arr.IsNull(i) {
			dst = append(dst, w.zero...)
			continue
		}
		if dst, err = w.one(dst, arr, i); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// newLeafWriter is nil where values of typ are not written as t.
func newLeafWriter(t *chType, typ connectors.Type, f *facts) *leafWriter {
	w := &leafWriter{zero: make([]byte, max(t.width(), 1))}
	switch {
	case t.name == "String":
		w.one = textWriter(typ)
	case t.name == "FixedString":
		w.one = fixedTextWriter(t, typ)
	case t.name == "Enum8" || t.name == "Enum16":
		w.one = enumWriter(t, typ)
	case t.name == "IPv4" || t.name == "IPv6":
		w.one = addressWriter(t, typ)
	case t.name == "UUID" && typ.Kind == connectors.UUID:
		w.one = func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
			at := len(dst)
			dst = append(dst, make([]byte, 16)...)
			turnUUIDs(dst[at:], arr.(*array.FixedSizeBinary).Value(i), 1)
			return dst, nil
		}
	case t.name == "Bool" && typ.Kind == connectors.Boolean:
		w.one = func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
			return append(dst, b2i(arr.(*array.Boolean).Value(i))), nil
		}
	case t.name == "Float32" || t.name == "Float64":
		w.one, w.bulk = floatWriter(t, typ)
	case t.name == "Decimal":
		w.one = decimalWriter(t, typ)
	case t.name == "Date" || t.name == "Date32":
		w.one = dateWriter(t, typ, f)
	case t.name == "DateTime" || t.name == "DateTime64":
		w.one = timeWriter(t, typ, f)
	default:
		w.one, w.bulk = integerWriter(t, typ)
	}
	if w.one == nil && w.bulk == nil {
		return nil
	}
	return w
}

type oneFunc = func(dst []byte, arr arrow.Array, i int) ([]byte, error)

type bulkFunc = func(dst []byte, arr arrow.Array, from, to int) []byte

// sameBytes copies fixed-width values of w bytes.
func sameBytes(w int) bulkFunc {
	return func(dst []byte, arr arrow.Array, from, to int) []byte {
		if from == to {
			return dst
		}
		at := arr.Data().Offset()
		return append(dst, arr.Data().Buffers()[1].Bytes()[(at+from)*w:(at+to)*w]...)
	}
}

var integerTargets = map[string]connectors.Kind{
	"Int8": connectors.TinyInt, "Int16": connectors.SmallInt, "Int32": connectors.Integer, "Int64": connectors.BigInt, "Int128": connectors.HugeInt,
	"UInt8": connectors.UTinyInt, "UInt16": connectors.USmallInt, "UInt32": connectors.UInteger, "UInt64": connectors.UBigInt,
}

func integerWriter(t *chType, typ connectors.Type) (oneFunc, bulkFunc) {
	kind, ok := integerTargets[t.name]
	if !ok {
		return nil, nil
	}
	w := t.width()
	if kind == typ.Kind {
		return nil, sameBytes(w)
	}
	get := integerOf(typ)
	if get == nil {
		return nil, nil
	}
	lo, hi := kindRange(kind)
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		v, err := get(arr, i)
		if err != nil {
			return dst, err
		}
		if v.Cmp(lo) < 0 || v.Cmp(hi) > 0 {
			return dst, fault(arr, i, "it does not fit "+t.text)
		}
		at := len(dst)
		dst = append(dst, make([]byte, w)...)
		putInt(dst[at:], v)
		return dst, nil
	}, nil
}

// integerOf reads a value as an integer: booleans as 0 and 1, times as microseconds.
func integerOf(typ connectors.Type) func(arr arrow.Array, i int) (*big.Int, error) {
	switch k := typ.Kind; {
	case k == connectors.Boolean:
		return func(arr arrow.Array, i int) (*big.Int, error) {
			return big.NewInt(int64(b2i(arr.(*array.Boolean).Value(i)))), nil
		}
	case isInteger(k):
		return func(arr arrow.Array, i int) (*big.Int, error) { return intValue(arr, i), nil }
	case k == connectors.Decimal && typ.Scale == 0:
		return func(arr arrow.Array, i int) (*big.Int, error) {
			return arr.(*array.Decimal128).Value(i).BigInt(), nil
		}
	case k == connectors.Timestamp || k == connectors.TimestampTZ:
		return func(arr arrow.Array, i int) (*big.Int, error) {
			us := int64(arr.(*array.Timestamp).Value(i))
			if infinite(us) {
				return nil, &valueFault{infinityText(us), "an integer of microseconds has no infinity"}
			}
			return big.NewInt(us), nil
		}
	case k == connectors.TimestampNS:
		return func(arr arrow.Array, i int) (*big.Int, error) {
			ns := int64(arr.(*array.Timestamp).Value(i))
			if ns%1000 != 0 {
				return nil, fault(arr, i, "it has a part smaller than a microsecond")
			}
			return big.NewInt(ns / 1000), nil
		}
	case k == connectors.Time:
		return func(arr arrow.Array, i int) (*big.Int, error) {
			return big.NewInt(int64(arr.(*array.Time64).Value(i))), nil
		}
	}
	return nil
}

func intValue(arr arrow.Array, i int) *big.Int {
	switch a := arr.(type) {
	case *array.Int8:
		return big.NewInt(int64(a.Value(i)))
	case *array.Int16:
		return big.NewInt(int64(a.Value(i)))
	case *array.Int32:
		return big.NewInt(int64(a.Value(i)))
	case *array.Int64:
		return big.NewInt(a.Value(i))
	case *array.Uint8:
		return big.NewInt(int64(a.Value(i)))
	case *array.Uint16:
		return big.NewInt(int64(a.Value(i)))
	case *array.Uint32:
		return big.NewInt(int64(a.Value(i)))
	case *array.Uint64:
		return new(big.Int).SetUint64(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	}
	panic(fmt.Sprintf("clickhouse: %T is no integer array", arr))
}

func floatWriter(t *chType, typ connectors.Type) (oneFunc, bulkFunc) {
	double := t.name == "Float64"
	switch {
	case typ.Kind == connectors.Float && !double:
		return nil, sameBytes(4)
	case typ.Kind == connectors.Double && double:
		return nil, sameBytes(8)
	case typ.Kind == connectors.Float:
		return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
			f := float64(arr.(*array.Float32).Value(i))
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f)), nil
		}, nil
	case typ.Kind == connectors.Double:
		return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
			f := arr.(*array.Float64).Value(i)
			if float64(float32(f)) != f && !math.IsNaN(f) {
				return dst, fault(arr, i, "Float32 does not hold it exactly")
			}
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(f))), nil
		}, nil
	}
	return nil, nil
}

func decimalWriter(t *chType, typ connectors.Type) oneFunc {
	var get func(arr arrow.Array, i int) (*big.Int, error)
	scale := 0
	if typ.Kind == connectors.Decimal {
		scale = typ.Scale
		get = func(arr arrow.Array, i int) (*big.Int, error) {
			return arr.(*array.Decimal128).Value(i).BigInt(), nil
		}
	} else if isInteger(typ.Kind) {
		get = integerOf(typ)
	}
	if get == nil || t.prec > 38 {
		return nil
	}
	w := t.width()
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.prec)), nil)
	up := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(t.scale-scale, 0))), nil)
	down := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale-t.scale, 0))), nil)
	// The usual case needs no big numbers.
	same := typ.Kind == connectors.Decimal && scale == t.scale
	top := decimal128.GetMaxValue(int32(t.prec))
	floor := top.Negate()
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		if same {
			v := arr.(*array.Decimal128).Value(i)
			if v.Greater(top) || v.Less(floor) {
				return dst, fault(arr, i, "it has more digits than "+t.text+" holds")
			}
			switch w {
			case 4:
				return binary.LittleEndian.AppendUint32(dst, uint32(v.LowBits())), nil
			case 8:
				return binary.LittleEndian.AppendUint64(dst, v.LowBits()), nil
			}
			dst = binary.LittleEndian.AppendUint64(dst, v.LowBits())
			return binary.LittleEndian.AppendUint64(dst, uint64(v.HighBits())), nil
		}
		v, err := get(arr, i)
		if err != nil {
			return dst, err
		}
		q, r := new(big.Int).QuoRem(new(big.Int).Mul(v, up), down, new(big.Int))
		if r.Sign() != 0 {
			return dst, fault(arr, i, "it has more digits after the point than "+t.text+" holds")
		}
		if q.CmpAbs(limit) >= 0 {
			return dst, fault(arr, i, "it has more digits than "+t.text+" holds")
		}
		at := len(dst)
		dst = append(dst, make([]byte, w)...)
		putInt(dst[at:], q)
		return dst, nil
	}
}

func isText(k connectors.Kind) bool {
	return k == connectors.Varchar || k == connectors.JSON || k == connectors.Bit
}

func fixedTextWriter(t *chType, typ connectors.Type) oneFunc {
	if !isText(typ.Kind) && typ.Kind != connectors.Blob {
		return nil
	}
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		v := textValue(arr, i)
		if len(v) != t.size {
			return dst, fault(arr, i, fmt.Sprintf("it has %d bytes and %s would cut or pad it", len(v), t.text))
		}
		return append(dst, v...), nil
	}
}

// textValue is a view of a value's bytes.
func textValue(arr arrow.Array, i int) string {
	if b, ok := arr.(*array.Binary); ok {
		return b.ValueString(i)
	}
	return arr.(*array.String).Value(i)
}

func enumWriter(t *chType, typ connectors.Type) oneFunc {
	if !isText(typ.Kind) {
		return nil
	}
	values := map[string]int16{}
	for _, e := range t.enum {
		values[e.name] = e.value
	}
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		v, ok := values[arr.(*array.String).Value(i)]
		if !ok {
			return dst, fault(arr, i, "it is no value of "+connectors.Shorten(t.text))
		}
		if t.name == "Enum8" {
			return append(dst, byte(v)), nil
		}
		return binary.LittleEndian.AppendUint16(dst, uint16(v)), nil
	}
}

func addressWriter(t *chType, typ connectors.Type) oneFunc {
	if !isText(typ.Kind) {
		return nil
	}
	return func(dst []byte, arr arrow.Array, i int) ([]byte, error) {
		a, err := netip.ParseAddr(arr.(*array.String).Value(i))
		if err != nil || t.name == "IPv4" && !a.Is4() || a.Zone() != "" {
			return dst, fault(arr, i, "it is no "+t.name+" address")
		}
		if t.name == "IPv4" {
			b := a.As4()
			return append(dst, b[3], b[2], b[1], b[0]), nil
		}
		b := a.As16()
		return append(dst, b[:]...), nil
	}
}

// formatFloat is the shortest text that reads back as the same number.
func formatFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}
