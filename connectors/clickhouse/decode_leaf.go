package clickhouse

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// fixed reads n values of w bytes as they are.
func (d *decoder) fixed(n, w int) (*memory.Buffer, error) {
	buf := memory.NewResizableBuffer(d.alloc)
	total := n * w
	for at := 0; at < total; {
		// In steps, so that a damaged count fails at the end of the stream and not in
		// the allocator.
		end := min(total, max(2*at, 16<<20))
		buf.Resize(end)
		if err := d.in.full(buf.Bytes()[at:end]); err != nil {
			buf.Release()
			return nil, err
		}
		at = end
	}
	return buf, nil
}

// leaf reads a column without an inner structure.
func (d *decoder) leaf(t *chType, n int, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	natural := t.logical()
	if natural.Kind == connectors.Invalid {
		return nil, d.mismatch(t, want)
	}
	if t.name == "String" {
		return d.strings(n, want, nulls, nested, t)
	}
	raw, err := d.fixed(n, t.width())
	if err != nil {
		return nil, err
	}
	same := natural.Equal(want)
	switch {
	case same && t.plain():
		return d.build(want.Arrow(), n, nulls, []*memory.Buffer{raw}), nil
	case t.name == "FixedString" || t.name == "Enum8" || t.name == "Enum16" || t.name == "IPv4" || t.name == "IPv6":
		defer raw.Release()
		return d.texts(t, n, raw.Bytes(), want, nulls, nested)
	case isInteger(natural.Kind) && (isInteger(want.Kind) || want.Kind == connectors.Boolean):
		defer raw.Release()
		return d.integers(t, n, raw.Bytes(), want, nulls, nested)
	case !same:
		raw.Release()
		return nil, d.mismatch(t, want)
	}
	defer raw.Release()
	return d.converted(t, n, raw.Bytes(), want, nulls, nested)
}

// plain types have in Arrow the bytes that they have on the wire.
func (t *chType) plain() bool {
	switch t.name {
	case "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "Date32":
		return true
	case "DateTime64":
		return t.prec == 6 || t.prec == 9
	}
	return false
}

func isInteger(k connectors.Kind) bool {
	return k >= connectors.TinyInt && k <= connectors.UBigInt
}

// converted reads the types whose values are stored otherwise in Arrow.
func (d *decoder) converted(t *chType, n int, raw []byte, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	out := memory.NewResizableBuffer(d.alloc)
	var err error
	switch t.name {
	case "Bool":
		err = d.bools(t, n, raw, out, nulls, nested)
	case "Date":
		out.Resize(4 * n)
		days := arrow.Date32Traits.CastFromBytes(out.Bytes())
		for i := range n {
			days[i] = arrow.Date32(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case "DateTime":
		out.Resize(8 * n)
		us := arrow.Int64Traits.CastFromBytes(out.Bytes())
		for i := range n {
			us[i] = int64(binary.LittleEndian.Uint32(raw[4*i:])) * 1_000_000
		}
	case "DateTime64":
		err = d.dateTime64(t, n, raw, out, nulls, nested)
	case "UUID":
		out.Resize(16 * n)
		turnUUIDs(out.Bytes(), raw, n)
	case "Decimal", "Int128":
		err = d.decimals(t, n, raw, out, nulls, nested)
	default:
		err = d.mismatch(t, want)
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return d.build(want.Arrow(), n, nulls, []*memory.Buffer{out}), nil
}

// turnUUIDs changes between ClickHouse's two little-endian halves and big-endian bytes;
// it is its own inverse.
func turnUUIDs(dst, src []byte, n int) {
	for i := 0; i < 16*n; i += 8 {
		binary.BigEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:]))
	}
}

func isNull(nulls []byte, i int) bool { return nulls != nil && nulls[i] != 0 }

