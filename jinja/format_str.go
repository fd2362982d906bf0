package jinja

import (
	"strconv"
	"strings"
)

// StrFormat is str.format.
func StrFormat(st *State, s string, a Args) (Value, error) {
	auto := 0
	out, err := strFormat(st, s, a, &auto, 0)
	return out, err
}

func strFormat(st *State, s string, a Args, auto *int, depth int) (string, error) {
	if depth > 2 {
		return "", ValueErr("Max string recursion exceeded")
	}
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '{' && i+1 < len(s) && s[i+1] == '{', c == '}' && i+1 < len(s) && s[i+1] == '}':
			sb.WriteByte(c)
			i++
		case c == '}':
			return "", ValueErr("Single '}' encountered in format string")
		case c != '{':
			sb.WriteByte(c)
		default:
			lvl, j := 1, i+1
			for j < len(s) && lvl > 0 {
				switch s[j] {
				case '{':
					lvl++
				case '}':
					lvl--
				}
				j++
			}
			if lvl > 0 {
				return "", ValueErr("expected '}' before end of string")
			}
			field := s[i+1 : j-1]
			i = j - 1
			spec, conv := "", byte(0)
			if k := strings.IndexAny(field, ":!"); k >= 0 {
				// '[' ... ']' may hold ':' or '!'; rare enough to ignore here
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
			v, err := formatField(st, field, a, auto)
			if err != nil {
				return "", err
			}
			switch conv {
			case 'r', 'a':
				v = Repr(v)
			case 's':
				v = Str(v)
			}
			if strings.IndexByte(spec, '{') >= 0 {
				if spec, err = strFormat(st, spec, a, auto, depth+1); err != nil {
					return "", err
				}
			}
			t, err := Format(v, spec)
			if err != nil {
				return "", err
			}
			sb.WriteString(t)
		}
	}
	return sb.String(), nil
}

func formatField(st *State, f string, a Args, auto *int) (Value, error) {
	k := strings.IndexAny(f, ".[")
	head, rest := f, ""
	if k >= 0 {
		head, rest = f[:k], f[k:]
	}
	var v Value
	if head == "" {
		head = strconv.Itoa(*auto)
		*auto++
	}
	if n, err := strconv.Atoi(head); err == nil {
		if n >= len(a.Pos) {
			return nil, newErr("IndexError", "Replacement index %d out of range for positional args tuple", n)
		}
		v = a.Pos[n]
	} else {
		ok := false
		for _, kw := range a.Kw {
			if kw.Name == head {
				v, ok = kw.Val, true
			}
		}
		if !ok {
			return nil, &Error{Kind: "KeyError", Msg: StrRepr(head)}
		}
	}
	for rest != "" {
		var err error
		if rest[0] == '.' {
			j := strings.IndexAny(rest[1:], ".[")
			n := rest[1:]
			if j >= 0 {
				n = rest[1 : j+1]
			}
			rest = rest[1+len(n):]
			v, err = st.Attr(v, n)
		} else {
			j := strings.IndexByte(rest, ']')
			if j < 0 {
				return nil, ValueErr("expected '}' before end of string")
			}
			key := rest[1:j]
			rest = rest[j+1:]
			if n, e := strconv.Atoi(key); e == nil {
				v, err = st.Item(v, int64(n))
			} else {
				v, err = st.Item(v, key)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}
