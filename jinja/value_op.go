package jinja

import "strings"

func binErr(op string, a, b Value) error {
	return TypeErr("unsupported operand type(s) for %s: '%s' and '%s'", op, TypeName(a), TypeName(b))
}

func BinOp(op string, a, b Value) (Value, error) {
	if u, ok := a.(*Undefined); ok {
		return nil, u.Err()
	}
	if u, ok := b.(*Undefined); ok {
		if _, str := a.(string); !str || op != "%" {
			return nil, u.Err()
		}
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
	if op == "%" {
		if s, ok := a.(string); ok {
			return PercentFormat(s, b)
		}
	}
	if isNum(a) && isNum(b) {
		return numOp(op, a, b)
	}
	switch op {
	case "+":
		switch x := a.(type) {
		case string:
			if y, ok := b.(string); ok {
				return x + y, nil
			}
			return nil, TypeErr("can only concatenate str (not \"%s\") to str", TypeName(b))
		case *List:
			if y, ok := b.(*List); ok {
				return NewList(append(append([]Value{}, x.Items...), y.Items...)...), nil
			}
			return nil, TypeErr("can only concatenate list (not \"%s\") to list", TypeName(b))
		case *Tuple:
			if y, ok := b.(*Tuple); ok {
				return NewTuple(append(append([]Value{}, x.Items...), y.Items...)...), nil
			}
			return nil, TypeErr("can only concatenate tuple (not \"%s\") to tuple", TypeName(b))
		}
	case "*":
		seq, n := a, b
		if _, ok := asInt(seq); ok {
			seq, n = b, a
		}
		if k, ok := asInt(n); ok {
			k = max(k, 0)
			if k > 10_000_000 {
				return nil, &Error{Kind: "MemoryError", Msg: "repeat count too large"}
			}
			switch x := seq.(type) {
			case string:
				return strings.Repeat(x, int(k)), nil
			case *List:
				return NewList(repeat(x.Items, int(k))...), nil
			case *Tuple:
				return NewTuple(repeat(x.Items, int(k))...), nil
			}
		}
	case "-":
		if x, ok := a.(*Set); ok {
			if y, ok := b.(*Set); ok {
				r, _ := NewSet(nil)
				for _, k := range x.D.Keys() {
					if _, has := y.D.Get(k); !has {
						r.D.Set(k, nil)
					}
				}
				return r, nil
			}
		}
	}
	if op == "**" {
		op = "** or pow()"
	}
	return nil, binErr(op, a, b)
}

func repeat(s []Value, n int) []Value {
	out := make([]Value, 0, len(s)*n)
	for i := 0; i < n; i++ {
		out = append(out, s...)
	}
	return out
}
