package jinja

import (
	"math/big"
	"reflect"
	"strings"
)

// Equal is Python's ==.
func Equal(a, b Value) bool {
	var w walk
	return w.equal(a, b, 0)
}

func (w *walk) equal(a, b Value, depth int) bool {
	w.step(depth)
	if isNum(a) && isNum(b) {
		c, ok := compareNums(a, b)
		return ok && c == 0
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case string:
		y, ok := b.(string)
		return ok && x == y
	case *List:
		y, ok := b.(*List)
		return ok && (x == y || w.equalSeq(x.Items, y.Items, depth))
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && (x == y || w.equalSeq(x.Items, y.Items, depth))
	case *Dict:
		y, ok := b.(*Dict)
		return ok && (x == y || w.equalDict(x, y, depth))
	case *Set:
		y, ok := b.(*Set)
		return ok && (x == y || x.subsetOf(y) && x.D.n == y.D.n)
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
	return b != nil && reflect.TypeOf(a).Comparable() && a == b
}

func (w *walk) equalSeq(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !w.equal(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func (w *walk) equalDict(x, y *Dict, depth int) bool {
	if x.n != y.n {
		return false
	}
	for _, e := range x.ents {
		if !e.live {
			continue
		}
		v, ok := y.Get(e.k)
		if !ok || !w.equal(e.v, v, depth+1) {
			return false
		}
	}
	return true
}

// Compare orders two values as Python's < would; op is only for the message.
func Compare(op string, a, b Value) (int, error) {
	var w walk
	return w.compare(op, a, b, 0)
}

func (w *walk) compare(op string, a, b Value, depth int) (int, error) {
	w.step(depth)
	if u, ok := a.(*Undefined); ok {
		return 0, u.Err()
	}
	if u, ok := b.(*Undefined); ok {
		return 0, u.Err()
	}
	if isNum(a) && isNum(b) {
		c, _ := compareNums(a, b)
		return c, nil
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), nil
		}
	case *List:
		if y, ok := b.(*List); ok {
			return w.compareSeq(op, x.Items, y.Items, depth)
		}
	case *Tuple:
		if y, ok := b.(*Tuple); ok {
			return w.compareSeq(op, x.Items, y.Items, depth)
		}
	case Orderer:
		if c, ok := x.PyCmp(b); ok {
			return c, nil
		}
	}
	if y, ok := b.(Orderer); ok {
		if c, ok := y.PyCmp(a); ok {
			return -c, nil
		}
	}
	return 0, TypeErr("'%s' not supported between instances of '%s' and '%s'", op, TypeName(a), TypeName(b))
}

func (w *walk) compareSeq(op string, a, b []Value, depth int) (int, error) {
	for i := 0; i < len(a) && i < len(b); i++ {
		if !w.equal(a[i], b[i], depth+1) {
			return w.compare(op, a[i], b[i], depth+1)
		}
	}
	return len(a) - len(b), nil
}

// compareNums compares exactly, also an integer with a float; false is a NaN.
func compareNums(a, b Value) (int, bool) {
	x, xf := a.(float64)
	y, yf := b.(float64)
	switch {
	case x != x || y != y:
		return 0, false
	case xf && yf:
		return cmpFloat(x, y), true
	case xf:
		c, ok := compareNums(b, a)
		return -c, ok
	}
	p, _ := asBig(a)
	if !yf {
		q, _ := asBig(b)
		return p.Cmp(q), true
	}
	if y > 1e300 || y < -1e300 {
		f, _ := asFloat(a)
		return cmpFloat(f, y), true
	}
	return new(big.Float).SetInt(p).Cmp(big.NewFloat(y)), true
}

func cmpFloat(x, y float64) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}
