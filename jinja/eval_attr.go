package jinja

import (
	"errors"
	"fmt"
)

func (f *frame) getAttr(n *GetAttr) (Value, error) {
	o, err := f.eval(n.X)
	if err != nil {
		return nil, err
	}
	v, err := f.st.Attr(o, n.Attr)
	if u, ok := o.(*Undefined); ok && err != nil && u.Name != "" {
		return nil, locate(err, f.src, posOf(n.X)) // the name is at fault, not the attribute
	}
	return v, locate(err, f.src, n.P)
}

func (f *frame) getItem(n *GetItem) (Value, error) {
	o, err := f.eval(n.X)
	if err != nil {
		return nil, err
	}
	if s, ok := n.Key.(*Slice); ok {
		v, err := f.slice(o, s)
		if err == nil {
			err = f.st.charge(v)
		} else if f.folding && isTypeError(err) {
			return &Undefined{Name: "slice", Obj: o, HasObj: true, Chain: f.st.Chain}, nil
		}
		return v, locate(err, f.src, n.P)
	}
	k, err := f.eval(n.Key)
	if err != nil {
		return nil, err
	}
	v, err := f.st.Item(o, k)
	return v, locate(err, f.src, n.P)
}

func isTypeError(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == "TypeError"
}

// folds tells whether Jinja evaluates x when it compiles the template.
func folds(x Expr) bool {
	ok := true
	Walk(x, func(e Expr) bool {
		switch n := e.(type) {
		case *Name, *CallX:
			ok = false
		case *FilterX:
			switch n.Name {
			case "map", "select", "reject", "selectattr", "rejectattr", "random":
				ok = false
			}
		}
		return ok
	})
	return ok
}

// Attr is Jinja's getattr: the attribute first, then the item.
func (st *State) Attr(o Value, name string) (Value, error) {
	if v, ok := attribute(st, o, name); ok {
		return v, nil
	}
	switch x := o.(type) {
	case *Dict:
		if v, ok := x.GetStr(name); ok {
			return v, nil
		}
	case Itemer:
		if v, ok := x.GetItem(st, name); ok {
			return v, nil
		}
	case *Undefined:
		if x.Chain {
			return &Undefined{Name: name, Chain: true}, nil
		}
		return nil, x.Err()
	}
	return &Undefined{Name: name, Obj: o, HasObj: true, Chain: st.Chain}, nil
}

// Item is Jinja's getitem: the item first, then (for a string key) the attribute.
func (st *State) Item(o, k Value) (Value, error) {
	if u, ok := o.(*Undefined); ok {
		if u.Chain {
			return u, nil
		}
		return nil, u.Err()
	}
	if v, ok := st.element(o, k); ok {
		return v, nil
	}
	if s, ok := k.(string); ok {
		if v, ok := attribute(st, o, s); ok {
			return v, nil
		}
		return &Undefined{Name: s, Obj: o, HasObj: true, Chain: st.Chain}, nil
	}
	return &Undefined{Name: Repr(k), Hint: fmt.Sprintf("%s has no element %s", objTypeRepr(o), Repr(k)), Chain: st.Chain}, nil
}

// element is o[k] without the attribute.
func (st *State) element(o, k Value) (Value, bool) {
	switch x := o.(type) {
	case *Dict:
		return x.Get(k)
	case *List:
		return index(x.Items, k)
	case *Tuple:
		return index(x.Items, k)
	case string:
		i, ok := asInt(k)
		if !ok {
			return nil, false
		}
		r := []rune(x)
		if i < 0 {
			i += int64(len(r))
		}
		if i < 0 || i >= int64(len(r)) {
			return nil, false
		}
		return string(r[i]), true
	case *Range:
		i, ok := asInt(k)
		if i < 0 {
			i += x.Len()
		}
		return x.Start + i*x.Step, ok && i >= 0 && i < x.Len()
	case Itemer:
		return x.GetItem(st, k)
	}
	return nil, false
}

func index(s []Value, k Value) (Value, bool) {
	i, ok := asInt(k)
	if !ok {
		return nil, false
	}
	if i < 0 {
		i += int64(len(s))
	}
	if i < 0 || i >= int64(len(s)) {
		return nil, false
	}
	return s[i], true
}
