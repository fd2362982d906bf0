package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func formatNum(v Value, sp fspec) (string, error) {
	sign := ""
	neg := func(b bool) {
		switch {
		case b:
			sign = "-"
		case sp.sign != 0:
			sign = string(sp.sign)
		}
	}
	f, isF := v.(float64)
	var body string
	if !isF && sp.typ != 0 && strings.IndexByte("eEfFgG%", sp.typ) >= 0 {
		f, _ = asFloat(v)
		isF = true
	}
	if isF {
		neg(f < 0 || f == 0 && math.Signbit(f))
		a := math.Abs(f)
		p := sp.prec
		switch t := sp.typ; t {
		case 'f', 'F', '%':
			if p < 0 {
				p = 6
			}
			if t == '%' {
				a *= 100
			}
			body = strconv.FormatFloat(a, 'f', p, 64)
			if t == '%' {
				body += "%"
			}
		case 'e', 'E':
			if p < 0 {
				p = 6
			}
			body = strconv.FormatFloat(a, t, p, 64)
		case 'g', 'G', 'n':
			if p < 0 {
				p = 6
			}
			body = pyG(a, max(p, 1), sp.alt)
			if t == 'G' {
				body = strings.ToUpper(body)
			}
		case 0:
			if p >= 0 {
				body = pyG(a, max(p, 1), false)
				if !strings.ContainsAny(body, ".e") {
					body += ".0"
				}
			} else {
				body = FloatRepr(a)
			}
		default:
			return "", ValueErr("Unknown format code '%c' for object of type 'float'", sp.typ)
		}
	} else {
		b, ok := asBig(v)
		if !ok {
			return "", ValueErr("Unknown format code '%c' for object of type '%s'", sp.typ, TypeName(v))
		}
		neg(b.Sign() < 0)
		a := new(big.Int).Abs(b)
		switch sp.typ {
		case 0, 'd', 'n':
			body = a.String()
		case 'x':
			body = a.Text(16)
			if sp.alt {
				sign += "0x"
			}
		case 'X':
			body = strings.ToUpper(a.Text(16))
			if sp.alt {
				sign += "0X"
			}
		case 'o':
			body = a.Text(8)
			if sp.alt {
				sign += "0o"
			}
		case 'b':
			body = a.Text(2)
			if sp.alt {
				sign += "0b"
			}
		case 'c':
			body = string(rune(a.Int64()))
		default:
			return "", ValueErr("Unknown format code '%c' for object of type 'int'", sp.typ)
		}
	}
	if sp.comma != 0 {
		body = group(body, sp.comma)
	}
	return sp.pad(body, sign), nil
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
