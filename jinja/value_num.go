package jinja

import (
	"math"
	"math/big"
)

func asInt(v Value) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

func asBig(v Value) (*big.Int, bool) {
	if b, ok := v.(*big.Int); ok {
		return b, true
	}
	if i, ok := asInt(v); ok {
		return big.NewInt(i), true
	}
	return nil, false
}

// normBig keeps integers that fit as int64, so that equal integers have one type.
func normBig(b *big.Int) Value {
	if b.IsInt64() {
		return b.Int64()
	}
	return b
}

func asFloat(v Value) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(x).Float64()
		return f, true
	case *Decimal:
		return x.PyFloat(), true
	}
	if i, ok := asInt(v); ok {
		return float64(i), true
	}
	return 0, false
}

func isNum(v Value) bool {
	switch v.(type) {
	case int64, float64, bool, *big.Int:
		return true
	}
	return false
}

func unary(op string, v Value) (Value, error) {
	if u, ok := v.(*Undefined); ok {
		return nil, u.Err()
	}
	if d, ok := v.(*Decimal); ok {
		if op == "+" {
			return d, nil
		}
		return BinOp("-", int64(0), d)
	}
	if !isNum(v) {
		return nil, TypeErr("bad operand type for unary %s: '%s'", op, TypeName(v))
	}
	if op == "+" {
		if i, ok := asInt(v); ok {
			return i, nil
		}
		return v, nil
	}
	if x, ok := v.(float64); ok {
		return -x, nil
	}
	return numOp("-", int64(0), v)
}

// numOp is arithmetic on numbers: Python's floor division and modulo, integers of any size.
func numOp(op string, a, b Value) (Value, error) {
	_, fa := a.(float64)
	_, fb := b.(float64)
	if fa || fb {
		x, _ := asFloat(a)
		y, _ := asFloat(b)
		if math.IsInf(x, 0) && !fa || math.IsInf(y, 0) && !fb {
			return nil, newErr("OverflowError", "int too large to convert to float")
		}
		return floatOp(op, x, y)
	}
	x, ok1 := asInt(a)
	y, ok2 := asInt(b)
	if ok1 && ok2 {
		if v, ok := intOp(op, x, y); ok {
			return v, nil
		}
	}
	p, _ := asBig(a)
	q, _ := asBig(b)
	return bigOp(op, p, q)
}

func floatOp(op string, x, y float64) (Value, error) {
	zero := map[string]string{"/": "float division by zero", "//": "float floor division by zero", "%": "float modulo"}[op]
	if y == 0 && zero != "" {
		return nil, newErr("ZeroDivisionError", "%s", zero)
	}
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		return x / y, nil
	case "//":
		return math.Floor(x / y), nil
	case "%":
		m := math.Mod(x, y)
		if m != 0 && (m < 0) != (y < 0) {
			m += y
		}
		return m, nil
	}
	return floatPow(x, y)
}

func floatPow(x, y float64) (Value, error) {
	r := math.Pow(x, y)
	switch {
	case x == 0 && y < 0:
		return nil, newErr("ZeroDivisionError", "0.0 cannot be raised to a negative power")
	case math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0):
		return nil, newErr("OverflowError", "(34, 'Numerical result out of range')")
	case math.IsNaN(r) && !math.IsNaN(x) && !math.IsNaN(y):
		return nil, TypeErr("complex numbers are not supported")
	}
	return r, nil
}

// intOp does what fits into an int64; bigOp has the rest, and the errors.
func intOp(op string, x, y int64) (Value, bool) {
	switch op {
	case "+":
		r := x + y
		return r, (r > x) == (y > 0)
	case "-":
		r := x - y
		return r, (r < x) == (y > 0)
	case "*":
		if x == 0 || y == 0 {
			return int64(0), true
		}
		r := x * y
		return r, r/y == x && (x != -1 || y != math.MinInt64) && (y != -1 || x != math.MinInt64)
	case "//", "%":
		if y == 0 || y == -1 { // MinInt64 // -1 does not fit
			return nil, false
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q--
			m += y
		}
		if op == "%" {
			return m, true
		}
		return q, true
	}
	return nil, false
}

func bigOp(op string, p, q *big.Int) (Value, error) {
	r := new(big.Int)
	switch op {
	case "+":
		r.Add(p, q)
	case "-":
		r.Sub(p, q)
	case "*":
		r.Mul(p, q)
	case "/":
		if q.Sign() == 0 {
			return nil, newErr("ZeroDivisionError", "division by zero")
		}
		f, _ := new(big.Rat).SetFrac(p, q).Float64()
		if math.IsInf(f, 0) {
			return nil, newErr("OverflowError", "integer division result too large for a float")
		}
		return f, nil
	case "//", "%":
		if q.Sign() == 0 {
			if op == "%" {
				return nil, newErr("ZeroDivisionError", "integer modulo by zero")
			}
			return nil, newErr("ZeroDivisionError", "integer division or modulo by zero")
		}
		m := new(big.Int)
		r.DivMod(p, q, m) // m >= 0; Python gives it the divisor's sign
		if m.Sign() != 0 && q.Sign() < 0 {
			r.Sub(r, big.NewInt(1))
			m.Add(m, q)
		}
		if op == "%" {
			r = m
		}
	case "**":
		return bigPow(p, q)
	}
	return normBig(r), checkBits(r)
}

func bigPow(p, q *big.Int) (Value, error) {
	if q.Sign() < 0 {
		x, _ := asFloat(p)
		y, _ := asFloat(q)
		return floatPow(x, y)
	}
	if p.BitLen() > 1 && (q.BitLen() > 20 || int64(p.BitLen())*q.Int64() > maxBits) {
		return nil, newErr("OverflowError", "exponent too large")
	}
	if p.BitLen() <= 1 { // -1, 0, 1: only whether the exponent is zero or odd matters
		e := int64(q.Bit(0))
		if q.Sign() > 0 && e == 0 {
			e = 2
		}
		q = big.NewInt(e)
	}
	return normBig(new(big.Int).Exp(p, q, nil)), nil
}
