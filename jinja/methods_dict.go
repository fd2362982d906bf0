package jinja

var dictMethods map[string]method

func init() {
	dictMethods = map[string]method{
		"items": view("items"), "keys": view("keys"), "values": view("values"),
		"get":        dictGet,
		"pop":        dictPop,
		"setdefault": dictSetdefault,
		"update":     dictUpdateM,
		"copy":       func(_ *State, self Value, a Args) (Value, error) { return self.(*Dict).Copy(), nil },
		"clear":      func(_ *State, self Value, a Args) (Value, error) { *self.(*Dict) = *NewDict(); return nil, nil },
		"popitem":    dictPopitem,
	}
}

// dictUpdate is dict.update, and dict() on an empty dict: mappings, pairs, keywords.
func dictUpdate(d *Dict, a Args) error {
	for _, p := range a.Pos {
		if o, ok := p.(*Dict); ok {
			for i := 0; i < len(o.ents); i++ { // d may be o
				if e := o.ents[i]; e.live {
					if err := d.Set(e.k, e.v); err != nil {
						return err
					}
				}
			}
			continue
		}
		it, err := Iter(p)
		if err != nil {
			return err
		}
		for i, e := range it {
			kv, err := Iter(e)
			if err != nil {
				return TypeErr("cannot convert dictionary update sequence element #%d to a sequence", i)
			}
			if len(kv) != 2 {
				return ValueErr("dictionary update sequence element #%d has length %d; 2 is required", i, len(kv))
			}
			if err := d.Set(kv[0], kv[1]); err != nil {
				return err
			}
		}
	}
	for _, k := range a.Kw {
		d.setStr(k.Name, k.Val)
	}
	return nil
}

func dictUpdateM(st *State, self Value, a Args) (Value, error) {
	d := self.(*Dict)
	n := d.n
	if err := dictUpdate(d, a); err != nil {
		return nil, err
	}
	if err := checkItems(d.n); err != nil {
		return nil, err
	}
	return nil, st.chargeBytes(64 * (d.n - n))
}

func dictGet(_ *State, self Value, a Args) (Value, error) {
	if len(a.Pos) < 1 || len(a.Pos) > 2 || len(a.Kw) > 0 {
		if len(a.Kw) > 0 {
			return nil, TypeErr("dict.get() takes no keyword arguments")
		}
		return nil, TypeErr("get expected at least 1 argument, got %d", len(a.Pos))
	}
	if _, err := hashKey(a.Pos[0]); err != nil {
		return nil, err
	}
	if v, ok := self.(*Dict).Get(a.Pos[0]); ok {
		return v, nil
	}
	if len(a.Pos) > 1 {
		return a.Pos[1], nil
	}
	return nil, nil
}

func dictPop(_ *State, self Value, a Args) (Value, error) {
	if len(a.Pos) < 1 {
		return nil, TypeErr("pop expected at least 1 argument, got 0")
	}
	if v, ok := self.(*Dict).Del(a.Pos[0]); ok {
		return v, nil
	}
	if len(a.Pos) > 1 {
		return a.Pos[1], nil
	}
	return nil, newErr("KeyError", "%s", Repr(a.Pos[0]))
}

func dictSetdefault(st *State, self Value, a Args) (Value, error) {
	d := self.(*Dict)
	if len(a.Pos) < 1 {
		return nil, TypeErr("setdefault expected at least 1 argument, got 0")
	}
	if v, ok := d.Get(a.Pos[0]); ok {
		return v, nil
	}
	var v Value
	if len(a.Pos) > 1 {
		v = a.Pos[1]
	}
	if err := st.chargeBytes(64); err != nil {
		return nil, err
	}
	return v, d.Set(a.Pos[0], v)
}

func dictPopitem(_ *State, self Value, a Args) (Value, error) {
	d := self.(*Dict)
	k := d.Keys()
	if len(k) == 0 {
		return nil, newErr("KeyError", "'popitem(): dictionary is empty'")
	}
	last := k[len(k)-1]
	v, _ := d.Del(last)
	return NewTuple(last, v), nil
}

// view is items, keys and values.
func view(kind string) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		if len(a.Pos) > 0 {
			return nil, TypeErr("dict.%s() takes no arguments (%d given)", kind, len(a.Pos))
		}
		return &DictView{self.(*Dict), kind}, nil
	}
}
