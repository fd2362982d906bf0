package jinja

import (
	"math/big"
	"strings"
)

// Decimal is a Python Decimal: an exact number of digits, as databases have them. It is
// immutable.
type Decimal struct {
	coef  *big.Int
	scale int // digits behind the point, never negative
}

// decimalDigits is the precision of Python's default decimal context: results of
// arithmetic are rounded to it, half to even.
const decimalDigits = 28

var ten = big.NewInt(10)

// NewDecimal reads a plain number such as -12.50, with or without digits behind the
// point; ok is false for anything else.
func NewDecimal(s string) (d *Decimal, ok bool) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" || len(s) > maxBits/4 {
		return nil, false
	}
	c, _ := new(big.Int).SetString(whole+fraction, 10)
	if strings.HasPrefix(s, "-") {
		c.Neg(c)
	}
	return &Decimal{c, len(fraction)}, true
}

func asDecimal(v Value) (*Decimal, bool) {
	if d, ok := v.(*Decimal); ok {
		return d, true
	}
	if b, ok := asBig(v); ok {
		return &Decimal{b, 0}, true
	}
	return nil, false
}

// PyType and the other Py methods make a Decimal behave as Python's.
func (d *Decimal) PyType() string { return "decimal.Decimal" }

// PyStr has all digits and no exponent, whatever the size: templates write it into SQL.
func (d *Decimal) PyStr() string {
	s := new(big.Int).Abs(d.coef).String()
	if d.scale > 0 {
		s = strings.Repeat("0", max(0, d.scale+1-len(s))) + s
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.coef.Sign() < 0 {
		s = "-" + s
	}
	return s
}

func (d *Decimal) PyRepr() string { return "Decimal('" + d.PyStr() + "')" }
func (d *Decimal) PyBool() bool   { return d.coef.Sign() != 0 }
func (d *Decimal) PyInt() Value   { return normBig(new(big.Int).Quo(d.coef, pow10(d.scale))) }

// PyFloat is the nearest float.
func (d *Decimal) PyFloat() float64 { f, _ := d.rat().Float64(); return f }

func (d *Decimal) rat() *big.Rat { return new(big.Rat).SetFrac(d.coef, pow10(d.scale)) }

func (d *Decimal) PyEq(o Value) bool {
	c, ok := d.PyCmp(o)
	return ok && c == 0
}

func (d *Decimal) PyCmp(o Value) (int, bool) {
	if f, ok := o.(float64); ok {
		r := new(big.Rat).SetFloat64(f)
		if r == nil { // infinite or no number
			return -cmpFloat(f, 0), f == f
		}
		return d.rat().Cmp(r), true
	}
	x, ok := asDecimal(o)
	if !ok {
		return 0, false
	}
	return d.rat().Cmp(x.rat()), true
}

// number is the plain number that equals d and so must have its hash, nil if there is none.
func (d *Decimal) number() Value {
	r := d.rat()
	if r.IsInt() {
		return normBig(r.Num())
	}
	if f, exact := r.Float64(); exact {
		return f
	}
	return nil
}

// PyRound is round(d, digits): half to even.
func (d *Decimal) PyRound(digits int64) (Value, error) {
	if digits < 0 || digits > maxText {
		return nil, newErr("InvalidOperation", "cannot round a Decimal to %d digits", digits)
	}
	if int(digits) >= d.scale {
		return &Decimal{new(big.Int).Mul(d.coef, pow10(int(digits)-d.scale)), int(digits)}, nil
	}
	return &Decimal{halfEven(d.coef, d.scale-int(digits)), int(digits)}, nil
}

// PyBinOp knows integers and Decimals; with a float it is an error, as in Python.
func (d *Decimal) PyBinOp(op string, o Value, reflected bool) (Value, bool, error) {
	x, ok := asDecimal(o)
	if !ok {
		return nil, false, nil
	}
	a, b := d, x
	if reflected {
		a, b = x, d
	}
	scale := max(a.scale, b.scale)
	p := new(big.Int).Mul(a.coef, pow10(scale-a.scale))
	q := new(big.Int).Mul(b.coef, pow10(scale-b.scale))
	switch op {
	case "+":
		return fix(p.Add(p, q), scale), true, nil
	case "-":
		return fix(p.Sub(p, q), scale), true, nil
	case "*":
		return fix(p.Mul(a.coef, b.coef), a.scale+b.scale), true, nil
	case "/", "//", "%":
		if q.Sign() == 0 {
			return nil, true, newErr("ZeroDivisionError", "division by zero")
		}
	}
	switch op {
	case "/":
		return quotient(a, b), true, nil
	case "//":
		return &Decimal{p.Quo(p, q), 0}, true, nil // towards zero, unlike Python's integers
	case "%":
		return fix(p.Rem(p, q), scale), true, nil
	}
	return nil, false, nil
}

// quotient has decimalDigits digits, and no zeros at the end that neither operand brings.
func quotient(a, b *Decimal) *Decimal {
	up := max(0, decimalDigits+2-len(a.coef.String())+len(b.coef.String()))
	n := new(big.Int).Mul(a.coef, pow10(up))
	rest := new(big.Int)
	n.QuoRem(n, b.coef, rest)
	scale := a.scale - b.scale + up
	if rest.Sign() != 0 {
		// One digit more than is kept tells which side of a half the rest is on.
		n.Mul(n, ten)
		n.Add(n, big.NewInt(int64(rest.Sign()*b.coef.Sign())))
		scale++
	} else {
		ideal := max(0, a.scale-b.scale)
		for q, m := new(big.Int), new(big.Int); scale > ideal; scale-- {
			if q.QuoRem(n, ten, m); m.Sign() != 0 {
				break
			}
			n.Set(q)
		}
	}
	if scale < 0 {
		n.Mul(n, pow10(-scale))
		scale = 0
	}
	return fix(n, scale)
}

// fix rounds to the context's precision, as far as that is behind the point.
func fix(coef *big.Int, scale int) *Decimal {
	digits := len(new(big.Int).Abs(coef).String())
	if cut := min(digits-decimalDigits, scale); cut > 0 {
		return &Decimal{halfEven(coef, cut), scale - cut}
	}
	return &Decimal{coef, scale}
}

// halfEven drops the last digits of n.
func halfEven(n *big.Int, digits int) *big.Int {
	p := pow10(digits)
	q, m := new(big.Int).QuoRem(n, p, new(big.Int))
	switch m.Abs(m).Lsh(m, 1).Cmp(p) {
	case 0:
		if q.Bit(0) == 0 {
			return q
		}
	case -1:
		return q
	}
	return q.Add(q, big.NewInt(int64(n.Sign())))
}

func pow10(n int) *big.Int { return new(big.Int).Exp(ten, big.NewInt(int64(max(n, 0))), nil) }

// PyFormat takes a float for any spec but the empty one.
func (d *Decimal) PyFormat(spec string) (string, error) {
	if spec == "" {
		return d.PyStr(), nil
	}
	return Format(d.PyFloat(), spec)
}
