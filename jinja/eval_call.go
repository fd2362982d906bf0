package jinja

// args evaluates a call's arguments in Python's order.
func (f *frame) args(c *CallX) (Args, error) {
	var a Args
	if len(c.Args) > 0 {
		a.Pos = make([]Value, len(c.Args), len(c.Args)+2)
	}
	for i, x := range c.Args {
		v, err := f.eval(x)
		if err != nil {
			return a, err
		}
		a.Pos[i] = v
	}
	for _, k := range c.Kw {
		v, err := f.eval(k.V)
		if err != nil {
			return a, err
		}
		a.Kw = append(a.Kw, KwArg{k.Name, v})
	}
	if c.DynArgs != nil {
		v, err := f.eval(c.DynArgs)
		if err != nil {
			return a, err
		}
		it, err := Iter(v)
		if err != nil {
			return a, err
		}
		a.Pos = append(a.Pos, it...)
	}
	if c.DynKw != nil {
		v, err := f.eval(c.DynKw)
		if err != nil {
			return a, err
		}
		return a, a.addKeywords(v)
	}
	return a, nil
}

// addKeywords adds the entries of a **mapping.
func (a *Args) addKeywords(v Value) error {
	d, ok := v.(*Dict)
	if !ok {
		return TypeErr("argument after ** must be a mapping, not %s", TypeName(v))
	}
	var err error
	d.Each(func(k, x Value) {
		s, ok := k.(string)
		if !ok {
			err = TypeErr("keywords must be strings")
		}
		a.Kw = append(a.Kw, KwArg{s, x})
	})
	return err
}

func (f *frame) callee(c *CallX) (Value, Args, error) {
	fn, err := f.eval(c.F)
	if err != nil {
		return nil, Args{}, err
	}
	a, err := f.args(c)
	return fn, a, locate(err, f.src, c.P)
}

func (f *frame) call(n *CallX) (Value, error) {
	fn, a, err := f.callee(n)
	if err != nil {
		return nil, err
	}
	v, err := f.st.Call(fn, a, n.F)
	if err == nil {
		err = f.st.charge(v)
	}
	return v, locate(err, f.src, n.P)
}

// Call calls a value; x is only for the message.
func (st *State) Call(fn Value, a Args, x Expr) (Value, error) {
	switch c := fn.(type) {
	case Callable:
		return c.Call(st, a)
	case *Undefined:
		if c.Chain {
			return c, nil
		}
		return nil, c.Err()
	}
	return nil, TypeErr("'%s' object is not callable", TypeName(fn))
}

func (f *frame) filterExpr(n *FilterX) (Value, error) {
	v, err := f.eval(n.X)
	if err != nil {
		return nil, err
	}
	if u, ok := v.(*Undefined); ok && u.strict && n.Name != "default" && n.Name != "d" {
		return nil, locate(u.Err(), f.src, posOf(n.X))
	}
	r, err := f.filter(n, v, false)
	return r, locate(err, f.src, n.P)
}

// filter applies n to v; in a block the filters of the chain hang below n without a value.
func (f *frame) filter(n *FilterX, v Value, block bool) (Value, error) {
	if block && n.X != nil {
		var err error
		if v, err = f.filter(n.X.(*FilterX), v, true); err != nil {
			return nil, err
		}
	}
	fn, ok := f.st.Env.Filters[n.Name]
	if !ok {
		return nil, f.st.Env.noFilter(n.Name)
	}
	a, err := f.args(&n.Call)
	if err != nil {
		return nil, err
	}
	r, err := fn(f.st, v, a)
	if err != nil {
		return nil, err
	}
	return r, f.st.charge(r)
}

func (f *frame) test(n *TestX) (Value, error) {
	v, err := f.eval(n.X)
	if err != nil {
		return nil, err
	}
	t, ok := f.st.Env.Tests[n.Name]
	if !ok {
		return nil, locate(f.st.Env.noTest(n.Name), f.src, n.P)
	}
	a, err := f.args(&n.Call)
	if err != nil {
		return nil, err
	}
	r, err := t(f.st, v, a)
	return r, locate(err, f.src, n.P)
}
