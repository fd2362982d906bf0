package jinja

import (
	"slices"
	"strings"
)

func binErr(op string, a, b Value) error {
	if op == "**" {
		op = "** or pow()"
	}
	return TypeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, TypeName(a), TypeName(b))
}

// BinOp is Python's a op b for + - * / // % **.
func BinOp(op string, a, b Value) (Value, error) {
	if u, ok := a.(*Undefined); ok {
		return nil, u.Err()
	}
	_, str := a.(string)
	if u, ok := b.(*Undefined); ok && (!str || op != "%") {
		return nil, u.Err()
	}
	if o, ok := a.(BinOper); ok {
		if v, done, err := o.PyBinOp(op, b, false); done {
			return v, err
		}
	}
	if o, ok := b.(BinOper); ok {
		if v, done, err := o.PyBinOp(op, a, true); done {
			return v, err
		}
	}
	if isNum(a) && isNum(b) {
		return numOp(op, a, b)
	}
	switch {
	case op == "%" && str:
		return PercentFormat(a.(string), b)
	case op == "+":
		return add(a, b)
	case op == "*":
		return multiply(a, b)
	case op == "-":
		return subtract(a, b)
	}
	return nil, binErr(op, a, b)
}

func add(a, b Value) (Value, error) {
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok {
			return nil, TypeErr("can only concatenate str (not \"%s\") to str", TypeName(b))
		}
		if len(x)+len(y) > maxText {
			return nil, limitErr("text of more than %d bytes", maxText)
		}
		return x + y, nil
	case *List:
		y, ok := b.(*List)
		if !ok {
			return nil, TypeErr("can only concatenate list (not \"%s\") to list", TypeName(b))
		}
		return NewList(slices.Concat(x.Items, y.Items)...), checkItems(len(x.Items) + len(y.Items))
	case *Tuple:
		y, ok := b.(*Tuple)
		if !ok {
			return nil, TypeErr("can only concatenate tuple (not \"%s\") to tuple", TypeName(b))
		}
		return NewTuple(slices.Concat(x.Items, y.Items)...), checkItems(len(x.Items) + len(y.Items))
	}
	return nil, binErr("+", a, b)
}

// multiply repeats a sequence; numbers have been dealt with.
func multiply(a, b Value) (Value, error) {
	seq, n := a, b
	if _, ok := asInt(seq); ok {
		seq, n = b, a
	}
	k, ok := asInt(n)
	if !ok {
		for _, pair := range [2][2]Value{{a, b}, {b, a}} {
			switch pair[0].(type) {
			case string, *List, *Tuple:
				return nil, TypeErr("can't multiply sequence by non-int of type '%s'", TypeName(pair[1]))
			}
		}
		return nil, binErr("*", a, b)
	}
	k = max(k, 0)
	switch x := seq.(type) {
	case string:
		if err := checkRepeat(len(x), k, maxText); err != nil || x == "" {
			return "", err
		}
		return strings.Repeat(x, int(k)), nil
	case *List:
		items, err := repeat(x.Items, k)
		return NewList(items...), err
	case *Tuple:
		items, err := repeat(x.Items, k)
		return NewTuple(items...), err
	}
	return nil, binErr("*", a, b)
}

func repeat(s []Value, n int64) ([]Value, error) {
	if err := checkRepeat(len(s), n, maxItems); err != nil || len(s) == 0 {
		return []Value{}, err
	}
	return slices.Repeat(s, int(n)), nil
}

func subtract(a, b Value) (Value, error) {
	x, ok1 := a.(*Set)
	y, ok2 := b.(*Set)
	if !ok1 || !ok2 {
		return nil, binErr("-", a, b)
	}
	r := &Set{NewDict()}
	for _, k := range x.D.Keys() {
		if _, has := y.D.Get(k); !has {
			if err := r.D.Set(k, nil); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}
