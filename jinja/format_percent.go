package jinja

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

func PercentFormat(s string, arg Value) (Value, error) {
	var sb strings.Builder
	args := []Value{arg}
	tup, isTup := arg.(*Tuple)
	if isTup {
		args = tup.Items
	}
	d, isDict := arg.(*Dict)
	n := 0
	usedMap := false
	nextArg := func() (Value, error) {
		if n >= len(args) {
			return nil, TypeErr("not enough arguments for format string")
		}
		n++
		return args[n-1], nil
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			sb.WriteByte(s[i])
			continue
		}
		i++
		if i >= len(s) {
			return nil, ValueErr("incomplete format")
		}
		var v Value
		have := false
		if s[i] == '(' {
			j := strings.IndexByte(s[i:], ')')
			if j < 0 {
				return nil, ValueErr("incomplete format key")
			}
			if !isDict {
				return nil, TypeErr("format requires a mapping")
			}
			k := s[i+1 : i+j]
			x, ok := d.Get(k)
			if !ok {
				return nil, &Error{Kind: "KeyError", Msg: StrRepr(k)}
			}
			v, have, usedMap = x, true, true
			i += j + 1
		}
		var sp fspec
		sp.fill, sp.prec = " ", -1
		for ; i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0; i++ {
			switch s[i] {
			case '-':
				sp.align = '<'
			case '+', ' ':
				if sp.sign != '+' {
					sp.sign = s[i]
				}
			case '#':
				sp.alt = true
			case '0':
				sp.zero = true
			}
		}
		num := func() (int, bool, error) {
			if i < len(s) && s[i] == '*' {
				i++
				x, err := nextArg()
				w, _ := asInt(x)
				return int(w), true, err
			}
			j := i
			for i < len(s) && s[i] >= '0' && s[i] <= '9' {
				i++
			}
			w, _ := strconv.Atoi(s[j:i])
			return w, i > j, nil
		}
		w, _, err := num()
		if err != nil {
			return nil, err
		}
		sp.width = w
		if i < len(s) && s[i] == '.' {
			i++
			p, _, err := num()
			if err != nil {
				return nil, err
			}
			sp.prec = p
		}
		for i < len(s) && strings.IndexByte("hlL", s[i]) >= 0 {
			i++
		}
		if i >= len(s) {
			return nil, ValueErr("incomplete format")
		}
		c := s[i]
		if c == '%' {
			sb.WriteByte('%')
			continue
		}
		if !have {
			if v, err = nextArg(); err != nil {
				return nil, err
			}
		}
		var out string
		switch c {
		case 's', 'r', 'a':
			out = Str(v)
			if c != 's' {
				out = Repr(v)
			}
			if sp.prec >= 0 {
				out = truncRunes(out, sp.prec)
			}
			if sp.align == 0 {
				sp.align = '>'
			}
			sp.zero = false
			sb.WriteString(sp.pad(out, ""))
			continue
		case 'c':
			if k, ok := asInt(v); ok {
				out = string(rune(k))
			} else {
				out = Str(v)
			}
			sb.WriteString(sp.pad(out, ""))
			continue
		case 'd', 'i', 'u', 'x', 'X', 'o':
			if f, ok := v.(float64); ok && c != 'x' && c != 'X' && c != 'o' {
				v = floatToInt(f)
			}
			if _, ok := asBig(v); !ok {
				return nil, TypeErr("%%%c format: a real number is required, not %s", c, TypeName(v))
			}
			sp.typ = c
			if c == 'i' || c == 'u' {
				sp.typ = 'd'
			}
			if sp.prec > 0 {
				b, _ := asBig(v)
				t := new(big.Int).Abs(b).String()
				for len(t) < sp.prec {
					t = "0" + t
				}
				sg := ""
				if b.Sign() < 0 {
					sg = "-"
				} else if sp.sign != 0 {
					sg = string(sp.sign)
				}
				sb.WriteString(sp.pad(t, sg))
				continue
			}
			sp.prec = -1
		case 'e', 'E', 'f', 'F', 'g', 'G':
			if _, ok := asFloat(v); !ok {
				return nil, TypeErr("must be real number, not %s", TypeName(v))
			}
			f, _ := asFloat(v)
			v = f
			sp.typ = c
		default:
			return nil, ValueErr("unsupported format character '%c' (0x%x) at index %d", c, c, i)
		}
		if out, err = formatNum(v, sp); err != nil {
			return nil, err
		}
		sb.WriteString(out)
	}
	mapping := isDict
	switch arg.(type) { // as CPython: anything subscriptable but a tuple or a string counts as a mapping
	case *List, *Undefined, *Range:
		mapping = true
	}
	if !usedMap && n < len(args) && !mapping {
		return nil, TypeErr("not all arguments converted during string formatting")
	}
	return sb.String(), nil
}

func truncRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}
