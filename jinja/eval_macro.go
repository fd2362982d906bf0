package jinja

import "strings"

// MacroVal is a macro bound to the scope it was defined in.
type MacroVal struct {
	M *Macro
	f *frame
}

// NewMacro binds a parsed macro to an empty scope: free names come from the state's context.
func NewMacro(m *Macro, file string) *MacroVal {
	src := &source{file: file}
	if m.src != nil {
		*src = *m.src
		src.file = file
	}
	return &MacroVal{M: m, f: &frame{src: src}}
}

// PyType is Python's name of the type.
func (m *MacroVal) PyType() string { return "Macro" }

// PyRepr is what printing the macro itself gives.
func (m *MacroVal) PyRepr() string { return "<Macro " + StrRepr(m.M.Name) + ">" }

// GetAttr gives what Jinja documents of a macro.
func (m *MacroVal) GetAttr(_ *State, name string) (Value, bool) {
	switch name {
	case "name":
		return m.M.Name, true
	case "arguments":
		t := &Tuple{}
		for _, p := range m.M.Params {
			t.Items = append(t.Items, p.Name)
		}
		return t, true
	case "catch_kwargs":
		return m.M.Kwargs, true
	case "catch_varargs":
		return m.M.Varargs, true
	case "caller":
		return m.M.Caller || m.M.ExplicitCal, true
	}
	return nil, false
}

// Call runs the macro's body and gives its text.
func (m *MacroVal) Call(st *State, a Args) (v Value, err error) {
	n := m.M
	st.depth++
	defer func() {
		st.depth--
		if r := recover(); r != nil {
			err = locate(caught(r), m.f.src, n.P)
		}
		if err != nil && !st.Env.HideMacros && n.Kind == "macro" {
			err = Called(err, "macro "+n.Name)
		}
	}()
	if st.depth > st.Env.MaxDepth {
		return nil, newErr("RecursionError", "maximum macro depth exceeded in '%s'", n.Name)
	}
	if err := st.step(); err != nil {
		return nil, err
	}
	if n.bad != nil {
		e := *n.bad // a copy: callers add to its stack
		return nil, &e
	}
	var sb strings.Builder
	c := &frame{st: st, sc: &scope{parent: m.f.sc, vars: make([]binding, 0, len(n.Params)+3)}, out: &sb, src: m.f.src}
	if err := c.bind(n, a); err != nil {
		return nil, err
	}
	if err := c.stmts(n.Body); err != nil {
		return nil, err
	}
	return sb.String(), nil
}

// bind puts the arguments into the macro's scope. Defaults are evaluated there, in
// order, so that they see the parameters before them.
func (f *frame) bind(n *Macro, a Args) error {
	used := make([]bool, len(a.Kw))
	foundCaller := n.ExplicitCal && len(a.Pos) >= len(n.Params)
	for i := range n.Params {
		p := &n.Params[i]
		if i < len(a.Pos) {
			f.sc.vars = append(f.sc.vars, binding{p.Name, a.Pos[i]})
			continue
		}
		if p.Name == "caller" {
			foundCaller = true
		}
		if v, ok := takeKeyword(a.Kw, used, p.Name); ok {
			f.sc.vars = append(f.sc.vars, binding{p.Name, v})
			continue
		}
		if p.Def == nil {
			f.sc.set(p.Name, &Undefined{Name: p.Name, Hint: "parameter '" + p.Name + "' was not provided", Chain: f.st.Chain})
			continue
		}
		v, err := f.eval(p.Def)
		if err != nil {
			return locate(err, f.src, n.P)
		}
		f.sc.set(p.Name, v)
	}
	if n.Caller && !foundCaller {
		cv, ok := takeKeyword(a.Kw, used, "caller")
		if !ok {
			cv = &Undefined{Name: "caller", Hint: "No caller defined", Chain: f.st.Chain}
		}
		f.sc.set("caller", cv)
	}
	if err := f.bindKwargs(n, a.Kw, used); err != nil {
		return err
	}
	return f.bindVarargs(n, a.Pos)
}

func takeKeyword(kw []KwArg, used []bool, name string) (v Value, ok bool) {
	for j := range kw {
		if !used[j] && kw[j].Name == name {
			v, ok, used[j] = kw[j].Val, true, true
		}
	}
	return v, ok
}

func (f *frame) bindKwargs(n *Macro, kw []KwArg, used []bool) error {
	if n.Kwargs {
		d := NewDict()
		for j := range kw {
			if !used[j] {
				d.setStr(kw[j].Name, kw[j].Val)
			}
		}
		f.sc.set("kwargs", d)
		return nil
	}
	for j := range kw {
		if used[j] {
			continue
		}
		if kw[j].Name == "caller" {
			return TypeErr("macro '%s' was invoked with two values for the special caller argument. This is most likely a bug.", n.Name)
		}
		return TypeErr("macro '%s' takes no keyword argument '%s'", n.Name, kw[j].Name)
	}
	return nil
}

func (f *frame) bindVarargs(n *Macro, pos []Value) error {
	if n.Varargs {
		t := &Tuple{}
		if len(pos) > len(n.Params) {
			t.Items = append(t.Items, pos[len(n.Params):]...)
		}
		f.sc.set("varargs", t)
		return nil
	}
	if len(pos) > len(n.Params) {
		return TypeErr("macro '%s' takes not more than %d argument(s)", n.Name, len(n.Params))
	}
	return nil
}
