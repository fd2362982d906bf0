package jinja

var setMethods map[string]method

func init() {
	setMethods = map[string]method{
		"union":                setOp(func(x, y bool) bool { return x || y }, true),
		"intersection":         setOp(func(x, y bool) bool { return x && y }, false),
		"difference":           setOp(func(x, y bool) bool { return x && !y }, false),
		"symmetric_difference": setOp(func(x, y bool) bool { return x != y }, true),
		"add":                  set1("add", func(s *Set, v Value) (Value, error) { return nil, s.D.Set(v, nil) }),
		"discard":              set1("discard", setDiscard),
		"remove":               set1("remove", setRemove),
		"issubset":             set1("issubset", func(s *Set, v Value) (Value, error) { return s.within(v) }),
		"issuperset":           set1("issuperset", setIssuperset),
		"isdisjoint":           set1("isdisjoint", setIsdisjoint),
		"copy":                 func(_ *State, self Value, a Args) (Value, error) { return &Set{self.(*Set).D.Copy()}, nil },
		"clear":                func(_ *State, self Value, a Args) (Value, error) { *self.(*Set).D = *NewDict(); return nil, nil },
		"update":               setUpdate,
	}
}

// set1 is a method with one argument.
func set1(name string, f func(s *Set, v Value) (Value, error)) method {
	return func(st *State, self Value, a Args) (Value, error) {
		if len(a.Pos) != 1 || len(a.Kw) > 0 {
			return nil, TypeErr("set.%s() takes exactly one argument (%d given)", name, len(a.Pos)+len(a.Kw))
		}
		if err := st.chargeBytes(32); err != nil {
			return nil, err
		}
		return f(self.(*Set), a.Pos[0])
	}
}

func setDiscard(s *Set, v Value) (Value, error) {
	if _, err := hashKey(v); err != nil {
		return nil, err
	}
	s.D.Del(v)
	return nil, nil
}

func setRemove(s *Set, v Value) (Value, error) {
	if _, err := hashKey(v); err != nil {
		return nil, err
	}
	if _, ok := s.D.Del(v); !ok {
		return nil, newErr("KeyError", "%s", Repr(v))
	}
	return nil, nil
}

// within tells whether every item of s is in v.
func (s *Set) within(v Value) (bool, error) {
	it, err := Iter(v)
	if err != nil {
		return false, err
	}
	o, err := NewSet(it)
	return err == nil && s.subsetOf(o), err
}

func setIssuperset(s *Set, v Value) (Value, error) {
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	o, err := NewSet(it)
	return err == nil && o.subsetOf(s), err
}

func setIsdisjoint(s *Set, v Value) (Value, error) {
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	for _, e := range it {
		if _, ok := s.D.Get(e); ok {
			return false, nil
		}
	}
	return true, nil
}

func setUpdate(st *State, self Value, a Args) (Value, error) {
	s := self.(*Set)
	for _, p := range a.Pos {
		it, err := Iter(p)
		if err != nil {
			return nil, err
		}
		for _, v := range it {
			if err := s.D.Set(v, nil); err != nil {
				return nil, err
			}
		}
		if err := st.chargeBytes(32 * len(it)); err != nil {
			return nil, err
		}
	}
	return nil, checkItems(s.D.n)
}

// setOp makes a set of what keep wants, asked with "in self" and "in any argument"; both
// looks at the items of the arguments too.
func setOp(keep func(x, y bool) bool, both bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		s, out, o := self.(*Set), &Set{NewDict()}, &Set{NewDict()}
		for _, p := range a.Pos {
			it, err := Iter(p)
			if err != nil {
				return nil, err
			}
			for _, v := range it {
				if err := o.D.Set(v, nil); err != nil {
					return nil, err
				}
			}
		}
		add := func(from *Dict, in func(k Value) bool) error {
			for _, k := range from.Keys() {
				if in(k) {
					if err := out.D.Set(k, nil); err != nil {
						return err
					}
				}
			}
			return nil
		}
		err := add(s.D, func(k Value) bool { _, has := o.D.Get(k); return keep(true, has) })
		if err == nil && both {
			err = add(o.D, func(k Value) bool { _, has := s.D.Get(k); return keep(has, true) })
		}
		return out, err
	}
}
