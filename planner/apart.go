package planner

import (
	"math/big"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
)

// extent is what conjuncts say of one column's values: that they are among texts, or in
// whole units between low and high, and among points if there are any.
type extent struct {
	typ       connectors.Type
	texts     []string
	points    []*big.Int
	low, high *big.Int // nil: no bound
}

// apart reports whether no row satisfies both of two lists of conjuncts, by one column of
// which they ask different values.
func apart(a, b []*connectors.Pred) bool {
	left, right := extents(a), extents(b)
	for col, l := range left {
		if r, ok := right[col]; ok && l.typ.Equal(r.typ) && l.meetsNo(r) {
			return true
		}
	}
	return false
}

func (e extent) meetsNo(o extent) bool {
	if e.texts != nil || o.texts != nil {
		return e.texts != nil && o.texts != nil && !slices.ContainsFunc(e.texts, func(t string) bool { return slices.Contains(o.texts, t) })
	}
	if e.high != nil && o.low != nil && e.high.Cmp(o.low) < 0 || o.high != nil && e.low != nil && o.high.Cmp(e.low) < 0 {
		return true
	}
	if e.points == nil || o.points == nil {
		return false
	}
	return !slices.ContainsFunc(e.points, func(p *big.Int) bool {
		return slices.ContainsFunc(o.points, func(q *big.Int) bool { return p.Cmp(q) == 0 })
	})
}

// extents gathers what conjuncts say of each column.
func extents(preds []*connectors.Pred) map[int]extent {
	out := map[int]extent{}
	for _, p := range preds {
		if p.Kind == connectors.PAnd {
			for col, e := range extents(p.Kids) {
				out[col] = narrower(out[col], e)
			}
			continue
		}
		if e, ok := leafExtent(p); ok {
			out[p.Col] = narrower(out[p.Col], e)
		}
	}
	return out
}

// narrower joins two extents of one column; it may keep less than both say.
func narrower(a, b extent) extent {
	if a.typ.Kind == connectors.Invalid || !a.typ.Equal(b.typ) {
		return b
	}
	if b.low != nil && (a.low == nil || b.low.Cmp(a.low) > 0) {
		a.low = b.low
	}
	if b.high != nil && (a.high == nil || b.high.Cmp(a.high) < 0) {
		a.high = b.high
	}
	if a.points == nil {
		a.points = b.points
	}
	if a.texts == nil {
		a.texts = b.texts
	}
	return a
}

func leafExtent(p *connectors.Pred) (e extent, ok bool) {
	if p.Kind != connectors.PCmp && p.Kind != connectors.PIn || p.Neg || p.Op == "<>" || len(p.Vals) == 0 {
		return e, false
	}
	e.typ = p.Vals[0].Type
	if isInteger(e.typ.Kind) {
		e.typ = connectors.T(connectors.HugeInt) // whole numbers, whatever their width
	}
	for _, v := range p.Vals {
		switch {
		case v.Type.Kind == connectors.Varchar || v.Type.Kind == connectors.UUID:
			e.texts = append(e.texts, v.Text)
		case v.Int != nil:
			e.points = append(e.points, v.Int)
		default:
			return e, false
		}
	}
	if p.Kind == connectors.PIn || p.Op == "=" {
		if len(e.points) > 0 {
			e.low, e.high = slices.MinFunc(e.points, (*big.Int).Cmp), slices.MaxFunc(e.points, (*big.Int).Cmp)
		}
		return e, true
	}
	if len(e.points) == 0 {
		return e, false // an order of texts
	}
	bound, one := e.points[0], big.NewInt(1)
	e.points = nil
	switch p.Op {
	case "<":
		e.high = new(big.Int).Sub(bound, one)
	case "<=":
		e.high = bound
	case ">":
		e.low = new(big.Int).Add(bound, one)
	case ">=":
		e.low = bound
	}
	return e, true
}
