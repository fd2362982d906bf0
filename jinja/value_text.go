package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

func TypeName(v Value) string {
	switch x := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *List:
		return "list"
	case *Tuple:
		return "tuple"
	case *Dict:
		return "dict"
	case *Set:
		return "set"
	case *Range:
		return "range"
	case *DictView:
		return "dict_" + x.Kind
	case *Gen:
		return "generator"
	case *Undefined:
		return "Undefined"
	case Typed:
		return x.PyType()
	}
	return fmt.Sprintf("%T", v)
}

func Truth(v Value) bool {
	switch x := v.(type) {
	case nil:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case *big.Int:
		return x.Sign() != 0
	case string:
		return x != ""
	case *List:
		return len(x.Items) > 0
	case *Tuple:
		return len(x.Items) > 0
	case *Dict:
		return x.n > 0
	case *Set:
		return x.D.n > 0
	case *DictView:
		return x.D.n > 0
	case *Range:
		return x.Len() > 0
	case *Undefined:
		return false
	case Truther:
		return x.PyBool()
	case Lener:
		return x.PyLen() > 0
	}
	return true
}

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

func Repr(v Value) string {
	var sb strings.Builder
	repr(&sb, v, 0)
	return sb.String()
}

func reprSeq(sb *strings.Builder, open, close string, items []Value, depth int) {
	sb.WriteString(open)
	for i, e := range items {
		if i > 0 {
			sb.WriteString(", ")
		}
		repr(sb, e, depth+1)
	}
	sb.WriteString(close)
}

func repr(sb *strings.Builder, v Value, depth int) {
	if depth > 60 {
		sb.WriteString("...")
		return
	}
	switch x := v.(type) {
	case nil:
		sb.WriteString("None")
	case bool:
		if x {
			sb.WriteString("True")
		} else {
			sb.WriteString("False")
		}
	case int64:
		sb.WriteString(strconv.FormatInt(x, 10))
	case *big.Int:
		sb.WriteString(x.String())
	case float64:
		sb.WriteString(FloatRepr(x))
	case string:
		sb.WriteString(StrRepr(x))
	case *List:
		reprSeq(sb, "[", "]", x.Items, depth)
	case *Tuple:
		if len(x.Items) == 1 {
			reprSeq(sb, "(", ",)", x.Items, depth)
		} else {
			reprSeq(sb, "(", ")", x.Items, depth)
		}
	case *Dict:
		sb.WriteByte('{')
		first := true
		x.Each(func(k, e Value) {
			if !first {
				sb.WriteString(", ")
			}
			first = false
			repr(sb, k, depth+1)
			sb.WriteString(": ")
			repr(sb, e, depth+1)
		})
		sb.WriteByte('}')
	case *Set:
		if x.D.n == 0 {
			sb.WriteString("set()")
			return
		}
		reprSeq(sb, "{", "}", x.D.Keys(), depth)
	case *DictView:
		reprSeq(sb, "dict_"+x.Kind+"([", "])", x.Items(), depth)
	case *Range:
		if x.Step == 1 {
			fmt.Fprintf(sb, "range(%d, %d)", x.Start, x.Stop)
		} else {
			fmt.Fprintf(sb, "range(%d, %d, %d)", x.Start, x.Stop, x.Step)
		}
	case *Undefined:
		sb.WriteString("Undefined")
	case *Gen:
		fmt.Fprintf(sb, "<generator object %s at 0x7f0000000000>", x.name)
	case Reprer:
		sb.WriteString(x.PyRepr())
	case Stringer:
		sb.WriteString(x.PyStr())
	default:
		fmt.Fprintf(sb, "<%s object>", TypeName(v))
	}
}

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

func StrRepr(s string) string {
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	var sb strings.Builder
	sb.WriteByte(q)
	for _, r := range s {
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
