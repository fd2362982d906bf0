package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// formatNum formats a number as its type and the specification say.
func formatNum(v Value, sp fspec) (string, error) {
	if err := sp.check(); err != nil {
		return "", err
	}
	f, isFloat := v.(float64)
	if !isFloat && sp.typ != 0 && strings.IndexByte("eEfFgG%", sp.typ) >= 0 {
		f, _ = asFloat(v)
		if math.IsInf(f, 0) {
			return "", newErr("OverflowError", "int too large to convert to float")
		}
		isFloat = true
	}
	var body, sign string
	var err error
	if isFloat {
		sign = sp.signOf(f < 0 || f == 0 && math.Signbit(f))
		body, err = floatBody(math.Abs(f), sp)
	} else {
		b, ok := asBig(v)
		if !ok {
			return "", ValueErr("Unknown format code '%c' for object of type '%s'", sp.typ, TypeName(v))
		}
		sign = sp.signOf(b.Sign() < 0)
		var prefix string
		prefix, body, err = intBody(new(big.Int).Abs(b), sp)
		sign += prefix
	}
	if err != nil {
		return "", err
	}
	if sp.comma != 0 {
		body = group(body, sp.comma)
	}
	return sp.pad(body, sign)
}

// floatBody formats a float without its sign.
func floatBody(a float64, sp fspec) (string, error) {
	if math.IsInf(a, 0) || math.IsNaN(a) {
		return FloatRepr(a), nil
	}
	p := sp.prec
	if p < 0 {
		p = 6
	}
	switch t := sp.typ; t {
	case 'f', 'F':
		return strconv.FormatFloat(a, 'f', p, 64), nil
	case '%':
		return strconv.FormatFloat(a*100, 'f', p, 64) + "%", nil
	case 'e', 'E':
		return strconv.FormatFloat(a, t, p, 64), nil
	case 'g', 'n':
		return pyG(a, max(p, 1), sp.alt), nil
	case 'G':
		return strings.ToUpper(pyG(a, max(p, 1), sp.alt)), nil
	case 0:
		if sp.prec < 0 {
			return FloatRepr(a), nil
		}
		body := pyG(a, max(p, 1), false)
		if !strings.ContainsAny(body, ".e") {
			body += ".0"
		}
		return body, nil
	}
	return "", ValueErr("Unknown format code '%c' for object of type 'float'", sp.typ)
}

// intBody formats an integer without its sign; the prefix is 0x and the like.
func intBody(a *big.Int, sp fspec) (prefix, body string, err error) {
	base := map[byte]int{0: 10, 'd': 10, 'n': 10, 'x': 16, 'X': 16, 'o': 8, 'b': 2}[sp.typ]
	switch {
	case sp.typ == 'c':
		if !a.IsInt64() || a.Int64() > 0x10ffff {
			return "", "", newErr("OverflowError", "%%c arg not in range(0x110000)")
		}
		return "", string(rune(a.Int64())), nil
	case base == 0:
		return "", "", ValueErr("Unknown format code '%c' for object of type 'int'", sp.typ)
	}
	body = a.Text(base)
	if sp.typ == 'X' {
		body = strings.ToUpper(body)
	}
	if sp.alt && base != 10 {
		prefix = "0" + string(sp.typ)
	}
	return prefix, body, nil
}

// pyG is Python's 'g' formatting of a non-negative float.
func pyG(a float64, p int, alt bool) string {
	s := strconv.FormatFloat(a, 'e', p-1, 64)
	i := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[i+1:])
	strip := func(x string) string {
		if !alt && strings.IndexByte(x, '.') >= 0 {
			x = strings.TrimRight(strings.TrimRight(x, "0"), ".")
		}
		return x
	}
	if exp < -4 || exp >= p {
		return strip(s[:i]) + s[i:]
	}
	return strip(strconv.FormatFloat(a, 'f', p-1-exp, 64))
}
