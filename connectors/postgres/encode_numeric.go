package postgres

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// divMod is n / m and n % m.
func (n number) divMod(m uint64) (number, uint64) {
	h, r := n.hi/m, n.hi%m
	l, r := bits.Div64(r, n.lo, m)
	return number{h, l, n.neg}, r
}

func (n number) isZero() bool { return n.hi == 0 && n.lo == 0 }

// appendNumeric appends a count of 10^-scale as a binary numeric: groups of four
// decimal digits that meet at the point, without leading and trailing zero groups.
func appendNumeric(b []byte, n number, scale int) []byte {
	var groups [12]uint16 // least significant first
	count := 0
	// The first group takes what is left of a multiple of four digits after the point.
	pad := (4 - scale%4) % 4
	var d uint64
	if pad > 0 {
		n, d = n.divMod(pow10[4-pad].lo)
		groups[0], count = uint16(d*pow10[pad].lo), 1
	}
	for ; n.hi != 0; count++ {
		n, d = n.divMod(10000)
		groups[count] = uint16(d)
	}
	for v := n.lo; v != 0; count++ {
		groups[count] = uint16(v % 10000)
		v /= 10000
	}
	weight := count - 1 - (scale+3)/4
	low := 0
	for low < count && groups[low] == 0 {
		low++
	}
	for count > low && groups[count-1] == 0 {
		count--
		weight--
	}
	digits := count - low
	if digits == 0 {
		weight = 0
	}
	sign := uint16(numericPos)
	if n.neg && digits > 0 {
		sign = numericNeg
	}
	b = binary.BigEndian.AppendUint16(b, uint16(digits))
	b = binary.BigEndian.AppendUint16(b, uint16(weight))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, uint16(scale))
	for i := count - 1; i >= low; i-- {
		b = binary.BigEndian.AppendUint16(b, groups[i])
	}
	return b
}

// numericFits checks a count of 10^-scale against a numeric's modifier: the server would
// round it to the scale without a word.
func numericFits(typmod int32, scale int) func(number) bool {
	if typmod < 4 {
		return func(number) bool { return true }
	}
	p, s := numericModifier(typmod)
	unit := number{lo: 1}
	if s < scale {
		if scale-s > 38 {
			return number.isZero
		}
		unit = pow10[scale-s]
	}
	limitExp := p - s + scale // |n| < 10^limitExp
	return func(n number) bool {
		if limitExp < 0 && !n.isZero() || limitExp >= 0 && limitExp <= 38 && !(number{n.hi, n.lo, false}).less(pow10[limitExp]) {
			return false
		}
		return unit.hi == 0 && unit.lo == 1 || n.divides(unit)
	}
}

// divides reports whether unit, a power of ten, divides n.
func (n number) divides(unit number) bool {
	if unit.hi == 0 {
		_, r := n.divMod(unit.lo)
		return r == 0
	}
	m := new(big.Int).Mod(n.big(), unit.big())
	return m.Sign() == 0
}

// big is the magnitude.
func (n number) big() *big.Int {
	v := new(big.Int).SetUint64(n.hi)
	return v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(n.lo))
}

// text spells a count of 10^-scale.
func (n number) text(scale int) string {
	v := n.big()
	if n.neg {
		v.Neg(v)
	}
	return decimalText(v, scale)
}

func encodeDecimal(t connectors.Type, typmod int32) binder {
	scale, fits := t.Scale, numericFits(typmod, t.Scale)
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Decimal128)
		return func(b []byte, row int) ([]byte, error) {
			d := v.Value(row)
			n := magnitude(d.HighBits(), d.LowBits())
			if !fits(n) {
				return b, notNumeric(n, scale, typmod)
			}
			return appendNumeric(b, n, scale), nil
		}
	}
}

func notNumeric(n number, scale int, typmod int32) error {
	p, s := numericModifier(typmod)
	return &badValue{n.text(scale), fmt.Sprintf("numeric(%d,%d) does not hold it exactly", p, s)}
}

// encodeIntegerNumeric stores integers as numerics: an unsigned BIGINT has no other home.
func encodeIntegerNumeric(typmod int32) binder {
	fits := numericFits(typmod, 0)
	return func(a arrow.Array) appendFunc {
		read := integerReader(a)
		return func(b []byte, row int) ([]byte, error) {
			i, huge := read(row)
			n := number{lo: uint64(i)}
			if i < 0 && !huge {
				n = number{lo: abs64(i), neg: true}
			}
			if !fits(n) {
				return b, notNumeric(n, 0, typmod)
			}
			return appendNumeric(b, n, 0), nil
		}
	}
}

// encodeDecimalInteger stores whole decimals as integers where column_types asks for it.
func encodeDecimalInteger(info typeInfo) binder {
	switch info.oid {
	case oidInt2, oidInt4, oidInt8:
	default:
		return nil
	}
	return func(a arrow.Array) appendFunc {
		v := a.(*array.Decimal128)
		return func(b []byte, row int) ([]byte, error) {
			d := v.Value(row)
			n := int64(d.LowBits())
			if d != decimal128.FromI64(n) {
				m := magnitude(d.HighBits(), d.LowBits())
				return b, &badValue{m.text(0), "out of the range of " + spellOID(info.oid)}
			}
			return appendInteger(b, n, false, info.oid)
		}
	}
}
