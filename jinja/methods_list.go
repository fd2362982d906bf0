package jinja

import "sort"

var tupleMethods map[string]method

func init() {
	tupleMethods = map[string]method{"index": seqIndex(ti), "count": seqCount(ti)}
}

var listMethods map[string]method

func init() {
	listMethods = map[string]method{
		"index": seqIndex(li), "count": seqCount(li),
		"append":  listAppend,
		"extend":  listExtend,
		"insert":  listInsert,
		"pop":     listPop,
		"remove":  listRemove,
		"clear":   func(_ *State, self Value, a Args) (Value, error) { self.(*List).Items = nil; return nil, nil },
		"copy":    listCopy,
		"reverse": listReverse,
		"sort":    listSort,
	}
}

// sortValues sorts stably in place by key; the first comparison error stops it.
func sortValues(s []Value, key func(Value) (Value, error), rev bool) error {
	type kv struct{ k, v Value }
	tmp := make([]kv, len(s))
	for i, v := range s {
		k, err := key(v)
		if err != nil {
			return err
		}
		tmp[i] = kv{k, v}
	}
	var bad error
	sort.SliceStable(tmp, func(i, j int) bool {
		if bad != nil {
			return false
		}
		a, b := tmp[i].k, tmp[j].k
		if rev {
			a, b = b, a
		}
		c, err := Compare("<", a, b)
		if err != nil {
			bad = err
		}
		return c < 0
	})
	if bad != nil {
		return bad
	}
	for i := range tmp {
		s[i] = tmp[i].v
	}
	return nil
}

func listAppend(st *State, self Value, a Args) (Value, error) {
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return nil, TypeErr("list.append() takes exactly one argument (%d given)", len(a.Pos))
	}
	l := self.(*List)
	l.Items = append(l.Items, a.Pos[0])
	return nil, st.grown(l, 1)
}

func listExtend(st *State, self Value, a Args) (Value, error) {
	if len(a.Pos) != 1 {
		return nil, TypeErr("list.extend() takes exactly one argument (%d given)", len(a.Pos))
	}
	it, err := Iter(a.Pos[0])
	if err != nil {
		return nil, err
	}
	l := self.(*List)
	if err := checkItems(len(l.Items) + len(it)); err != nil {
		return nil, err
	}
	l.Items = append(l.Items, it...)
	return nil, st.grown(l, len(it))
}

func listInsert(st *State, self Value, a Args) (Value, error) {
	if len(a.Pos) != 2 {
		return nil, TypeErr("insert expected 2 arguments, got %d", len(a.Pos))
	}
	l := self.(*List)
	i, ok := asInt(a.Pos[0])
	if !ok {
		return nil, notIndex(a.Pos[0])
	}
	n := int64(len(l.Items))
	if i < 0 {
		i += n
	}
	i = min(max(i, 0), n)
	l.Items = append(l.Items, nil)
	copy(l.Items[i+1:], l.Items[i:])
	l.Items[i] = a.Pos[1]
	return nil, st.grown(l, 1)
}

func listPop(_ *State, self Value, a Args) (Value, error) {
	l := self.(*List)
	if len(a.Pos) > 1 {
		return nil, TypeErr("pop expected at most 1 argument, got %d", len(a.Pos))
	}
	if len(l.Items) == 0 {
		return nil, newErr("IndexError", "pop from empty list")
	}
	i := int64(len(l.Items) - 1)
	if len(a.Pos) > 0 {
		var ok bool
		if i, ok = asInt(a.Pos[0]); !ok {
			return nil, notIndex(a.Pos[0])
		}
		if i < 0 {
			i += int64(len(l.Items))
		}
	}
	if i < 0 || i >= int64(len(l.Items)) {
		return nil, newErr("IndexError", "pop index out of range")
	}
	v := l.Items[i]
	l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
	return v, nil
}

func notIndex(v Value) error {
	return TypeErr("'%s' object cannot be interpreted as an integer", TypeName(v))
}

func listRemove(_ *State, self Value, a Args) (Value, error) {
	l := self.(*List)
	if len(a.Pos) != 1 {
		return nil, TypeErr("list.remove() takes exactly one argument (%d given)", len(a.Pos))
	}
	for i, v := range l.Items {
		if Equal(v, a.Pos[0]) {
			l.Items = append(l.Items[:i:i], l.Items[i+1:]...)
			return nil, nil
		}
	}
	return nil, ValueErr("list.remove(x): x not in list")
}

func listCopy(_ *State, self Value, a Args) (Value, error) {
	return NewList(append([]Value{}, li(self)...)...), nil
}

func listReverse(_ *State, self Value, a Args) (Value, error) {
	l := li(self)
	for i, j := 0, len(l)-1; i < j; i, j = i+1, j-1 {
		l[i], l[j] = l[j], l[i]
	}
	return nil, nil
}

func listSort(st *State, self Value, a Args) (Value, error) {
	b, err := a.Bind("sort", "key?", "reverse?")
	if err != nil {
		return nil, err
	}
	return nil, sortValues(li(self), func(v Value) (Value, error) {
		if k := b.Get("key"); k != nil {
			return st.Call(k, Args{Pos: []Value{v}}, nil)
		}
		return v, nil
	}, Truth(b.Or("reverse", false)))
}

// seqIndex is list.index and tuple.index.
func seqIndex(items func(Value) []Value) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("index", "value")
		if err != nil {
			return nil, err
		}
		for i, v := range items(self) {
			if Equal(v, b.Get("value")) {
				return int64(i), nil
			}
		}
		return nil, ValueErr("%s is not in list", Repr(b.Get("value")))
	}
}

// seqCount is list.count and tuple.count.
func seqCount(items func(Value) []Value) method {
	return func(_ *State, self Value, a Args) (Value, error) {
		b, err := a.Bind("count", "value")
		if err != nil {
			return nil, err
		}
		n := int64(0)
		for _, v := range items(self) {
			if Equal(v, b.Get("value")) {
				n++
			}
		}
		return n, nil
	}
}

func li(v Value) []Value { return v.(*List).Items }

func ti(v Value) []Value { return v.(*Tuple).Items }
