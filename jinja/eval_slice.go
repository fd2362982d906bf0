package jinja

import "strings"

// sliceIndex evaluates one part of a slice; nil is a missing or None part.
func (f *frame) sliceIndex(x Expr) (*int64, error) {
	if x == nil {
		return nil, nil
	}
	v, err := f.eval(x)
	if err != nil || v == nil {
		return nil, err
	}
	if i, ok := asInt(v); ok {
		return &i, nil
	}
	return nil, TypeErr("slice indices must be integers or None or have an __index__ method")
}

// slice bypasses getitem, as Jinja does: a TypeError on None, not an undefined.
func (f *frame) slice(o Value, s *Slice) (Value, error) {
	lo, err := f.sliceIndex(s.Lo)
	if err != nil {
		return nil, err
	}
	hi, err := f.sliceIndex(s.Hi)
	if err != nil {
		return nil, err
	}
	st, err := f.sliceIndex(s.Step)
	if err != nil {
		return nil, err
	}
	step := int64(1)
	if st != nil {
		step = *st
	}
	if step == 0 {
		return nil, ValueErr("slice step cannot be zero")
	}
	switch x := o.(type) {
	case string:
		if isASCII(x) && step == 1 {
			a, b := bounds(lo, hi, 1, int64(len(x)))
			return x[a:max(a, b)], nil
		}
		r := []rune(x)
		var sb strings.Builder
		each(lo, hi, step, int64(len(r)), func(i int64) { sb.WriteRune(r[i]) })
		return sb.String(), nil
	case *List:
		out := &List{Items: []Value{}}
		each(lo, hi, step, int64(len(x.Items)), func(i int64) { out.Items = append(out.Items, x.Items[i]) })
		return out, nil
	case *Tuple:
		out := &Tuple{}
		each(lo, hi, step, int64(len(x.Items)), func(i int64) { out.Items = append(out.Items, x.Items[i]) })
		return out, nil
	case *Range:
		out := &List{}
		each(lo, hi, step, x.Len(), func(i int64) { out.Items = append(out.Items, x.Start+i*x.Step) })
		return out, nil
	case *Undefined:
		if x.Chain {
			return x, nil
		}
		return nil, x.Err()
	case *Dict:
		return nil, TypeErr("unhashable type: 'slice'")
	}
	return nil, TypeErr("'%s' object is not subscriptable", TypeName(o))
}

// bounds clamps a slice's ends to a sequence of n, as Python does.
func bounds(lo, hi *int64, step, n int64) (int64, int64) {
	clamp := func(p *int64, def, low, high int64) int64 {
		if p == nil {
			return def
		}
		v := *p
		if v < 0 {
			v += n
		}
		return min(max(v, low), high)
	}
	if step > 0 {
		return clamp(lo, 0, 0, n), clamp(hi, n, 0, n)
	}
	return clamp(lo, n-1, -1, n-1), clamp(hi, -1, -1, n-1)
}

// each calls f with every index of a slice. The step is compared with what is left, not
// added first: a huge one would overflow.
func each(lo, hi *int64, step, n int64, f func(int64)) {
	a, b := bounds(lo, hi, step, n)
	if step > 0 {
		for i := a; i < b; i += step {
			f(i)
			if step > b-i {
				return
			}
		}
		return
	}
	for i := a; i > b; i += step {
		f(i)
		if step < b-i {
			return
		}
	}
}
