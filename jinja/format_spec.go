package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type fspec struct {
	fill  string
	align byte
	sign  byte
	alt   bool
	zero  bool
	width int
	comma byte
	prec  int
	typ   byte
}

func (sp fspec) pad(body, sign string) string {
	n := sp.width - utf8.RuneCountInString(body) - len(sign)
	if n <= 0 {
		return sign + body
	}
	al := sp.align
	fill := sp.fill
	if al == 0 {
		al = '>'
		if sp.zero {
			al, fill = '=', "0"
		}
	}
	switch al {
	case '<':
		return sign + body + strings.Repeat(fill, n)
	case '^':
		return strings.Repeat(fill, n/2) + sign + body + strings.Repeat(fill, n-n/2)
	case '=':
		return sign + strings.Repeat(fill, n) + body
	}
	return strings.Repeat(fill, n) + sign + body
}

func parseSpec(s string) (fspec, error) {
	sp := fspec{fill: " ", prec: -1}
	isAl := func(c byte) bool { return c == '<' || c == '>' || c == '^' || c == '=' }
	if r, n := utf8.DecodeRuneInString(s); n > 0 && len(s) > n && isAl(s[n]) {
		sp.fill, sp.align = string(r), s[n]
		s = s[n+1:]
	} else if s != "" && isAl(s[0]) {
		sp.align = s[0]
		s = s[1:]
	}
	if s != "" && (s[0] == '+' || s[0] == '-' || s[0] == ' ') {
		if s[0] != '-' {
			sp.sign = s[0]
		}
		s = s[1:]
	}
	if s != "" && s[0] == '#' {
		sp.alt = true
		s = s[1:]
	}
	if s != "" && s[0] == '0' {
		sp.zero = true
		s = s[1:]
	}
	digits := func() int {
		j := 0
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		n, _ := strconv.Atoi(s[:j])
		s = s[j:]
		return n
	}
	sp.width = digits()
	if s != "" && (s[0] == ',' || s[0] == '_') {
		sp.comma = s[0]
		s = s[1:]
	}
	if s != "" && s[0] == '.' {
		s = s[1:]
		sp.prec = digits()
	}
	if len(s) > 1 {
		return sp, ValueErr("Invalid format specifier")
	}
	if s != "" {
		sp.typ = s[0]
	}
	return sp, nil
}

func group(s string, sep byte) string {
	frac := ""
	if i := strings.IndexAny(s, ".e"); i >= 0 {
		s, frac = s[:i], s[i:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + string(sep) + s[i:]
	}
	return s + frac
}

// Format is Python's format(v, spec).
func Format(v Value, spec string) (string, error) {
	if f, ok := v.(interface{ PyFormat(string) (string, error) }); ok {
		return f.PyFormat(spec)
	}
	if spec == "" {
		return Str(v), nil
	}
	sp, err := parseSpec(spec)
	if err != nil {
		return "", err
	}
	if b, ok := v.(bool); ok && sp.typ == 0 {
		v = Str(b)
	}
	if isNum(v) {
		if sp.zero && sp.align == 0 {
			sp.align, sp.fill = '=', "0"
		}
		return formatNum(v, sp)
	}
	s, ok := v.(string)
	if !ok {
		return "", TypeErr("unsupported format string passed to %s.__format__", TypeName(v))
	}
	if sp.typ != 0 && sp.typ != 's' {
		return "", ValueErr("Unknown format code '%c' for object of type 'str'", sp.typ)
	}
	if sp.align == '=' {
		return "", ValueErr("'=' alignment not allowed in string format specifier")
	}
	if sp.prec >= 0 {
		s = truncRunes(s, sp.prec)
	}
	if sp.align == 0 {
		sp.align = '<'
		if sp.zero {
			sp.fill = "0"
		}
	}
	return sp.pad(s, ""), nil
}
