package jinja

import (
	"math/rand"
)

// minmax is min (want < 0) and max (want > 0).
func minmax(want int) FilterFunc {
	op := "<"
	if want > 0 {
		op = ">"
	}
	return func(st *State, v Value, a Args) (Value, error) {
		b, err := a.Bind("min", "case_sensitive?", "attribute?")
		if err != nil {
			return nil, err
		}
		it, err := Iter(v)
		if err != nil {
			return nil, err
		}
		if len(it) == 0 {
			return &Undefined{Hint: "No aggregated item, sequence was empty.", Chain: st.Chain}, nil
		}
		get := attrGetter(st, b.Get("attribute"), nil, false)
		key := func(x Value) (Value, error) {
			k, err := get(x)
			if err == nil && !Truth(b.Or("case_sensitive", false)) {
				k = lowerIfStr(k)
			}
			return k, err
		}
		best := it[0]
		bk, err := key(best)
		if err != nil {
			return nil, err
		}
		for _, e := range it[1:] {
			k, err := key(e)
			if err != nil {
				return nil, err
			}
			c, err := Compare(op, k, bk)
			if err != nil {
				return nil, err
			}
			if c*want > 0 {
				best, bk = e, k
			}
		}
		return best, nil
	}
}

func filterList(_ *State, v Value, a Args) (Value, error) {
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	return NewList(append([]Value{}, it...)...), nil
}

func filterItems(_ *State, v Value, a Args) (Value, error) {
	switch x := v.(type) {
	case *Undefined:
		return NewGen("do_items", nil), nil
	case *Dict:
		return NewGen("do_items", (&DictView{x, "items"}).Items()), nil
	}
	return nil, TypeErr("Can only get item pairs from a mapping.")
}

// filterFirst takes one item only from a generator.
func filterFirst(st *State, v Value, a Args) (Value, error) {
	if g, ok := v.(*Gen); ok {
		if err := g.load(); err != nil {
			return nil, err
		}
		if g.pos < len(g.items) {
			g.pos++
			return g.items[g.pos-1], nil
		}
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	if len(it) == 0 {
		return &Undefined{Hint: "No first item, sequence was empty.", Chain: st.Chain}, nil
	}
	return it[0], nil
}

func filterLast(st *State, v Value, a Args) (Value, error) {
	if _, gen := v.(*Gen); gen || !iterable(v) {
		return nil, TypeErr("'%s' object is not reversible", TypeName(v))
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	if len(it) == 0 {
		return &Undefined{Hint: "No last item, sequence was empty.", Chain: st.Chain}, nil
	}
	return it[len(it)-1], nil
}

func filterRandom(st *State, v Value, a Args) (Value, error) {
	it, err := Iter(v)
	if err != nil || len(it) == 0 {
		return &Undefined{Hint: "No random item, sequence was empty.", Chain: st.Chain}, err
	}
	return it[rand.Intn(len(it))], nil
}

func filterReverse(_ *State, v Value, a Args) (Value, error) {
	if s, ok := v.(string); ok {
		r := []rune(s)
		for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
			r[i], r[j] = r[j], r[i]
		}
		return string(r), nil
	}
	it, err := Iter(v)
	if err != nil {
		return nil, newErr("FilterArgumentError", "argument must be iterable")
	}
	out := make([]Value, len(it))
	for i, e := range it {
		out[len(it)-1-i] = e
	}
	return NewGen("reversed", out), nil
}

func filterJoin(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("join", "d?", "attribute?")
	if err != nil {
		return nil, err
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	get := attrGetter(st, b.Get("attribute"), nil, false)
	p := make([]string, len(it))
	for i, e := range it {
		x, err := get(e)
		if err != nil {
			return nil, err
		}
		p[i] = Str(x)
	}
	return joinText(p, Str(b.Or("d", "")))
}

func filterBatch(v Value, b Bound) (Value, error) {
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	n := int(optInt(b, "linecount", 1))
	if n < 1 {
		return nil, newErr("FilterArgumentError", "batch needs a positive number")
	}
	if err := checkItems(n); err != nil {
		return nil, err
	}
	var out []Value
	for i := 0; i < len(it); i += n {
		c := append([]Value{}, it[i:min(i+n, len(it))]...)
		for f := b.Get("fill_with"); f != nil && len(c) < n; {
			c = append(c, f)
		}
		out = append(out, NewList(c...))
	}
	return NewGen("do_batch", out), nil
}

func filterSlice(v Value, b Bound) (Value, error) {
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	n := int(optInt(b, "slices", 1))
	if n == 0 {
		return nil, newErr("ZeroDivisionError", "integer division or modulo by zero")
	}
	if err := checkItems(n); err != nil {
		return nil, err
	}
	per, extra, off := len(it)/n, len(it)%n, 0
	var out []Value
	for i := 0; i < n; i++ {
		s := off + i*per
		if i < extra {
			off++
		}
		c := append([]Value{}, it[s:off+(i+1)*per]...)
		if f := b.Get("fill_with"); f != nil && i >= extra {
			c = append(c, f)
		}
		out = append(out, NewList(c...))
	}
	return NewGen("sync_do_slice", out), nil
}

func filterSum(st *State, v Value, a Args) (Value, error) {
	b, err := a.Bind("sum", "attribute?", "start?")
	if err != nil {
		return nil, err
	}
	it, err := Iter(v)
	if err != nil {
		return nil, err
	}
	get := attrGetter(st, b.Get("attribute"), nil, false)
	acc := b.Or("start", int64(0))
	for _, e := range it {
		x, err := get(e)
		if err != nil {
			return nil, err
		}
		if acc, err = BinOp("+", acc, x); err != nil {
			return nil, err
		}
	}
	return acc, nil
}
