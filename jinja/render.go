package jinja

import "strings"

type binding struct {
	name string
	v    Value
}

// scope is one level of names; Jinja's rules for what opens one are in the statements.
type scope struct {
	vars   []binding
	parent *scope
}

func (s *scope) get(n string) (Value, bool) {
	for ; s != nil; s = s.parent {
		for i := len(s.vars) - 1; i >= 0; i-- {
			if s.vars[i].name == n {
				return s.vars[i].v, true
			}
		}
	}
	return nil, false
}

func (s *scope) set(n string, v Value) {
	for i := range s.vars {
		if s.vars[i].name == n {
			s.vars[i].v = v
			return
		}
	}
	s.vars = append(s.vars, binding{n, v})
}

func (s *scope) names() []string {
	var out []string
	for ; s != nil; s = s.parent {
		for _, b := range s.vars {
			out = append(out, b.name)
		}
	}
	return out
}

// frame is what a running body needs: state, scope, output and source.
type frame struct {
	st   *State
	sc   *scope
	out  *strings.Builder
	src  *source
	nat  *[]Value // native mode: collect values instead of text
	mods map[string]*MacroVal
	txt  func(Expr) bool

	folding bool // a printed constant is evaluated: see output
}

// Render runs the template as text.
func (t *Template) Render(ctx Resolver) (string, error) {
	return t.RenderState(&State{Env: t.env, Ctx: ctx, Chain: t.env.Chain})
}

// RenderState runs the template as text in a state that the host made.
func (t *Template) RenderState(st *State) (string, error) {
	var sb strings.Builder
	f := &frame{st: st, sc: &scope{}, out: &sb, src: t.src}
	if err := f.stmts(t.Body); err != nil {
		return "", err
	}
	return sb.String(), nil
}

// RenderNative is dbt's native rendering: a template that is one expression gives its value.
func (t *Template) RenderNative(st *State) (Value, error) {
	var sb strings.Builder
	var vals []Value
	f := &frame{st: st, sc: &scope{}, out: &sb, src: t.src, nat: &vals, txt: t.NativeConst}
	if err := f.stmts(t.Body); err != nil {
		return nil, err
	}
	switch len(vals) {
	case 0:
		return "", nil
	case 1:
		return vals[0], nil
	}
	f.nat = nil
	for _, v := range vals {
		if err := f.writeVal(v); err != nil {
			return nil, locate(err, t.src, P{Line: t.src.line, Col: 1})
		}
	}
	return sb.String(), nil
}

// Module runs the template and returns its top-level macros, as Jinja's make_module does.
// With Env.HideMacros they are not visible to each other: dbt finds macros through its own namespace.
func (t *Template) Module(st *State) (map[string]*MacroVal, error) {
	out := map[string]*MacroVal{}
	f := &frame{st: st, sc: &scope{}, out: &strings.Builder{}, src: t.src, mods: out}
	err := f.stmts(t.Body)
	return out, err
}

func (f *frame) write(s string) error {
	if f.nat != nil {
		*f.nat = append(*f.nat, Value(s))
		return nil
	}
	if m := f.st.Env.MaxOut; m > 0 && f.out.Len()+len(s) > m {
		return limitErr("template output is larger than %d bytes", m)
	}
	f.out.WriteString(s)
	return nil
}

func (f *frame) writeVal(v Value) error {
	if f.nat != nil {
		*f.nat = append(*f.nat, v)
		return nil
	}
	return f.write(Str(v))
}

func (f *frame) child() *frame {
	return &frame{st: f.st, sc: &scope{parent: f.sc}, out: f.out, src: f.src, nat: f.nat, txt: f.txt}
}

// capture runs a body in a new scope and returns its text.
func (f *frame) capture(body []Stmt) (string, error) {
	var sb strings.Builder
	c := &frame{st: f.st, sc: &scope{parent: f.sc}, out: &sb, src: f.src}
	if err := c.stmts(body); err != nil {
		return "", err
	}
	return sb.String(), f.st.charge(sb.String())
}

func (f *frame) lookup(name string) (Value, bool) {
	if v, ok := f.sc.get(name); ok {
		return v, true
	}
	if v, ok := f.st.Ctx.Resolve(name); ok {
		return v, true
	}
	v, ok := f.st.Env.Globals[name]
	return v, ok
}

// undefined is the value of a name that nothing defines.
func (f *frame) undefined(name string) *Undefined {
	return &Undefined{Name: name, Chain: f.st.Chain, strict: f.st.Strict && !f.st.Chain && !f.src.maybe[name], near: func() []string {
		names := append(f.sc.names(), keysOf(f.st.Env.Globals)...)
		if n, ok := f.st.Ctx.(Namer); ok {
			names = append(names, n.Names()...)
		}
		return names
	}}
}
