package jinja

import (
	"strings"
	"unicode/utf8"
)

// Iter gives the items of a loop over v; a generator is used up by it. The slice of a
// list is the list's own: copy it to keep it.
func Iter(v Value) ([]Value, error) {
	switch x := v.(type) {
	case *List:
		return x.Items, nil
	case *Tuple:
		return x.Items, nil
	case *Dict:
		return x.Keys(), nil
	case *Set:
		return x.D.Keys(), nil
	case *DictView:
		return x.Items(), nil
	case *Gen:
		return x.drain()
	case string:
		if len(x) > maxItems && utf8.RuneCountInString(x) > maxItems {
			return nil, limitErr("text of more than %d characters cannot be looped over", maxItems)
		}
		out := make([]Value, 0, len(x))
		for _, r := range x {
			out = append(out, string(r))
		}
		return out, nil
	case *Range:
		n := x.Len()
		out := make([]Value, n)
		for i := int64(0); i < n; i++ {
			out[i] = x.Start + i*x.Step
		}
		return out, nil
	case *Undefined:
		return nil, nil
	case Iterabler:
		return x.PyIter(), nil
	}
	return nil, TypeErr("'%s' object is not iterable", TypeName(v))
}

// Len is Python's len().
func Len(v Value) (int, error) {
	switch x := v.(type) {
	case *List:
		return len(x.Items), nil
	case *Tuple:
		return len(x.Items), nil
	case *Dict:
		return x.n, nil
	case *Set:
		return x.D.n, nil
	case *DictView:
		return x.D.n, nil
	case string:
		return utf8.RuneCountInString(x), nil
	case *Range:
		return int(x.Len()), nil
	case *Undefined:
		return 0, nil
	case Lener:
		return x.PyLen(), nil
	}
	return 0, TypeErr("object of type '%s' has no len()", TypeName(v))
}

// iterable tells whether Iter would work, without using up a generator.
func iterable(v Value) bool {
	switch v.(type) {
	case *List, *Tuple, *Dict, *Set, *DictView, *Gen, string, *Range, *Undefined, Iterabler:
		return true
	}
	return false
}

// Contains is Python's "v in c".
func Contains(c, v Value) (bool, error) {
	switch x := c.(type) {
	case string:
		s, ok := v.(string)
		if !ok {
			return false, TypeErr("'in <string>' requires string as left operand, not %s", TypeName(v))
		}
		return strings.Contains(x, s), nil
	case *Dict:
		if _, err := hashKey(v); err != nil {
			return false, err
		}
		_, ok := x.Get(v)
		return ok, nil
	case *Set:
		_, ok := x.D.Get(v)
		return ok, nil
	case *DictView:
		if x.Kind == "keys" {
			_, ok := x.D.Get(v)
			return ok, nil
		}
	case *Undefined:
		return false, nil
	case *Range:
		i, ok := asInt(v)
		if !ok {
			break
		}
		return x.Len() > 0 && (i-x.Start)%x.Step == 0 && (i-x.Start)/x.Step >= 0 && (i-x.Start)/x.Step < x.Len(), nil
	}
	it, err := Iter(c)
	if err != nil {
		return false, TypeErr("argument of type '%s' is not iterable", TypeName(c))
	}
	for _, e := range it {
		if Equal(e, v) {
			return true, nil
		}
	}
	return false, nil
}
