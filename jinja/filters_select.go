package jinja

import (
	"strconv"
	"strings"
)

// attrGetter is Jinja's make_attrgetter.
func attrGetter(st *State, attr Value, def Value, hasDef bool) func(Value) (Value, error) {
	var parts []Value
	switch a := attr.(type) {
	case nil:
	case string:
		for _, p := range strings.Split(a, ".") {
			if i, err := strconv.ParseInt(p, 10, 64); err == nil && p[0] != '-' && p[0] != '+' {
				parts = append(parts, i)
			} else {
				parts = append(parts, p)
			}
		}
	default:
		parts = []Value{a}
	}
	return func(v Value) (Value, error) {
		for _, p := range parts {
			x, err := st.Item(v, p)
			if err != nil {
				return nil, err
			}
			if _, u := x.(*Undefined); u && hasDef {
				x = def
			}
			v = x
		}
		return v, nil
	}
}

// lowerIfStr makes comparisons ignore case.
func lowerIfStr(v Value) Value {
	if s, ok := v.(string); ok {
		return pyLower(s)
	}
	return v
}

// mapper builds the function that map, select, ... apply.
func mapper(st *State, a Args) (func(Value) (Value, error), error) {
	if len(a.Pos) == 0 {
		var attr, def Value
		hasAttr, hasDef := false, false
		for _, k := range a.Kw {
			switch k.Name {
			case "attribute":
				attr, hasAttr = k.Val, true
			case "default":
				def, hasDef = k.Val, k.Val != nil
			default:
				return nil, newErr("FilterArgumentError", "Unexpected keyword argument '%s'", k.Name)
			}
		}
		if !hasAttr {
			return nil, newErr("FilterArgumentError", "map requires a filter argument")
		}
		return attrGetter(st, attr, def, hasDef), nil
	}
	name := Str(a.Pos[0])
	f, ok := st.Env.Filters[name]
	if !ok {
		return nil, newErr("TemplateRuntimeError", "No filter named '%s'.", name)
	}
	rest := Args{a.Pos[1:], a.Kw}
	return func(v Value) (Value, error) { return f(st, v, rest) }, nil
}

// selector is select, reject, selectattr and rejectattr.
func selector(keep, withAttr bool) FilterFunc {
	return func(st *State, v Value, a Args) (Value, error) {
		return LazyGen("select_or_reject", func() ([]Value, error) {
			if !Truth(v) { // as in Jinja: None and undefined give nothing
				return nil, nil
			}
			holds, err := predicate(st, a, withAttr)
			if err != nil {
				return nil, err
			}
			it, err := Iter(v)
			if err != nil {
				return nil, err
			}
			var out []Value
			for _, e := range it {
				ok, err := holds(e)
				if err != nil {
					return nil, err
				}
				if ok == keep {
					out = append(out, e)
				}
			}
			return out, nil
		}), nil
	}
}

// predicate builds the condition from the arguments: [attribute,] [test, its arguments].
func predicate(st *State, a Args, withAttr bool) (func(Value) (bool, error), error) {
	get := func(x Value) (Value, error) { return x, nil }
	if withAttr {
		if len(a.Pos) == 0 {
			return nil, newErr("FilterArgumentError", "Missing parameter for attribute name")
		}
		get = attrGetter(st, a.Pos[0], nil, false)
		a.Pos = a.Pos[1:]
	}
	test := func(_ *State, v Value, _ Args) (bool, error) { return Truth(v), nil }
	if len(a.Pos) > 0 {
		name := Str(a.Pos[0])
		t, ok := st.Env.Tests[name]
		if !ok {
			return nil, newErr("TemplateRuntimeError", "No test named '%s'.", name)
		}
		test = t
		a.Pos = a.Pos[1:]
	}
	return func(v Value) (bool, error) {
		x, err := get(v)
		if err != nil {
			return false, err
		}
		return test(st, x, a)
	}, nil
}

// filterMap is lazy: its work, and its errors, come when the items are read.
func filterMap(st *State, v Value, a Args) (Value, error) {
	return LazyGen("sync_do_map", func() ([]Value, error) {
		if !Truth(v) {
			return nil, nil
		}
		f, err := mapper(st, a)
		if err != nil {
			return nil, err
		}
		it, err := Iter(v)
		if err != nil {
			return nil, err
		}
		out := make([]Value, len(it))
		for i, e := range it {
			if out[i], err = f(e); err != nil {
				return nil, err
			}
			if err := st.charge(out[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}), nil
}
