package dbt

import (
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// marker is what as_text, as_bool, as_number and as_native give in a native
// environment: text that says what it wants to become.
type marker struct {
	s    string
	kind byte // t, b, n, v
}

func (m marker) PyType() string { return "str" }
func (m marker) PyStr() string  { return m.s }
func (m marker) PyRepr() string { return jinja.StrRepr(m.s) }

// NewNativeEnv is dbt's native environment: YAML values and test arguments are
// rendered with it.
func NewNativeEnv() *jinja.Env {
	e := NewEnv()
	for n, k := range map[string]byte{"as_text": 't', "as_bool": 'b', "as_number": 'n', "as_native": 'v'} {
		e.Filters[n] = func(_ *ST, v V, _ A) (V, error) {
			return marker{jinja.Str(v), k}, nil
		}
	}
	return e
}

// HasJinja reports whether rendering could change s.
func HasJinja(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "{%") || strings.Contains(s, "{#") ||
		strings.Contains(s, "}}") || strings.Contains(s, "%}") || strings.Contains(s, "#}")
}

// constant tells whether Jinja folds x at compile time; a folded value is text even
// in native mode.
func constant(x jinja.Expr) bool {
	c := true
	jinja.Walk(x, func(e jinja.Expr) bool {
		switch n := e.(type) {
		case *jinja.Name, *jinja.CallX:
			c = false
		case *jinja.FilterX:
			if strings.HasPrefix(n.Name, "as_") {
				c = false
			}
		}
		return c
	})
	return c
}

// Native renders src, found at line of file, as dbt's native renderer does: one
// dynamic expression keeps its value. env is a NewNativeEnv.
func Native(env *jinja.Env, src, file string, line int, st *ST) (V, error) {
	t, err := env.Parse(src, file, line)
	if err != nil {
		return nil, err
	}
	t.NativeConst = constant
	v, err := t.RenderNative(st)
	if err != nil {
		return nil, err
	}
	m, ok := v.(marker)
	if !ok {
		return v, nil
	}
	return m.value()
}

// value converts the text to what its filter asked for.
func (m marker) value() (V, error) {
	if m.kind == 't' {
		return m.s, nil
	}
	r, lit := literal(m.s)
	if !lit {
		r = m.s
	}
	switch m.kind {
	case 'b':
		if _, ok := r.(bool); !ok {
			return nil, &jinja.Error{Kind: "JinjaRenderingError", Msg: fmt.Sprintf("Could not convert value '%s' into type 'bool'", m.s)}
		}
	case 'n':
		switch r.(type) {
		case int64, float64:
		default:
			return nil, &jinja.Error{Kind: "JinjaRenderingError", Msg: fmt.Sprintf("Could not convert value '%s' into type 'number'", m.s)}
		}
	}
	return r, nil
}

var litEnv = jinja.NewEnv()

// literal reads s as a Python literal, as ast.literal_eval does.
func literal(s string) (V, bool) {
	if strings.Contains(s, "|") && !strings.ContainsAny(s, "'\"") || strings.Contains(s, "}}") {
		return nil, false
	}
	t, err := litEnv.Parse("{{ "+s+" }}", "", 1)
	if err != nil || len(t.Body) != 1 {
		return nil, false
	}
	ok := true
	jinja.Walk(t.Body, func(e jinja.Expr) bool {
		switch n := e.(type) {
		case *jinja.Const:
			// Python has only the capitalised names; the lexer folds both spellings, so
			// the text decides.
			if n.V == nil || n.V == true || n.V == false {
				ok = !strings.Contains(s, "true") && !strings.Contains(s, "false") && !strings.Contains(s, "none")
			}
		case *jinja.ListX, *jinja.TupleX, *jinja.DictX, *jinja.Unary:
		default:
			ok = false
		}
		return ok
	})
	if !ok {
		return nil, false
	}
	v, err := t.RenderNative(&ST{Env: litEnv, Ctx: jinja.MapCtx{}})
	return v, err == nil
}
