package jinja

var builtinGlobals map[string]Value

func init() {
	builtinGlobals = map[string]Value{
		"range": NewFunc("range", newRange),
		"dict":  NewFunc("dict", func(_ *State, a Args) (Value, error) { d := NewDict(); return d, dictUpdate(d, a) }),
		"namespace": NewFunc("namespace", func(_ *State, a Args) (Value, error) {
			d := NewDict()
			return &Namespace{d}, dictUpdate(d, a)
		}),
		"joiner": NewFunc("joiner", func(_ *State, a Args) (Value, error) {
			b, err := a.Bind("joiner", "sep?")
			used := false
			return NewFunc("joiner", func(*State, Args) (Value, error) {
				if !used {
					used = true
					return "", nil
				}
				return b.Or("sep", ", "), nil
			}), err
		}),
		"cycler": NewFunc("cycler", func(_ *State, a Args) (Value, error) {
			if len(a.Pos) == 0 {
				return nil, TypeErr("at least one item has to be provided")
			}
			return &cycler{items: a.Pos}, nil
		}),
		"lipsum": NewFunc("lipsum", func(_ *State, a Args) (Value, error) { return "Lorem ipsum dolor sit amet.", nil }),
	}
}

// newRange is range(); the sandbox bounds its length.
func newRange(st *State, a Args) (Value, error) {
	r := &Range{Step: 1}
	var n [3]int64
	for i, v := range a.Pos {
		if i > 2 {
			return nil, TypeErr("range expected at most 3 arguments, got %d", len(a.Pos))
		}
		x, ok := asInt(v)
		if !ok {
			return nil, TypeErr("'%s' object cannot be interpreted as an integer", TypeName(v))
		}
		n[i] = x
	}
	switch len(a.Pos) {
	case 0:
		return nil, TypeErr("range expected at least 1 argument, got 0")
	case 1:
		r.Stop = n[0]
	case 2:
		r.Start, r.Stop = n[0], n[1]
	case 3:
		r.Start, r.Stop, r.Step = n[0], n[1], n[2]
	}
	if r.Step == 0 {
		return nil, ValueErr("range() arg 3 must not be zero")
	}
	if st.Env.MaxRange > 0 && r.Len() > st.Env.MaxRange {
		return nil, newErr("OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", st.Env.MaxRange)
	}
	return r, nil
}

// cycler is cycler(a, b, ...).
type cycler struct {
	items []Value
	i     int
}

// GetAttr gives current, next and reset.
func (c *cycler) GetAttr(_ *State, n string) (Value, bool) {
	switch n {
	case "current":
		return c.items[c.i], true
	case "next":
		return NewFunc("next", func(*State, Args) (Value, error) {
			v := c.items[c.i]
			c.i = (c.i + 1) % len(c.items)
			return v, nil
		}), true
	case "reset":
		return NewFunc("reset", func(*State, Args) (Value, error) { c.i = 0; return nil, nil }), true
	}
	return nil, false
}

// PyType is Python's name of the type.
func (c *cycler) PyType() string { return "Cycler" }
