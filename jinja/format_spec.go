package jinja

import (
	"strings"
	"unicode/utf8"
)

// fspec is Python's format specification mini-language:
// [[fill]align][sign][#][0][width][grouping][.precision][type].
type fspec struct {
	fill  string
	align byte
	sign  byte // 0, '+' or ' '
	alt   bool
	zero  bool
	width int
	comma byte // ',' or '_'
	prec  int  // -1 if not given
	typ   byte
}

// maxPrecision bounds the digits after the point; a float has no more than 1100.
const maxPrecision = 10_000

func (sp fspec) check() error {
	if sp.prec > maxPrecision {
		return ValueErr("precision too big")
	}
	return nil
}

func (sp fspec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case sp.sign != 0:
		return string(sp.sign)
	}
	return ""
}

// pad brings sign and body to the width.
func (sp fspec) pad(body, sign string) (string, error) {
	n := sp.width - utf8.RuneCountInString(body) - len(sign)
	if n <= 0 {
		return sign + body, nil
	}
	al := sp.align
	fill := sp.fill
	if al == 0 {
		al = '>'
		if sp.zero {
			al, fill = '=', "0"
		}
	}
	if err := checkRepeat(len(fill), int64(n), maxText); err != nil {
		return "", err
	}
	switch al {
	case '<':
		return sign + body + strings.Repeat(fill, n), nil
	case '^':
		return strings.Repeat(fill, n/2) + sign + body + strings.Repeat(fill, n-n/2), nil
	case '=':
		return sign + strings.Repeat(fill, n) + body, nil
	}
	return strings.Repeat(fill, n) + sign + body, nil
}

func isAlign(c byte) bool { return c == '<' || c == '>' || c == '^' || c == '=' }

func parseSpec(s string) (fspec, error) {
	sp := fspec{fill: " ", prec: -1}
	if r, n := utf8.DecodeRuneInString(s); n > 0 && len(s) > n && isAlign(s[n]) {
		sp.fill, sp.align = string(r), s[n]
		s = s[n+1:]
	} else if s != "" && isAlign(s[0]) {
		sp.align = s[0]
		s = s[1:]
	}
	// take consumes one of the bytes in set.
	take := func(set string) byte {
		if s == "" || strings.IndexByte(set, s[0]) < 0 {
			return 0
		}
		c := s[0]
		s = s[1:]
		return c
	}
	number := func() (int, error) {
		j := 0
		for j < len(s) && isDec(s[j]) {
			j++
		}
		n, err := widthOf(s[:j])
		s = s[j:]
		return n, err
	}
	if c := take("+- "); c != '-' {
		sp.sign = c
	}
	sp.alt = take("#") != 0
	sp.zero = take("0") != 0
	var err error
	if sp.width, err = number(); err != nil {
		return sp, err
	}
	sp.comma = take(",_")
	if take(".") != 0 {
		if s == "" || !isDec(s[0]) {
			return sp, ValueErr("Format specifier missing precision")
		}
		if sp.prec, err = number(); err != nil {
			return sp, err
		}
	}
	if len(s) > 1 {
		return sp, ValueErr("Invalid format specifier")
	}
	if s != "" {
		sp.typ = s[0]
	}
	return sp, sp.check()
}

// group puts sep between the thousands of the integer part.
func group(s string, sep byte) string {
	frac := ""
	if i := strings.IndexAny(s, ".e%"); i >= 0 {
		s, frac = s[:i], s[i:]
	}
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		if i > 0 && (len(s)-i)%3 == 0 {
			sb.WriteByte(sep)
		}
		sb.WriteByte(s[i])
	}
	return sb.String() + frac
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
	return formatText(s, sp)
}

func formatText(s string, sp fspec) (string, error) {
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
	return sp.pad(s, "")
}
