package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
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

func numOp(op string, a, b Value) (Value, error) {
	_, fa := a.(float64)
	_, fb := b.(float64)
	if fa || fb || op == "/" {
		x, _ := asFloat(a)
		y, _ := asFloat(b)
		switch op {
		case "+":
			return x + y, nil
		case "-":
			return x - y, nil
		case "*":
			return x * y, nil
		case "/":
			if y == 0 {
				if fa || fb {
					return nil, &Error{Kind: "ZeroDivisionError", Msg: "float division by zero"}
				}
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "division by zero"}
			}
			return x / y, nil
		case "//":
			if y == 0 {
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "float floor division by zero"}
			}
			return math.Floor(x / y), nil
		case "%":
			if y == 0 {
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "float modulo"}
			}
			m := math.Mod(x, y)
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m, nil
		case "**":
			return math.Pow(x, y), nil
		}
		return nil, binErr(op, a, b)
	}
	x, ok1 := asInt(a)
	y, ok2 := asInt(b)
	if ok1 && ok2 {
		switch op {
		case "+":
			if r := x + y; (r > x) == (y > 0) {
				return r, nil
			}
		case "-":
			if r := x - y; (r < x) == (y > 0) {
				return r, nil
			}
		case "*":
			if x == 0 || y == 0 {
				return int64(0), nil
			}
			if r := x * y; r/y == x && !(x == -1 && y == math.MinInt64) && !(y == -1 && x == math.MinInt64) {
				return r, nil
			}
		case "//":
			if y == 0 {
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "integer division or modulo by zero"}
			}
			q := x / y
			if x%y != 0 && (x < 0) != (y < 0) {
				q--
			}
			return q, nil
		case "%":
			if y == 0 {
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "integer modulo by zero"}
			}
			m := x % y
			if m != 0 && (m < 0) != (y < 0) {
				m += y
			}
			return m, nil
		}
	}
	p, _ := asBig(a)
	q, _ := asBig(b)
	r := new(big.Int)
	switch op {
	case "+":
		return normBig(r.Add(p, q)), nil
	case "-":
		return normBig(r.Sub(p, q)), nil
	case "*":
		return normBig(r.Mul(p, q)), nil
	case "//", "%":
		if q.Sign() == 0 {
			return nil, &Error{Kind: "ZeroDivisionError", Msg: "integer division or modulo by zero"}
		}
		m := new(big.Int)
		r.DivMod(p, q, m) // Euclidean
		if m.Sign() != 0 && q.Sign() < 0 {
			r.Add(r, big.NewInt(-1))
			m.Add(m, q)
		}
		if op == "//" {
			return normBig(r), nil
		}
		return normBig(m), nil
	case "**":
		if q.Sign() < 0 {
			x, _ := asFloat(a)
			y, _ := asFloat(b)
			if x == 0 {
				return nil, &Error{Kind: "ZeroDivisionError", Msg: "0.0 cannot be raised to a negative power"}
			}
			return math.Pow(x, y), nil
		}
		if int64(p.BitLen())*q.Int64() > 1<<20 || !q.IsInt64() {
			return nil, &Error{Kind: "OverflowError", Msg: "exponent too large"}
		}
		return normBig(r.Exp(p, q, nil)), nil
	}
	return nil, binErr(op, a, b)
}

func toInt(v Value, def Value, base int) Value {
	switch x := v.(type) {
	case string:
		s := strings.TrimFunc(x, pySpace)
		t := strings.ToLower(strings.ReplaceAll(s, "_", ""))
		neg := strings.HasPrefix(t, "-")
		t = strings.TrimLeft(t, "+-")
		switch base {
		case 16:
			t = strings.TrimPrefix(t, "0x")
		case 8:
			t = strings.TrimPrefix(t, "0o")
		case 2:
			t = strings.TrimPrefix(t, "0b")
		}
		if b, ok := new(big.Int).SetString(t, base); ok && t != "" {
			if neg {
				b.Neg(b)
			}
			return normBig(b)
		}
		f, ok := parsePyFloat(s)
		if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
			return def
		}
		return floatToInt(f)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return def
		}
		return floatToInt(x)
	case *big.Int:
		return x
	case interface{ PyInt() Value }:
		return x.PyInt()
	}
	if i, ok := asInt(v); ok {
		return i
	}
	return def
}

func floatToInt(f float64) Value {
	f = math.Trunc(f)
	if math.Abs(f) < 1<<62 {
		return int64(f)
	}
	b, _ := new(big.Float).SetFloat64(f).Int(nil)
	return normBig(b)
}

func parsePyFloat(s string) (float64, bool) {
	t := strings.TrimFunc(strings.ReplaceAll(s, "_", ""), pySpace)
	if strings.ContainsAny(t, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	return f, err == nil
}

// Round is Python's round().
func Round(v Value, prec int64) (Value, error) {
	if i, ok := asInt(v); ok {
		if prec >= 0 {
			return i, nil
		}
		p := int64(math.Pow10(int(-prec)))
		q, r := i/p, i%p
		if r < 0 {
			r += p
			q--
		}
		if 2*r > p || 2*r == p && q%2 != 0 {
			q++
		}
		return q * p, nil
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, TypeErr("type %s doesn't define __round__ method", TypeName(v))
	}
	if prec < 0 {
		p := math.Pow10(int(-prec))
		return math.RoundToEven(f/p) * p, nil
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(prec), 64), 64)
	return r, nil
}
