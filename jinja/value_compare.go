package jinja

import "strings"

func Equal(a, b Value) bool {
	if isNum(a) && isNum(b) {
		_, fa := a.(float64)
		_, fb := b.(float64)
		if fa || fb {
			x, _ := asFloat(a)
			y, _ := asFloat(b)
			return x == y
		}
		x, _ := asBig(a)
		y, _ := asBig(b)
		return x.Cmp(y) == 0
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case *List:
		y, ok := b.(*List)
		return ok && eqSeq(x.Items, y.Items)
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && eqSeq(x.Items, y.Items)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || x.n != y.n {
			return false
		}
		eq := true
		x.Each(func(k, v Value) {
			if w, has := y.Get(k); !has || !Equal(v, w) {
				eq = false
			}
		})
		return eq
	case *Set:
		y, ok := b.(*Set)
		if !ok || x.D.n != y.D.n {
			return false
		}
		for _, k := range x.D.Keys() {
			if _, has := y.D.Get(k); !has {
				return false
			}
		}
		return true
	case *Range:
		y, ok := b.(*Range)
		return ok && *x == *y
	case *Undefined:
		_, ok := b.(*Undefined)
		return ok
	case Eqer:
		return x.PyEq(b)
	}
	if y, ok := b.(Eqer); ok {
		return y.PyEq(a)
	}
	return a == b
}

// Compare orders two values as Python's < would; op is only for the message.
func Compare(op string, a, b Value) (int, error) {
	if u, ok := a.(*Undefined); ok {
		return 0, u.Err()
	}
	if u, ok := b.(*Undefined); ok {
		return 0, u.Err()
	}
	if isNum(a) && isNum(b) {
		_, fa := a.(float64)
		_, fb := b.(float64)
		if fa || fb {
			x, _ := asFloat(a)
			y, _ := asFloat(b)
			switch {
			case x < y:
				return -1, nil
			case x > y:
				return 1, nil
			}
			return 0, nil
		}
		x, _ := asBig(a)
		y, _ := asBig(b)
		return x.Cmp(y), nil
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	case *List:
		if y, ok := b.(*List); ok {
			return cmpSeq(op, x.Items, y.Items)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return cmpSeq(op, x.Items, y.Items)
		}
	case Orderer:
		if c, ok := x.PyCmp(b); ok {
			return c, nil
		}
	}
	return 0, TypeErr("'%s' not supported between instances of '%s' and '%s'", op, TypeName(a), TypeName(b))
}

func cmpSeq(op string, a, b []Value) (int, error) {
	for i := 0; i < len(a) && i < len(b); i++ {
		if !Equal(a[i], b[i]) {
			return Compare(op, a[i], b[i])
		}
	}
	return len(a) - len(b), nil
}

func eqSeq(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}
