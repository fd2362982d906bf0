package jinja

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Str is Python's str(v), and what {{ v }} prints.
func Str(v Value) string {
	switch x := v.(type) {
	case string:
		return x
	case *Undefined:
		return ""
	case Stringer:
		return x.PyStr()
	}
	return Repr(v)
}

// Repr is Python's repr(v).
func Repr(v Value) string {
	var r reprer
	r.value(v, 0)
	return r.String()
}

// reprer writes a repr; inside holds the containers being written, since a list can
// contain itself.
type reprer struct {
	strings.Builder
	walk   walk
	inside []Value
}

func (r *reprer) seq(open, end string, items []Value, depth int) {
	r.WriteString(open)
	for i, e := range items {
		if i > 0 {
			r.WriteString(", ")
		}
		r.value(e, depth+1)
	}
	r.WriteString(end)
}

// value writes v. Only containers can recurse.
func (r *reprer) value(v Value, depth int) {
	r.walk.step(depth)
	if r.Len() > maxText {
		exceed("text of more than %d bytes", maxText)
	}
	switch v.(type) {
	case *List, *Dict, *Tuple, *Set, *DictView:
		r.container(v, depth)
	default:
		r.scalar(v)
	}
}

func (r *reprer) container(v Value, depth int) {
	if slices.Contains(r.inside, v) {
		r.WriteString(map[string]string{"list": "[...]", "tuple": "(...)", "set": "set(...)", "dict": "{...}"}[TypeName(v)])
		return
	}
	r.inside = append(r.inside, v)
	switch x := v.(type) {
	case *List:
		r.seq("[", "]", x.Items, depth)
	case *Tuple:
		if len(x.Items) == 1 {
			r.seq("(", ",)", x.Items, depth)
		} else {
			r.seq("(", ")", x.Items, depth)
		}
	case *Dict:
		r.dict(x, depth)
	case *Set:
		if x.D.n == 0 {
			r.WriteString("set()")
		} else {
			r.seq("{", "}", x.D.Keys(), depth)
		}
	case *DictView:
		r.seq("dict_"+x.Kind+"([", "])", x.Items(), depth)
	}
	r.inside = r.inside[:len(r.inside)-1]
}

func (r *reprer) dict(d *Dict, depth int) {
	r.WriteByte('{')
	first := true
	d.Each(func(k, e Value) {
		if !first {
			r.WriteString(", ")
		}
		first = false
		r.value(k, depth+1)
		r.WriteString(": ")
		r.value(e, depth+1)
	})
	r.WriteByte('}')
}

func (r *reprer) scalar(v Value) {
	switch x := v.(type) {
	case nil:
		r.WriteString("None")
	case bool:
		if x {
			r.WriteString("True")
		} else {
			r.WriteString("False")
		}
	case int64:
		r.WriteString(strconv.FormatInt(x, 10))
	case *big.Int:
		r.WriteString(x.String())
	case float64:
		r.WriteString(FloatRepr(x))
	case string:
		r.WriteString(StrRepr(x))
	case *Range:
		if x.Step == 1 {
			fmt.Fprintf(&r.Builder, "range(%d, %d)", x.Start, x.Stop)
		} else {
			fmt.Fprintf(&r.Builder, "range(%d, %d, %d)", x.Start, x.Stop, x.Step)
		}
	case *Undefined:
		r.WriteString("Undefined")
	case *Gen:
		r.WriteString("<generator object " + x.name + " at 0x7f0000000000>")
	case Reprer:
		r.WriteString(x.PyRepr())
	case Stringer:
		r.WriteString(x.PyStr())
	default:
		r.WriteString("<" + TypeName(v) + " object>")
	}
}

// FloatRepr is Python's repr of a float: the shortest text that reads back as f.
func FloatRepr(f float64) string {
	if math.IsInf(f, 1) {
		return "inf"
	}
	if math.IsInf(f, -1) {
		return "-inf"
	}
	if math.IsNaN(f) {
		return "nan"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	i := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[i+1:])
	if exp < -4 || exp >= 16 {
		m, e := s[:i], s[i+1:]
		sign := e[0]
		d := e[1:]
		if len(d) < 2 {
			d = "0" + d
		}
		return m + "e" + string(sign) + d
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.ContainsRune(s, '.') {
		s += ".0"
	}
	return s
}

// StrRepr is Python's repr of a str.
func StrRepr(s string) string {
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	var sb strings.Builder
	sb.WriteByte(q)
	for _, r := range s {
		if sb.Len() > maxText {
			exceed("text of more than %d bytes", maxText)
		}
		switch {
		case r == rune(q) || r == '\\':
			sb.WriteByte('\\')
			sb.WriteRune(r)
		case r == '\n':
			sb.WriteString(`\n`)
		case r == '\t':
			sb.WriteString(`\t`)
		case r == '\r':
			sb.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&sb, `\x%02x`, r)
		case r > 0x7f && !unicode.IsPrint(r):
			if r <= 0xff {
				fmt.Fprintf(&sb, `\x%02x`, r)
			} else if r <= 0xffff {
				fmt.Fprintf(&sb, `\u%04x`, r)
			} else {
				fmt.Fprintf(&sb, `\U%08x`, r)
			}
		default:
			sb.WriteRune(r)
		}
	}
	sb.WriteByte(q)
	return sb.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
