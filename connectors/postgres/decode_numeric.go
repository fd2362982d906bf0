package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/dvt-dev/dvt/connectors"
)

// The sign word of a binary numeric.
const (
	numericPos  = 0x0000
	numericNeg  = 0x4000
	numericNaN  = 0xC000
	numericPInf = 0xD000
	numericNInf = 0xF000
)

// number is a magnitude of 128 bits and a sign.
type number struct {
	hi, lo uint64
	neg    bool
}

var errTooLong = errors.New("more than 38 digits")

// mulAdd is n*m + a for small m and a; ok is false when it does not fit 128 bits.
func (n number) mulAdd(m, a uint64) (number, bool) {
	h, l := bits.Mul64(n.lo, m)
	over, h2 := bits.Mul64(n.hi, m)
	l, c := bits.Add64(l, a, 0)
	h, c = bits.Add64(h, h2, c)
	return number{h, l, n.neg}, over == 0 && c == 0
}

// less compares magnitudes.
func (n number) less(o number) bool { return n.hi < o.hi || n.hi == o.hi && n.lo < o.lo }

// pow10 are the powers of ten up to 10^38.
var pow10 = func() (p [39]number) {
	p[0] = number{lo: 1}
	for i := 1; i < len(p); i++ {
		p[i], _ = p[i-1].mulAdd(10, 0)
	}
	return p
}()

// parseNumeric reads a binary numeric as an integer count of 10^-scale. A value with
// digits beyond scale, NaN and the infinities are *badValue.
func parseNumeric(b []byte, scale int) (number, error) {
	if len(b) < 8 {
		return number{}, errLength
	}
	digits, weight, sign := int(be16(b)), int(be16(b[2:])), binary.BigEndian.Uint16(b[4:])
	switch sign {
	case numericPos, numericNeg:
	default:
		return number{}, &badValue{numericText(b), "a decimal cannot hold it: filter it out or cast the column to double precision in a view"}
	}
	if b = b[8:]; digits < 0 || len(b) != 2*digits {
		return number{}, errLength
	}
	n := number{neg: sign == numericNeg}
	exp := 4*weight + scale // the power of ten that the current digit counts
	for i := range digits {
		d := uint64(binary.BigEndian.Uint16(b[2*i:]))
		ok := true
		switch {
		case exp >= 0:
			n, ok = n.mulAdd(10000, d)
		case exp > -4: // the digit straddles the scale
			unit := pow10[-exp].lo
			if d%unit != 0 {
				return n, errScale
			}
			n, ok = n.mulAdd(pow10[4+exp].lo, d/unit)
		case d != 0:
			return n, errScale
		}
		if !ok {
			return n, errTooLong
		}
		exp -= 4
	}
	if exp += 4; digits > 0 && exp > 0 {
		for ; exp > 0; exp-- {
			var ok bool
			if n, ok = n.mulAdd(10, 0); !ok {
				return n, errTooLong
			}
		}
	}
	return n, nil
}

var errScale = errors.New("digits beyond the scale")

func decodeDecimal(b *array.Decimal128Builder, t connectors.Type, oid uint32) func([]byte) error {
	switch oid {
	case oidNumeric:
	case oidInt2, oidInt4, oidInt8:
		if t.Kind != connectors.HugeInt && (t.Scale != 0 || t.Precision < 19) {
			return nil
		}
		return func(v []byte) error {
			n, err := integer(v)
			b.Append(decimal128.FromI64(n))
			return err
		}
	default:
		return nil
	}
	limit := number{hi: 1 << 63} // HUGEINT
	if t.Kind == connectors.Decimal {
		limit = pow10[t.Precision]
	}
	return func(v []byte) error {
		n, err := parseNumeric(v, t.Scale)
		if err == nil && !n.less(limit) {
			if t.Kind != connectors.HugeInt || !n.neg || n != (number{limit.hi, limit.lo, true}) {
				err = errTooLong
			}
		}
		if err != nil {
			var bad *badValue
			if errors.As(err, &bad) || errors.Is(err, errLength) {
				return err
			}
			return &badValue{numericText(v), fmt.Sprintf("it does not fit %s (%v)", t, err)}
		}
		b.Append(n.decimal())
		return nil
	}
}

func (n number) decimal() decimal128.Num {
	if n.neg {
		lo, borrow := bits.Sub64(0, n.lo, 0)
		hi, _ := bits.Sub64(0, n.hi, borrow)
		return decimal128.New(int64(hi), lo)
	}
	return decimal128.New(int64(n.hi), n.lo)
}

// numericText spells a binary numeric for a message.
func numericText(b []byte) string {
	if len(b) < 8 {
		return "?"
	}
	digits, weight, sign, scale := int(be16(b)), int(be16(b[2:])), binary.BigEndian.Uint16(b[4:]), int(be16(b[6:]))
	var s strings.Builder
	switch sign {
	case numericNaN:
		return "NaN"
	case numericPInf:
		return "Infinity"
	case numericNInf:
		return "-Infinity"
	case numericNeg:
		s.WriteByte('-')
	}
	digit := func(i int) int {
		if at := 8 + 2*i; i >= 0 && i < digits && at+2 <= len(b) {
			return int(binary.BigEndian.Uint16(b[at:]))
		}
		return 0
	}
	if weight < 0 {
		s.WriteByte('0')
	}
	for i := 0; i <= weight; i++ {
		if i == 0 {
			fmt.Fprintf(&s, "%d", digit(0))
		} else {
			fmt.Fprintf(&s, "%04d", digit(i))
		}
	}
	var frac strings.Builder
	for i := weight + 1; frac.Len() < scale; i++ {
		fmt.Fprintf(&frac, "%04d", digit(i))
	}
	if scale > 0 {
		s.WriteString("." + frac.String()[:scale])
	}
	return s.String()
}
