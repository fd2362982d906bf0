package jinja

import "fmt"

// stmts runs a body. Errors get the statement's position unless they have a closer one.
func (f *frame) stmts(body []Stmt) (err error) {
	i := 0
	defer func() {
		if r := recover(); r != nil {
			err = locate(caught(r), f.src, posOf(body[i]))
		}
	}()
	for ; i < len(body); i++ {
		if err := f.stmt(body[i]); err != nil {
			return locate(err, f.src, posOf(body[i]))
		}
	}
	return nil
}

func (f *frame) stmt(s Stmt) error {
	switch n := s.(type) {
	case *Data:
		return f.write(n.S)
	case *Output:
		return f.output(n)
	case *If:
		return f.ifStmt(n)
	case *SetStmt:
		v, err := f.eval(n.V)
		if err != nil {
			return err
		}
		return f.assign(n.Target, v)
	case *Do:
		_, err := f.eval(n.X)
		return err
	case *For:
		it, err := f.use(n.Iter)
		if err != nil {
			return err
		}
		return f.runLoop(n, it, 0)
	case *Macro:
		f.define(n)
		return nil
	case *SetBlock:
		return f.setBlock(n)
	case *CallBlock:
		return f.callBlock(n)
	case *FilterBlk:
		s, err := f.capture(n.Body)
		if err != nil {
			return err
		}
		v, err := f.filter(n.Filter, s, true)
		if err != nil {
			return err
		}
		return f.writeVal(v)
	case *With:
		return f.with(n)
	case *Break:
		return sigBreak
	case *Continue:
		return sigContinue
	}
	return fmt.Errorf("unknown statement %T", s)
}

func (f *frame) output(n *Output) error {
	v, err := f.use(n.X)
	if err != nil && folds(n.X) {
		// Jinja folds a printed constant through its own getitem, which gives undefined
		// where a slice is a TypeError: {{ (1)[2:] }} prints nothing.
		c := *f
		c.folding = true
		if w, err2 := c.use(n.X); err2 == nil {
			v, err = w, nil
		}
	}
	if err != nil {
		return err
	}
	if f.txt != nil && f.txt(n.X) {
		return f.write(Str(v))
	}
	return f.writeVal(v)
}

// ifStmt opens no scope: a set inside it is seen after it.
func (f *frame) ifStmt(n *If) error {
	for i, c := range n.Conds {
		v, err := f.use(c)
		if err != nil {
			return err
		}
		if Truth(v) {
			return f.stmts(n.Bodies[i])
		}
	}
	return f.stmts(n.Else)
}

func (f *frame) define(n *Macro) {
	v := &MacroVal{M: n, f: f}
	if f.mods != nil {
		f.mods[n.Name] = v
	}
	if !f.st.Env.HideMacros {
		f.sc.set(n.Name, v)
	}
}

func (f *frame) setBlock(n *SetBlock) error {
	s, err := f.capture(n.Body)
	if err != nil {
		return err
	}
	var v Value = s
	if n.Filter != nil {
		if v, err = f.filter(n.Filter, s, true); err != nil {
			return err
		}
	}
	return f.assign(n.Target, v)
}

func (f *frame) callBlock(n *CallBlock) error {
	fn, a, err := f.callee(n.Call)
	if err != nil {
		return err
	}
	a.Kw = append(a.Kw, KwArg{"caller", &MacroVal{M: n.M, f: f}})
	v, err := f.st.Call(fn, a, n.Call.F)
	if err != nil {
		return locate(err, f.src, n.Call.P)
	}
	return f.writeVal(v)
}

// with evaluates all values in the outer scope before any name of it exists.
func (f *frame) with(n *With) error {
	c := f.child()
	for i := range n.Names {
		v, err := f.eval(n.Vals[i])
		if err != nil {
			return err
		}
		if err := c.assign(n.Names[i], v); err != nil {
			return err
		}
	}
	return c.stmts(n.Body)
}

func (f *frame) assign(t Expr, v Value) error {
	switch n := t.(type) {
	case *Name:
		f.sc.set(n.Name, v)
		return nil
	case *NSRef:
		o, _ := f.lookup(n.Name)
		ns, ok := o.(*Namespace)
		if !ok {
			return newErr("TemplateRuntimeError", "cannot assign attribute on non-namespace object")
		}
		return ns.D.Set(n.Attr, v)
	case *TupleX:
		if _, u := v.(*Undefined); !u && !iterable(v) {
			return TypeErr("cannot unpack non-iterable %s object", TypeName(v))
		}
		items, err := Iter(v)
		if err != nil {
			return err
		}
		if len(items) > len(n.Items) {
			return ValueErr("too many values to unpack (expected %d)", len(n.Items))
		}
		if len(items) < len(n.Items) {
			return ValueErr("not enough values to unpack (expected %d, got %d)", len(n.Items), len(items))
		}
		for i, x := range n.Items {
			if err := f.assign(x, items[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("cannot assign to %T", t)
}
