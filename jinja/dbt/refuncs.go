package dbt

import (
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

var reFuncs map[string]func(a A) (V, error)

func init() {
	// Assigned here because a pattern's methods refer back to the table.
	reFuncs = map[string]func(a A) (V, error){
		"match":     reFind("match", `\A(?:`, `)`),
		"search":    reFind("search", "", ""),
		"fullmatch": reFind("fullmatch", `\A(?:`, `)\z`),
		"sub":       reSub,
		"findall":   reFindAll,
		"finditer":  reFindIter,
		"split":     reSplit,
		"compile": func(a A) (V, error) {
			b, err := a.Bind("compile", "pattern", "flags?")
			if err != nil {
				return nil, err
			}
			if _, err := compileRe(b.Get("pattern"), b.Get("flags"), "", ""); err != nil {
				return nil, err
			}
			return &pattern{jinja.Str(b.Get("pattern")), b.Get("flags")}, nil
		},
		"escape": func(a A) (V, error) {
			b, err := a.Bind("escape", "pattern")
			if err != nil {
				return nil, err
			}
			return pyEscape(jinja.Str(b.Get("pattern"))), nil
		},
	}
}

// reModule is modules.re.
func reModule() V {
	d := jinja.NewDict()
	for _, n := range []string{"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "escape"} {
		_ = d.Set(n, function(n, reFuncs[n]))
	}
	for n, v := range map[string]int64{"IGNORECASE": reIgnoreCase, "I": reIgnoreCase, "MULTILINE": reMultiline, "M": reMultiline,
		"DOTALL": reDotAll, "S": reDotAll, "VERBOSE": reVerbose, "X": reVerbose} {
		_ = d.Set(n, v)
	}
	return Object{d}
}

func subject(v V) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", jinja.TypeErr("expected string or bytes-like object, got '%s'", jinja.TypeName(v))
	}
	return s, nil
}

func reFind(name, prefix, suffix string) func(a A) (V, error) {
	return func(a A) (V, error) {
		b, err := a.Bind(name, "pattern", "string", "flags?")
		if err != nil {
			return nil, err
		}
		r, err := compileRe(b.Get("pattern"), b.Get("flags"), prefix, suffix)
		if err != nil {
			return nil, err
		}
		s, err := subject(b.Get("string"))
		if err != nil {
			return nil, err
		}
		var found V
		err = eachMatch(r, s, func(m *match) (bool, error) { found = m; return false, nil })
		return found, err
	}
}

func reSub(a A) (V, error) {
	b, err := a.Bind("sub", "pattern", "repl", "string", "count?", "flags?")
	if err != nil {
		return nil, err
	}
	r, err := compileRe(b.Get("pattern"), b.Get("flags"), "", "")
	if err != nil {
		return nil, err
	}
	s, err := subject(b.Get("string"))
	if err != nil {
		return nil, err
	}
	count, _ := b.Get("count").(int64)
	var out strings.Builder
	last, n := 0, int64(0)
	err = eachMatch(r, s, func(m *match) (bool, error) {
		at, length := m.m.ByteRange()
		repl, err := expand(m, b.Get("repl"))
		if err != nil {
			return false, err
		}
		out.WriteString(s[last:at] + repl)
		last = at + length
		n++
		return count == 0 || n < count, nil
	})
	return out.String() + s[last:], err
}

// expand is the replacement of one match: a template with \1 and \g<name>, or a
// function of the match.
func expand(m *match, repl V) (string, error) {
	if f, ok := repl.(jinja.Callable); ok {
		v, err := f.Call(&ST{Env: litEnv, Ctx: jinja.MapCtx{}}, A{Pos: []V{m}})
		return jinja.Str(v), err
	}
	t := jinja.Str(repl)
	var sb strings.Builder
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) {
			sb.WriteByte(t[i])
			continue
		}
		i++
		var key V
		switch c := t[i]; {
		case c >= '0' && c <= '9':
			n := int64(c - '0')
			if i+1 < len(t) && t[i+1] >= '0' && t[i+1] <= '9' {
				i++
				n = n*10 + int64(t[i]-'0')
			}
			key = n
		case c == 'g' && strings.HasPrefix(t[i:], "g<") && strings.Contains(t[i:], ">"):
			end := i + strings.IndexByte(t[i:], '>')
			key = t[i+2 : end]
			if v, lit := literal(t[i+2 : end]); lit {
				key = v
			}
			i = end
		case c == 'n':
			sb.WriteByte('\n')
			continue
		case c == 't':
			sb.WriteByte('\t')
			continue
		default:
			sb.WriteByte(c)
			continue
		}
		v, err := m.group(key)
		if err != nil {
			return "", jinja.ValueErr("invalid group reference %s", jinja.Str(key))
		}
		if v != nil {
			sb.WriteString(jinja.Str(v))
		}
	}
	return sb.String(), nil
}

func reAll(name string, a A, each func(m *match) V) (V, error) {
	b, err := a.Bind(name, "pattern", "string", "flags?")
	if err != nil {
		return nil, err
	}
	r, err := compileRe(b.Get("pattern"), b.Get("flags"), "", "")
	if err != nil {
		return nil, err
	}
	s, err := subject(b.Get("string"))
	if err != nil {
		return nil, err
	}
	out := jinja.NewList()
	err = eachMatch(r, s, func(m *match) (bool, error) {
		out.Items = append(out.Items, each(m))
		return true, nil
	})
	return out, err
}

func reFindIter(a A) (V, error) {
	return reAll("finditer", a, func(m *match) V { return m })
}

func reFindAll(a A) (V, error) {
	return reAll("findall", a, func(m *match) V {
		// findall prints a group that took no part as '', where group() gives None.
		groups := m.groups()
		for i, g := range groups {
			groups[i] = ""
			if g != nil {
				groups[i] = g
			}
		}
		switch len(groups) {
		case 0:
			return m.m.String()
		case 1:
			return groups[0]
		}
		return jinja.NewTuple(groups...)
	})
}

func reSplit(a A) (V, error) {
	b, err := a.Bind("split", "pattern", "string", "maxsplit?", "flags?")
	if err != nil {
		return nil, err
	}
	r, err := compileRe(b.Get("pattern"), b.Get("flags"), "", "")
	if err != nil {
		return nil, err
	}
	s, err := subject(b.Get("string"))
	if err != nil {
		return nil, err
	}
	most, _ := b.Get("maxsplit").(int64)
	out, last, n := jinja.NewList(), 0, int64(0)
	err = eachMatch(r, s, func(m *match) (bool, error) {
		at, length := m.m.ByteRange()
		out.Items = append(append(out.Items, s[last:at]), m.groups()...)
		last = at + length
		n++
		return most == 0 || n < most, nil
	})
	out.Items = append(out.Items, s[last:])
	return out, err
}

// pyEscape is re.escape of Python 3.7 and later.
func pyEscape(s string) string {
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte("()[]{}?*+-|^$\\.&~# \t\n\r\v\f", s[i]) >= 0 {
			sb.WriteByte('\\')
		}
		sb.WriteByte(s[i])
	}
	return sb.String()
}
