package planner

import (
	"math"

	"github.com/dvt-dev/dvt/connectors"
)

// share is the part of a relation's rows that is left: no less than low and no more than
// high by what is known, and what is taken for it where less is known.
type share struct{ low, high, guess float64 }

// unknown is the share that a predicate leaves of which nothing is known.
var (
	unknown  = share{0, 1, 0.2}
	everyRow = share{1, 1, 1}
)

func (s share) known() bool { return s.low == s.high }

// and is the share of rows that both leave. How they hang together is not known: all
// that one leaves may be all that the other leaves.
func (s share) and(o share) share {
	return share{s.low * o.low, min(s.high, o.high), s.guess * o.guess}
}

// atMost is s where no more rows than n of all leave the source.
func (s share) atMost(n, all float64) share {
	part := 1.0
	if all > n {
		part = n / all
	}
	return share{min(s.low, part), min(s.high, part), min(s.guess, part)}
}

// shareOf estimates what p leaves of t, as far as d sends it: equality finds one of the
// column's distinct values, and nothing is known of a range.
func shareOf(d connectors.Dialect, t *connectors.Table, p *connectors.Pred) share {
	switch p.Kind {
	case connectors.PTrue:
		return everyRow
	case connectors.PFalse:
		return share{}
	case connectors.PAnd:
		all := everyRow
		for _, k := range p.Kids {
			all = all.and(shareOf(d, t, k))
		}
		return all
	case connectors.POr:
		return shareOfAny(d, t, p.Kids)
	}
	if connectors.RenderPred(d, p, t).SQL == "" {
		return everyRow
	}
	n := 0.0
	switch {
	case p.Kind == connectors.PCmp && p.Op == "=":
		n = 1
	case p.Kind == connectors.PIn && !p.Neg:
		n = float64(len(p.Vals))
	}
	values := distinct(t, p.Col)
	if n == 0 || values == 0 {
		return unknown
	}
	part := min(1, n/values)
	return share{part, part, part}
}

// shareOfAny is what one of several predicates leaves.
func shareOfAny(d connectors.Dialect, t *connectors.Table, preds []*connectors.Pred) share {
	var most, sum share
	none := true
	for i, p := range preds {
		s := shareOf(d, t, p)
		most = share{low: max(most.low, s.low)}
		sum = share{sum.low + s.low, sum.high + s.high, sum.guess + s.guess}
		for _, o := range preds[:i] {
			none = none && apart([]*connectors.Pred{p}, []*connectors.Pred{o})
		}
	}
	if !none {
		sum.low = most.low
	}
	return share{min(1, sum.low), min(1, sum.high), min(1, sum.guess)}
}

// distinct is about how many values a column has, 0 where that is not known.
func distinct(t *connectors.Table, col int) float64 {
	if len(t.PrimaryKey) == 1 && t.PrimaryKey[0] == t.Columns[col].Name && t.RowEstimate > 0 {
		return float64(t.RowEstimate)
	}
	return float64(max(0, t.Stat(col).Distinct))
}

// share estimates the part of its relation's rows that x brings. The relation's number of
// rows is known.
func (x *Extract) share() share {
	all := float64(x.Relation.Table.RowEstimate)
	if x.Pruned {
		return share{}
	}
	s := everyRow
	for _, p := range x.sent {
		s = s.and(shareOf(x.Relation.Dialect, x.Relation.Table, p))
	}
	if x.Reduced != "" {
		return everyRow.atMost(float64(x.ReducedRows), all)
	}
	if x.Limit >= 0 {
		s = s.atMost(float64(x.Limit), all)
	}
	return s
}

// width estimates the bytes of one row of x.
func (x *Extract) width() float64 {
	w := 1.0 // a row without columns counts
	for _, c := range x.Columns {
		w += columnWidth(x.Relation.Table, c)
	}
	return w
}

func columnWidth(t *connectors.Table, col int) float64 {
	if w := t.Stat(col).Width; w > 0 {
		return float64(w)
	}
	switch typ := t.Columns[col].Type; typ.Kind {
	case connectors.Boolean, connectors.TinyInt, connectors.UTinyInt:
		return 1
	case connectors.SmallInt, connectors.USmallInt:
		return 2
	case connectors.Integer, connectors.UInteger, connectors.Float, connectors.Date:
		return 4
	case connectors.HugeInt, connectors.Decimal, connectors.UUID, connectors.Interval:
		return 16
	case connectors.Varchar:
		if typ.Length > 0 {
			return math.Min(float64(typ.Length), longText)
		}
		return longText
	case connectors.Blob, connectors.JSON, connectors.List, connectors.Struct, connectors.Map:
		return 2 * longText
	}
	return 8
}

// longText is the width in bytes that is taken for a text whose length is not known.
const longText = 32
