package jinja

import (
	"fmt"
	"strings"
)

// use is eval for a value that is looked at: printed, tested, looped over, filtered.
// In strict mode an undefined name ends here.
func (f *frame) use(x Expr) (Value, error) {
	v, err := f.eval(x)
	if u, ok := v.(*Undefined); ok && u.strict && err == nil {
		return nil, locate(u.Err(), f.src, posOf(x))
	}
	return v, err
}

// eval is a switch without locals: it is on the stack once per nesting level of an
// expression, and macros may nest hundreds deep.
func (f *frame) eval(x Expr) (Value, error) {
	switch n := x.(type) {
	case *Const:
		return n.V, nil
	case *Name:
		if v, ok := f.lookup(n.Name); ok {
			return v, nil
		}
		return f.undefined(n.Name), nil
	case *GetAttr:
		return f.getAttr(n)
	case *CallX:
		return f.call(n)
	case *FilterX:
		return f.filterExpr(n)
	case *TestX:
		return f.test(n)
	case *Cond:
		return f.cond(n)
	case *And:
		l, err := f.use(n.L)
		if err != nil || !Truth(l) {
			return l, err
		}
		return f.eval(n.R)
	case *Or:
		l, err := f.use(n.L)
		if err != nil || Truth(l) {
			return l, err
		}
		return f.eval(n.R)
	case *Not:
		v, err := f.use(n.X)
		return !Truth(v), err
	case *Concat:
		return f.concat(n)
	case *Bin:
		return f.binary(n)
	case *Cmp:
		return f.compare(n)
	case *Unary:
		v, err := f.eval(n.X)
		if err != nil {
			return nil, err
		}
		r, err := unary(n.Op, v)
		return r, locate(err, f.src, n.P)
	case *ListX:
		items, err := f.evalAll(n.Items)
		return &List{Items: items}, err
	case *TupleX:
		items, err := f.evalAll(n.Items)
		return &Tuple{Items: items}, err
	case *DictX:
		return f.dict(n)
	case *GetItem:
		return f.getItem(n)
	}
	return nil, fmt.Errorf("unknown expression %T", x)
}

func (f *frame) evalAll(xs []Expr) ([]Value, error) {
	out := make([]Value, len(xs))
	for i, e := range xs {
		v, err := f.eval(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, f.st.chargeBytes(16 * len(xs))
}

func (f *frame) cond(n *Cond) (Value, error) {
	c, err := f.use(n.Test)
	if err != nil {
		return nil, err
	}
	if Truth(c) {
		return f.eval(n.Then)
	}
	if n.Else == nil {
		return &Undefined{Hint: "the inline if-expression evaluated to false and no else section was defined.", Chain: f.st.Chain}, nil
	}
	return f.eval(n.Else)
}

func (f *frame) concat(n *Concat) (Value, error) {
	var sb strings.Builder
	for _, i := range n.Items {
		v, err := f.use(i)
		if err != nil {
			return nil, err
		}
		s := Str(v)
		if sb.Len()+len(s) > maxText {
			return nil, locate(limitErr("text of more than %d bytes", maxText), f.src, n.P)
		}
		sb.WriteString(s)
	}
	return sb.String(), locate(f.st.charge(sb.String()), f.src, n.P)
}

func (f *frame) binary(n *Bin) (Value, error) {
	l, err := f.eval(n.L)
	if err != nil {
		return nil, err
	}
	r, err := f.eval(n.R)
	if err != nil {
		return nil, err
	}
	v, err := BinOp(n.Op, l, r)
	if err == nil {
		err = f.st.charge(v)
	}
	return v, locate(err, f.src, n.P)
}

func (f *frame) compare(n *Cmp) (Value, error) {
	l, err := f.use(n.X)
	if err != nil {
		return nil, err
	}
	for i, op := range n.Ops {
		r, err := f.use(n.Rest[i])
		if err != nil {
			return nil, err
		}
		ok, err := compareOp(op, l, r)
		if err != nil {
			return nil, locate(err, f.src, n.P)
		}
		if !ok {
			return false, nil
		}
		l = r
	}
	return true, nil
}

func compareOp(op string, l, r Value) (bool, error) {
	switch op {
	case "==":
		return Equal(l, r), nil
	case "!=":
		return !Equal(l, r), nil
	case "in":
		return Contains(r, l)
	case "not in":
		ok, err := Contains(r, l)
		return !ok, err
	}
	c, err := Compare(op, l, r)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

func (f *frame) dict(n *DictX) (Value, error) {
	d := NewDict()
	for i := range n.K {
		k, err := f.eval(n.K[i])
		if err != nil {
			return nil, err
		}
		v, err := f.eval(n.V[i])
		if err != nil {
			return nil, err
		}
		if err := d.Set(k, v); err != nil {
			return nil, locate(err, f.src, n.P)
		}
	}
	return d, f.st.chargeBytes(32 * len(n.K))
}