func (d *decoder) bools(t *chType, n int, raw []byte, out *memory.Buffer, nulls []byte, nested bool) error {
	out.Resize(int(bitutil.BytesForBits(int64(n))))
	clear(out.Bytes())
	for i := range n {
		switch {
		case isNull(nulls, i) || raw[i] == 0:
		case raw[i] == 1:
			bitutil.SetBit(out.Bytes(), i)
		default:
			return d.bad(i, nested, strconv.Itoa(int(raw[i])), t.text+" is neither 0 nor 1")
		}
	}
	return nil
}

func (d *decoder) dateTime64(t *chType, n int, raw []byte, out *memory.Buffer, nulls []byte, nested bool) error {
	factor := int64(1)
	for p := t.prec; p != 6 && p != 9; p++ {
		factor *= 10
	}
	out.Resize(8 * n)
	ticks := arrow.Int64Traits.CastFromBytes(out.Bytes())
	for i := range n {
		v := int64(binary.LittleEndian.Uint64(raw[8*i:]))
		ticks[i] = v * factor
		if ticks[i]/factor != v && !isNull(nulls, i) {
			return d.bad(i, nested, strconv.FormatInt(v, 10), "the time is outside the range of "+t.logical().String())
		}
	}
	return nil
}

// decimals widens Decimal and Int128 to 128 bits and refuses what has more digits than
// the type says: ClickHouse does not check them in arithmetic.
func (d *decoder) decimals(t *chType, n int, raw []byte, out *memory.Buffer, nulls []byte, nested bool) error {
	out.Resize(16 * n)
	nums := arrow.Decimal128Traits.CastFromBytes(out.Bytes())
	w := t.width()
	check := t.name == "Decimal"
	limit := decimal128.GetMaxValue(int32(min(max(t.prec, 1), 38)))
	floor := limit.Negate()
	for i := range n {
		switch w {
		case 4:
			nums[i] = decimal128.FromI64(int64(int32(binary.LittleEndian.Uint32(raw[4*i:]))))
		case 8:
			nums[i] = decimal128.FromI64(int64(binary.LittleEndian.Uint64(raw[8*i:])))
		default:
			nums[i] = decimal128.New(int64(binary.LittleEndian.Uint64(raw[16*i+8:])), binary.LittleEndian.Uint64(raw[16*i:]))
		}
		if check && (nums[i].Greater(limit) || nums[i].Less(floor)) && !isNull(nulls, i) {
			return d.bad(i, nested, nums[i].ToString(int32(t.scale)), "it has more digits than "+t.text+" declares")
		}
	}
	return nil
}

// integers reads an integer column as another integer type, or as boolean.
func (d *decoder) integers(t *chType, n int, raw []byte, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	out := memory.NewResizableBuffer(d.alloc)
	w := t.width()
	put, size := intPutter(want.Kind)
	out.Resize(n * size)
	if want.Kind == connectors.Boolean {
		out.Resize(int(bitutil.BytesForBits(int64(n))))
	}
	clear(out.Bytes())
	lo, hi := kindRange(want.Kind)
	for i := range n {
		if isNull(nulls, i) {
			continue
		}
		v := readInt(raw[i*w:(i+1)*w], t.name[0] == 'U')
		if v.Cmp(lo) < 0 || v.Cmp(hi) > 0 {
			out.Release()
			return nil, d.bad(i, nested, v.String(), "it does not fit "+want.String())
		}
		if want.Kind == connectors.Boolean {
			if v.Sign() != 0 {
				bitutil.SetBit(out.Bytes(), i)
			}
			continue
		}
		put(out.Bytes()[i*size:], v)
	}
	return d.build(want.Arrow(), n, nulls, []*memory.Buffer{out}), nil
}

