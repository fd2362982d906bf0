package mysql

import "math/bits"

// u128 is an unsigned number of 128 bits.
type u128 struct{ hi, lo uint64 }

func (a u128) less(b u128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

// minusOne is false for 0.
func (a u128) minusOne() (u128, bool) {
	lo, borrow := bits.Sub64(a.lo, 1, 0)
	hi, borrow := bits.Sub64(a.hi, 0, borrow)
	return u128{hi, lo}, borrow == 0
}

// times10 computes 10·a + d.
func (a u128) times10(d uint64) (u128, bool) {
	hi, lo := bits.Mul64(a.lo, 10)
	over, mid := bits.Mul64(a.hi, 10)
	lo, carry := bits.Add64(lo, d, 0)
	hi, carry2 := bits.Add64(hi, mid, carry)
	return u128{hi, lo}, over == 0 && carry2 == 0
}

func powerOfTen(n int) u128 {
	p := u128{0, 1}
	for range n {
		p, _ = p.times10(0)
	}
	return p
}

// parseDecimal reads a decimal's text as an unscaled number of the given scale. It is
// false for digits beyond the scale that are not zero, for 2^127 and above, and for
// text that is no decimal.
func parseDecimal(s []byte, scale int) (n u128, neg, ok bool) {
	if len(s) > 0 && (s[0] == '-' || s[0] == '+') {
		neg = s[0] == '-'
		s = s[1:]
	}
	if len(s) == 0 {
		return n, neg, false
	}
	frac, point, seen := 0, false, false
	for _, c := range s {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return n, neg, false
		}
		seen = true
		if point && frac == scale {
			if c != '0' {
				return n, neg, false
			}
			continue
		}
		if n, ok = n.times10(uint64(c - '0')); !ok {
			return n, neg, false
		}
		if point {
			frac++
		}
	}
	for ; frac < scale; frac++ {
		if n, ok = n.times10(0); !ok {
			return n, neg, false
		}
	}
	// HUGEINT's lowest value, -2^127, is the one of its sign that a positive lacks.
	top := u128{1 << 63, 0}
	return n, neg, seen && (n.less(top) || neg && n == top)
}
