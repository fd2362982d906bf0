package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxDigits is Python's limit for converting text to an integer.
const maxDigits = 4300

// toInt is what the int filter makes of v, or def.
func toInt(v, def Value, base int) Value {
	switch x := v.(type) {
	case string:
		if i, ok := parsePyInt(x, base); ok {
			return i
		}
		f, ok := parsePyFloat(x)
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

// parsePyInt is Python's int(s, base).
func parsePyInt(s string, base int) (Value, bool) {
	t := strings.ToLower(strings.TrimFunc(s, pySpace))
	neg := strings.HasPrefix(t, "-")
	if neg || strings.HasPrefix(t, "+") {
		t = t[1:]
	}
	switch base {
	case 16:
		t = strings.TrimPrefix(t, "0x")
	case 8:
		t = strings.TrimPrefix(t, "0o")
	case 2:
		t = strings.TrimPrefix(t, "0b")
	}
	if base < 2 && base != 0 || base > 36 || len(t) > maxDigits || t == "" || t[0] == '-' || t[0] == '+' {
		return nil, false
	}
	if base != 0 {
		t = strings.ReplaceAll(t, "_", "")
	}
	b, ok := new(big.Int).SetString(t, base)
	if !ok {
		return nil, false
	}
	if neg {
		b.Neg(b)
	}
	return normBig(b), true
}

func floatToInt(f float64) Value {
	f = math.Trunc(f)
	if math.Abs(f) < 1<<62 {
		return int64(f)
	}
	b, _ := new(big.Float).SetFloat64(f).Int(nil)
	return normBig(b)
}

// parsePyFloat is Python's float(s).
func parsePyFloat(s string) (float64, bool) {
	t := strings.TrimFunc(strings.ReplaceAll(s, "_", ""), pySpace)
	if strings.ContainsAny(t, "xXpP") {
		return 0, false
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil && math.IsInf(f, 0) { // 1e999 is inf, as in Python
		return f, true
	}
	return f, err == nil
}

// Round is Python's round(v, prec): half to even, decided on the exact value.
func Round(v Value, prec int64) (Value, error) {
	if b, ok := asBig(v); ok {
		if prec >= 0 {
			return normBig(b), nil
		}
		return roundInt(b, -prec), nil
	}
	if d, ok := v.(*Decimal); ok {
		return d.PyRound(prec)
	}
	f, ok := v.(float64)
	if !ok {
		return nil, TypeErr("type %s doesn't define __round__ method", TypeName(v))
	}
	if prec > 330 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f, nil
	}
	if prec < 0 {
		if prec < -308 {
			return 0.0 * f, nil
		}
		p := math.Pow10(int(-prec))
		return math.RoundToEven(f/p) * p, nil
	}
	r, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(prec), 64), 64)
	return r, nil
}

// roundInt rounds to a multiple of 10^digits.
func roundInt(b *big.Int, digits int64) Value {
	if digits > int64(b.BitLen())+1 { // 10^digits is more than twice b
		return int64(0)
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)
	q, m := new(big.Int).DivMod(b, p, new(big.Int))
	if c := new(big.Int).Lsh(m, 1).Cmp(p); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return normBig(q.Mul(q, p))
}
