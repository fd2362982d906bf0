package dbt

import (
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/dvt-dev/dvt/jinja"
)

// modules.re: Python's regular expressions on an engine with look-around and
// back-references, which Go's own lacks.

// reTimeout ends a match that backtracks without end.
const reTimeout = 10 * time.Second

// Python's flag values.
const (
	reIgnoreCase = 2
	reMultiline  = 8
	reDotAll     = 16
	reVerbose    = 64
)

// reSyntax rewrites the few spellings that Python has of its own.
var reSyntax = strings.NewReplacer(`\\`, `\\`, `(?P<`, `(?<`, `(?P=`, `\k<`, `\Z`, `\z`)

func compileRe(v, flags V, prefix, suffix string) (*regexp2.Regexp, error) {
	src, ok := v.(string)
	if p, is := v.(*pattern); is {
		src, ok, flags = p.src, true, p.flags
	}
	if !ok {
		return nil, jinja.TypeErr("first argument must be string or compiled pattern")
	}
	opts := []regexp2.CompileOption{regexp2.OptionMaintainCaptureOrder()}
	f, _ := flags.(int64)
	for bit, o := range map[int64]regexp2.RegexOptions{reIgnoreCase: regexp2.IgnoreCase, reMultiline: regexp2.Multiline,
		reDotAll: regexp2.Singleline, reVerbose: regexp2.IgnorePatternWhitespace} {
		if f&bit != 0 {
			opts = append(opts, o)
		}
	}
	r, err := regexp2.Compile(prefix+backrefs(reSyntax.Replace(src))+suffix, opts...)
	if err != nil {
		return nil, jinja.ValueErr("%s", err)
	}
	r.MatchTimeout = reTimeout
	return r, nil
}

// backrefs closes the \k<name that came from (?P=name).
func backrefs(s string) string {
	var sb strings.Builder
	for {
		i := strings.Index(s, `\k<`)
		if i < 0 {
			sb.WriteString(s)
			return sb.String()
		}
		j := i + strings.IndexAny(s[i:]+")", ">)")
		sb.WriteString(s[:min(j, len(s))] + ">")
		s = s[min(j+1, len(s)):]
	}
}

// pattern is a compiled regular expression.
type pattern struct {
	src   string
	flags V
}

func (r *pattern) PyType() string { return "re.Pattern" }
func (r *pattern) GetAttr(_ *ST, n string) (V, bool) {
	if n == "pattern" {
		return r.src, true
	}
	f, ok := reFuncs[n]
	if !ok || n == "compile" || n == "escape" {
		return nil, false
	}
	return function(n, func(a A) (V, error) { return f(A{Pos: append([]V{r}, a.Pos...), Kw: a.Kw}) }), true
}

// match is one match.
type match struct{ m *regexp2.Match }

func (m *match) PyType() string { return "re.Match" }
func (m *match) PyBool() bool   { return true }

// group gives the text of a group, None if it took no part.
func (m *match) group(k V) (V, error) {
	var g *regexp2.Group
	switch x := k.(type) {
	case int64:
		g = m.m.GroupByNumber(int(x))
	case string:
		g = m.m.GroupByName(x)
	}
	if g == nil {
		return nil, &jinja.Error{Kind: "IndexError", Msg: "no such group"}
	}
	if len(g.Captures) == 0 {
		return nil, nil
	}
	return g.String(), nil
}

func (m *match) GetItem(_ *ST, k V) (V, bool) {
	v, err := m.group(k)
	return v, err == nil
}

func (m *match) groups() []V {
	var out []V
	for i := 1; i < m.m.GroupCount(); i++ {
		v, _ := m.group(int64(i)) // the number is in range
		out = append(out, v)
	}
	return out
}

func (m *match) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "group":
		return function(n, func(a A) (V, error) {
			if len(a.Pos) == 0 {
				return m.group(int64(0))
			}
			if len(a.Pos) == 1 {
				return m.group(a.Pos[0])
			}
			t := jinja.NewTuple()
			for _, k := range a.Pos {
				v, err := m.group(k)
				if err != nil {
					return nil, err
				}
				t.Items = append(t.Items, v)
			}
			return t, nil
		}), true
	case "groups":
		return constantly(n, jinja.NewTuple(m.groups()...)), true
	case "groupdict":
		return function(n, func(A) (V, error) {
			d := jinja.NewDict()
			for _, g := range m.m.Groups() {
				if g.Name != "" && (g.Name[0] < '0' || g.Name[0] > '9') {
					v, _ := m.group(g.Name)
					_ = d.Set(g.Name, v)
				}
			}
			return d, nil
		}), true
	case "start":
		return constantly(n, int64(m.m.RuneIndex)), true
	case "end":
		return constantly(n, int64(m.m.RuneIndex+m.m.RuneLength)), true
	case "span":
		return constantly(n, jinja.NewTuple(int64(m.m.RuneIndex), int64(m.m.RuneIndex+m.m.RuneLength))), true
	}
	return nil, false
}

// eachMatch calls f for every match in s, from left to right.
func eachMatch(r *regexp2.Regexp, s string, f func(m *match) (more bool, err error)) error {
	m, err := r.FindStringMatch(s)
	for m != nil && err == nil {
		more, ferr := f(&match{m})
		if ferr != nil || !more {
			return ferr
		}
		m, err = r.FindNextMatch(m)
	}
	if err != nil {
		return jinja.ValueErr("%s", err)
	}
	return nil
}