// readInt reads a little-endian integer of any width.
func readInt(b []byte, unsigned bool) *big.Int {
	be := make([]byte, len(b))
	for i := range b {
		be[len(b)-1-i] = b[i]
	}
	v := new(big.Int).SetBytes(be)
	if !unsigned && b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// kindRange is the span of an integer kind; booleans count as 0 and 1.
func kindRange(k connectors.Kind) (lo, hi *big.Int) {
	one := big.NewInt(1)
	bits, signed := uint(1), false
	switch k {
	case connectors.TinyInt, connectors.SmallInt, connectors.Integer, connectors.BigInt, connectors.HugeInt:
		bits, signed = 8<<(k-connectors.TinyInt), true
	case connectors.UTinyInt, connectors.USmallInt, connectors.UInteger, connectors.UBigInt:
		bits = 8 << (k - connectors.UTinyInt)
	}
	if signed {
		hi = new(big.Int).Lsh(one, bits-1)
		return new(big.Int).Neg(hi), hi.Sub(hi, one)
	}
	hi = new(big.Int).Lsh(one, bits)
	return new(big.Int), hi.Sub(hi, one)
}

// intPutter writes a value that fits as kind k's little-endian bytes.
func intPutter(k connectors.Kind) (put func([]byte, *big.Int), size int) {
	switch k {
	case connectors.TinyInt, connectors.UTinyInt:
		size = 1
	case connectors.SmallInt, connectors.USmallInt:
		size = 2
	case connectors.Integer, connectors.UInteger:
		size = 4
	case connectors.BigInt, connectors.UBigInt:
		size = 8
	case connectors.HugeInt:
		size = 16
	}
	return func(b []byte, v *big.Int) { putInt(b[:size], v) }, size
}

// putInt writes v as two's complement, little-endian.
func putInt(b []byte, v *big.Int) {
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	be := v.FillBytes(make([]byte, len(b)))
	for i := range b {
		b[i] = be[len(b)-1-i]
	}
}

// strings reads a String column.
func (d *decoder) strings(n int, want connectors.Type, nulls []byte, nested bool, t *chType) (arrow.ArrayData, error) {
	if want.Kind != connectors.Varchar && want.Kind != connectors.Blob && want.Kind != connectors.JSON {
		return nil, d.mismatch(t, want)
	}
	b := newTextBuffer(d.alloc, n)
	if err := b.readAll(d.in, n); err != nil {
		b.release()
		return nil, err
	}
	return d.finishText(b, n, want, nulls, nested)
}

func (d *decoder) finishText(b *textBuffer, n int, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	if want.Kind != connectors.Blob {
		if i := b.invalid(nulls); i >= 0 {
			v := fmt.Sprintf("%q", b.value(i))
			b.release()
			return nil, d.bad(i, nested, v, "it is not valid UTF-8: declare the column as data_type: blob in the source's columns")
		}
	}
	return d.build(want.Arrow(), n, nulls, []*memory.Buffer{b.off, b.trim()}), nil
}

// texts reads the types of fixed size that dvt carries as text.
func (d *decoder) texts(t *chType, n int, raw []byte, want connectors.Type, nulls []byte, nested bool) (arrow.ArrayData, error) {
	if want.Kind != connectors.Varchar && (want.Kind != connectors.Blob || t.name != "FixedString") {
		return nil, d.mismatch(t, want)
	}
	b := newTextBuffer(d.alloc, n)
	names := map[int16]string{}
	for _, e := range t.enum {
		names[e.value] = e.name
	}
	w := t.width()
	for i := range n {
		v := raw[i*w : (i+1)*w]
		if isNull(nulls, i) {
			v = nil
		} else if t.name != "FixedString" {
			s, ok := d.fixedText(t, v, names)
			if !ok {
				b.release()
				return nil, d.bad(i, nested, fmt.Sprint(readInt(v, false)), "it is no value of "+connectors.Shorten(t.text))
			}
			v = []byte(s)
		}
		if err := b.add(v); err != nil {
			b.release()
			return nil, err
		}
	}
	return d.finishText(b, n, want, nulls, nested)
}

func (d *decoder) fixedText(t *chType, v []byte, names map[int16]string) (string, bool) {
	switch t.name {
	case "IPv4":
		return netip.AddrFrom4([4]byte{v[3], v[2], v[1], v[0]}).String(), true
	case "IPv6":
		return netip.AddrFrom16([16]byte(v)).String(), true
	case "Enum8":
		s, ok := names[int16(int8(v[0]))]
		return s, ok
	}
	s, ok := names[int16(binary.LittleEndian.Uint16(v))]
	return s, ok
}
