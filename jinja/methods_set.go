package jinja

var setMethods map[string]method

func init() {
	setMethods = map[string]method{
		"union": setOp(func(x, y bool) bool { return x || y }, true), "intersection": setOp(func(x, y bool) bool { return x && y }, false),
		"difference":           setOp(func(x, y bool) bool { return x && !y }, false),
		"symmetric_difference": setOp(func(x, y bool) bool { return x != y }, true),
		"add":                  func(_ *State, self Value, a Args) (Value, error) { return nil, self.(*Set).D.Set(a.Pos[0], nil) },
		"discard":              func(_ *State, self Value, a Args) (Value, error) { self.(*Set).D.Del(a.Pos[0]); return nil, nil },
		"copy":                 func(_ *State, self Value, a Args) (Value, error) { return &Set{self.(*Set).D.Copy()}, nil },
		"update":               setUpdate,
		"issubset":             setIssubset,
	}
}

func setUpdate(_ *State, self Value, a Args) (Value, error) {
	for _, p := range a.Pos {
		it, err := Iter(p)
		if err != nil {
			return nil, err
		}
		for _, v := range it {
			if err := self.(*Set).D.Set(v, nil); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func setIssubset(_ *State, self Value, a Args) (Value, error) {
	for _, k := range self.(*Set).D.Keys() {
		if ok, err := Contains(a.Pos[0], k); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func setOp(keep func(x, y bool) bool, both bool) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		s := self.(*Set)
		out, _ := NewSet(nil)
		var other []Value
		for _, p := range a.Pos {
			it, err := Iter(p)
			if err != nil {
				return nil, err
			}
			other = append(other, it...)
		}
		o, err := NewSet(other)
		if err != nil {
			return nil, err
		}
		for _, k := range s.D.Keys() {
			if _, has := o.D.Get(k); keep(true, has) {
				out.D.Set(k, nil)
			}
		}
		if both {
			for _, k := range o.D.Keys() {
				if _, has := s.D.Get(k); keep(has, true) {
					out.D.Set(k, nil)
				}
			}
		}
		return out, nil
	}
}
