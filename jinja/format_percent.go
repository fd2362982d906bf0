package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PercentFormat is Python's s % arg.
func PercentFormat(s string, arg Value) (Value, error) {
	p := &percent{s: s, args: []Value{arg}}
	if t, ok := arg.(*Tuple); ok {
		p.args = t.Items
	}
	p.dict, _ = arg.(*Dict)
	for p.i < len(s) {
		j := strings.IndexByte(s[p.i:], '%')
		if j < 0 {
			break
		}
		p.out.WriteString(s[p.i : p.i+j])
		p.i += j + 1
		if err := p.directive(); err != nil {
			return nil, err
		}
		if p.out.Len() > maxText {
			return nil, limitErr("text of more than %d bytes", maxText)
		}
	}
	p.out.WriteString(s[p.i:])
	mapping := p.dict != nil
	switch arg.(type) { // as CPython: anything subscriptable but a tuple or a string counts as a mapping
	case *List, *Undefined, *Range:
		mapping = true
	}
	if !p.named && p.n < len(p.args) && !mapping {
		return nil, TypeErr("not all arguments converted during string formatting")
	}
	return p.out.String(), nil
}

// percent is one run over a format string; i is behind the last "%".
type percent struct {
	s     string
	i     int
	out   strings.Builder
	args  []Value
	n     int // arguments used
	dict  *Dict
	named bool // a %(name) was used
}

func (p *percent) arg() (Value, error) {
	if p.n >= len(p.args) {
		return nil, TypeErr("not enough arguments for format string")
	}
	p.n++
	return p.args[p.n-1], nil
}

func (p *percent) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *percent) directive() error {
	v, have, err := p.key()
	if err != nil {
		return err
	}
	sp := p.flags()
	if sp.width, err = p.number(); err != nil {
		return err
	}
	if p.peek() == '.' {
		p.i++
		if sp.prec, err = p.number(); err != nil {
			return err
		}
	}
	for p.i < len(p.s) && strings.IndexByte("hlL", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i >= len(p.s) {
		return ValueErr("incomplete format")
	}
	c := p.s[p.i]
	p.i++
	if c == '%' {
		p.out.WriteByte('%')
		return nil
	}
	if !have {
		if v, err = p.arg(); err != nil {
			return err
		}
	}
	t, err := p.convert(c, v, sp)
	p.out.WriteString(t)
	return err
}

// key reads %(name) and gives its value.
func (p *percent) key() (Value, bool, error) {
	if p.i >= len(p.s) {
		return nil, false, ValueErr("incomplete format")
	}
	if p.s[p.i] != '(' {
		return nil, false, nil
	}
	j := strings.IndexByte(p.s[p.i:], ')')
	if j < 0 {
		return nil, false, ValueErr("incomplete format key")
	}
	if p.dict == nil {
		return nil, false, TypeErr("format requires a mapping")
	}
	k := p.s[p.i+1 : p.i+j]
	v, ok := p.dict.GetStr(k)
	if !ok {
		return nil, false, newErr("KeyError", "%s", StrRepr(k))
	}
	p.i += j + 1
	p.named = true
	return v, true, nil
}

func (p *percent) flags() fspec {
	sp := fspec{fill: " ", prec: -1}
	for ; p.i < len(p.s) && strings.IndexByte("-+ #0", p.s[p.i]) >= 0; p.i++ {
		switch c := p.s[p.i]; c {
		case '-':
			sp.align = '<'
		case '+', ' ':
			if sp.sign != '+' {
				sp.sign = c
			}
		case '#':
			sp.alt = true
		case '0':
			sp.zero = true
		}
	}
	return sp
}

// number reads a width or precision; "*" takes it from the arguments.
func (p *percent) number() (int, error) {
	if p.peek() == '*' {
		p.i++
		v, err := p.arg()
		if err != nil {
			return 0, err
		}
		w, ok := asInt(v)
		if !ok {
			return 0, TypeErr("* wants int")
		}
		return int(w), nil
	}
	j := p.i
	for p.i < len(p.s) && isDec(p.s[p.i]) {
		p.i++
	}
	return widthOf(p.s[j:p.i])
}

// convert formats v for the conversion c.
func (p *percent) convert(c byte, v Value, sp fspec) (string, error) {
	switch c {
	case 's', 'r', 'a', 'c':
		return percentText(c, v, sp)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return percentInt(c, v, sp)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f, ok := asFloat(v)
		if !ok {
			return "", TypeErr("must be real number, not %s", TypeName(v))
		}
		sp.typ = c
		return formatNum(f, sp)
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i-1:])
	return "", ValueErr("unsupported format character '%c' (0x%x) at index %d", r, r, utf8.RuneCountInString(p.s[:p.i-1]))
}

func percentText(c byte, v Value, sp fspec) (string, error) {
	t := Str(v)
	switch c {
	case 'c':
		if k, ok := asInt(v); ok {
			t = string(rune(k))
		} else if s, ok := v.(string); !ok || utf8.RuneCountInString(s) != 1 {
			return "", TypeErr("%%c requires int or char")
		}
	case 's':
	default:
		t = Repr(v)
	}
	if sp.prec >= 0 && c != 'c' {
		t = truncRunes(t, sp.prec)
	}
	if sp.align == 0 {
		sp.align = '>'
	}
	return sp.pad(t, "")
}

func percentInt(c byte, v Value, sp fspec) (string, error) {
	if f, ok := v.(float64); ok && c != 'x' && c != 'X' && c != 'o' {
		switch {
		case math.IsInf(f, 0):
			return "", newErr("OverflowError", "cannot convert float infinity to integer")
		case math.IsNaN(f):
			return "", ValueErr("cannot convert float NaN to integer")
		}
		v = floatToInt(f)
	}
	b, ok := asBig(v)
	if !ok {
		return "", TypeErr("%%%c format: a real number is required, not %s", c, TypeName(v))
	}
	sp.typ = c
	if c == 'i' || c == 'u' {
		sp.typ = 'd'
	}
	if sp.prec <= 0 {
		sp.prec = -1
		return formatNum(normBig(b), sp)
	}
	if err := sp.check(); err != nil {
		return "", err
	}
	t := new(big.Int).Abs(b).Text(map[byte]int{'d': 10, 'x': 16, 'X': 16, 'o': 8}[sp.typ])
	if c == 'X' {
		t = strings.ToUpper(t)
	}
	t = strings.Repeat("0", max(0, sp.prec-len(t))) + t
	return sp.pad(t, sp.signOf(b.Sign() < 0))
}

func truncRunes(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n])
}

// widthOf reads the digits of a width or precision.
func widthOf(digits string) (int, error) {
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, ValueErr("Too many decimal digits in format string")
	}
	return n, nil
}
