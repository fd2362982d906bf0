package jinja

import (
	"strings"
)

// groupTuple is what groupby gives: (grouper, list), with those names as attributes.
type groupTuple struct{ *Tuple }

// GetAttr gives the two parts by name.
func (g groupTuple) GetAttr(_ *State, n string) (Value, bool) {
	switch n {
	case "grouper":
		return g.Items[0], true
	case "list":
		return g.Items[1], true
	}
	return nil, false
}

// GetItem gives the two parts by index.
func (g groupTuple) GetItem(_ *State, k Value) (Value, bool) { return index(g.Items, k) }

// PyIter unpacks to the two parts.
func (g groupTuple) PyIter() []Value { return g.Items }

// PyLen is 2.
func (g groupTuple) PyLen() int { return 2 }

// PyRepr is the tuple's.
func (g groupTuple) PyRepr() string { return Repr(g.Tuple) }

// PyType is Python's name of the type.
func (g groupTuple) PyType() string { return "_GroupTuple" }

func filterSort(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("sort", "reverse?", "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	var gets []func(Value) (Value, error)
	if s, ok := b.Get("attribute").(string); ok {
		for _, p := range strings.Split(s, ",") {
			gets = append(gets, attrGetter(st, p, nil, false))
		}
	} else {
		gets = append(gets, attrGetter(st, b.Get("attribute"), nil, false))
	}
	cs := Truth(b.Or("case_sensitive", false))
	l := append([]Value{}, it...)
	err = sortValues(l, func(x Value) (Value, error) {
		k := &List{}
		for _, g := range gets {
			y, err := g(x)
			if err != nil {
				return nil, err
			}
			if !cs {
				y = lowerIfStr(y)
			}
			k.Items = append(k.Items, y)
		}
		return k, nil
	}, Truth(b.Or("reverse", false)))
	return NewList(l...), err
}

func filterDictsort(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("dictsort", "case_sensitive?", "by?", "reverse?")
	if err != nil {
		return nil, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return nil, noAttribute(v, "items")
	}
	pos := 0
	switch Str(b.Or("by", "key")) {
	case "key":
	case "value":
		pos = 1
	default:
		return nil, newErr("FilterArgumentError", "You can only sort by either \"key\" or \"value\"")
	}
	l := (&DictView{d, "items"}).Items()
	err = sortValues(l, func(x Value) (Value, error) {
		k := x.(*Tuple).Items[pos]
		if !Truth(b.Or("case_sensitive", false)) {
			k = lowerIfStr(k)
		}
		return k, nil
	}, Truth(b.Or("reverse", false)))
	return NewList(l...), err
}

func filterUnique(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("unique", "case_sensitive?", "attribute?")
	if err != nil {
		return nil, err
	}
	return LazyGen("sync_do_unique", func() ([]Value, error) {
		it, err := Iter(v)
		if err != nil {
			return nil, err
		}
		get := attrGetter(st, b.Get("attribute"), nil, false)
		seen := NewDict()
		var out []Value
		for _, e := range it {
			k, err := get(e)
			if err != nil {
				return nil, err
			}
			if !Truth(b.Or("case_sensitive", false)) {
				k = lowerIfStr(k)
			}
			if _, ok := seen.Get(k); !ok {
				if err := seen.Set(k, true); err != nil {
					return nil, err
				}
				out = append(out, e)
			}
		}
		return out, nil
	}), nil
}

func filterGroupby(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("groupby", "attribute", "default?", "case_sensitive?")
	if err != nil {
		return nil, err
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	get := attrGetter(st, b.Get("attribute"), b.Get("default"), b.Get("default") != nil)
	key := func(x Value) (Value, error) {
		k, err := get(x)
		if err == nil && !Truth(b.Or("case_sensitive", false)) {
			k = lowerIfStr(k)
		}
		return k, err
	}
	l := append([]Value{}, it...)
	if err := sortValues(l, key, false); err != nil {
		return nil, err
	}
	out := &List{}
	var prev Value
	for i, e := range l {
		k, err := key(e)
		if err != nil {
			return nil, err
		}
		if i == 0 || !Equal(k, prev) {
			g, err := get(e)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, groupTuple{NewTuple(g, NewList())})
			prev = k
		}
		gl := out.Items[len(out.Items)-1].(groupTuple).Items[1].(*List)
		gl.Items = append(gl.Items, e)
	}
	return out, nil
}
