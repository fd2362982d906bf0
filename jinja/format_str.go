package jinja

import (
	"strconv"
	"strings"
)

// StrFormat is str.format.
func StrFormat(st *State, s string, a Args) (Value, error) {
	f := &formatter{st: st, a: a}
	return f.format(s, 0)
}

// formatter is one str.format call; auto is the next index of "{}".
type formatter struct {
	st   *State
	a    Args
	auto int
}

func (f *formatter) format(s string, depth int) (string, error) {
	if depth > 2 {
		return "", ValueErr("Max string recursion exceeded")
	}
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(s) && s[i+1] == c:
			sb.WriteByte(c)
			i++
		case c == '}':
			return "", ValueErr("Single '}' encountered in format string")
		case c != '{':
			sb.WriteByte(c)
		default:
			j := closing(s, i)
			if j < 0 {
				return "", ValueErr("expected '}' before end of string")
			}
			t, err := f.replacement(s[i+1:j], depth)
			if err != nil {
				return "", err
			}
			if sb.Len()+len(t) > maxText {
				return "", limitErr("text of more than %d bytes", maxText)
			}
			sb.WriteString(t)
			i = j
		}
	}
	return sb.String(), nil
}

// closing gives the offset of the brace that closes the one at i, or -1.
func closing(s string, i int) int {
	level := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '{':
			level++
		case '}':
			if level--; level == 0 {
				return i
			}
		}
	}
	return -1
}

// replacement formats what stands between braces: name[!conversion][:spec].
func (f *formatter) replacement(field string, depth int) (string, error) {
	spec, conv := "", byte(0)
	if k := strings.IndexAny(field, ":!"); k >= 0 {
		rest := field[k:]
		field = field[:k]
		if rest[0] == '!' {
			if len(rest) < 2 {
				return "", ValueErr("end of string while looking for conversion specifier")
			}
			conv = rest[1]
			rest = rest[2:]
		}
		if rest != "" {
			if rest[0] != ':' {
				return "", ValueErr("expected ':' after conversion specifier")
			}
			spec = rest[1:]
		}
	}
	v, err := f.field(field)
	if err != nil {
		return "", err
	}
	switch conv {
	case 0:
	case 'r', 'a':
		v = Repr(v)
	case 's':
		v = Str(v)
	default:
		return "", ValueErr("Unknown conversion specifier %c", conv)
	}
	if strings.IndexByte(spec, '{') >= 0 {
		if spec, err = f.format(spec, depth+1); err != nil {
			return "", err
		}
	}
	return Format(v, spec)
}

// field gives the value of a name such as 0, user, user.name or row[1].
func (f *formatter) field(name string) (Value, error) {
	head, rest := name, ""
	if k := strings.IndexAny(name, ".["); k >= 0 {
		head, rest = name[:k], name[k:]
	}
	v, err := f.argument(head)
	for err == nil && rest != "" {
		if rest[0] == '.' {
			n := rest[1:]
			if j := strings.IndexAny(n, ".["); j >= 0 {
				n = n[:j]
			}
			rest = rest[1+len(n):]
			v, err = f.st.Attr(v, n)
			continue
		}
		j := strings.IndexByte(rest, ']')
		if j < 0 || rest[0] != '[' {
			return nil, ValueErr("expected '}' before end of string")
		}
		key := rest[1:j]
		rest = rest[j+1:]
		if n, e := strconv.Atoi(key); e == nil {
			v, err = f.st.Item(v, int64(n))
		} else {
			v, err = f.st.Item(v, key)
		}
	}
	return v, err
}

func (f *formatter) argument(name string) (Value, error) {
	if name == "" {
		name = strconv.Itoa(f.auto)
		f.auto++
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 0 {
		if n >= len(f.a.Pos) {
			return nil, newErr("IndexError", "Replacement index %d out of range for positional args tuple", n)
		}
		return f.a.Pos[n], nil
	}
	for _, kw := range f.a.Kw {
		if kw.Name == name {
			return kw.Val, nil
		}
	}
	return nil, newErr("KeyError", "%s", StrRepr(name))
}
