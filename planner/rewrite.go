package planner

import (
	"math"
	"math/big"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// rewrite finds, for a comparison of a computed time with a constant, the range of the
// bare column that it is. It relies on the time zone UTC of both instances. ok is false
// where e is none of these.
func (n *normalizer) rewrite(e, r *expr, op string) (p *connectors.Pred, ok bool) {
	if len(e.args) != 1 || e.args[0].op != opColumn || r.op != opConst || r.value.null || r.value.opaque || r.value.num == nil {
		return nil, false
	}
	c := e.args[0]
	from, to, k := c.typ.id, e.typ.id, r.value.num
	switch {
	case e.op == opFunction && e.name == "year" && calendar(from) && integerRank[r.typ.id] > 0:
		return n.year(c, op, k), true
	case e.op != opCast || to != r.typ.id:
	case from == "TIMESTAMP" && to == "TIMESTAMP WITH TIME ZONE" || from == "TIMESTAMP WITH TIME ZONE" && to == "TIMESTAMP":
		return n.allow(ruleZone, comparison(c, op, k)), true
	case to == "DATE" && calendar(from) && finiteDay(k):
		return n.allow(ruleDay, inDay(c, op, k)), true
	case from == "DATE" && calendar(to) && finiteMicros(k):
		return n.allow(ruleDay, dayAgainst(c, op, k)), true
	}
	return nil, false
}

func calendar(id string) bool {
	return id == "DATE" || id == "TIMESTAMP" || id == "TIMESTAMP WITH TIME ZONE"
}

const dayMicros = 86_400_000_000

// finiteDay reports whether all engines of the house agree on the calendar around day d.
func finiteDay(d *big.Int) bool {
	return d.IsInt64() && d.Int64() > daysOf(1) && d.Int64() < daysOf(9999)
}

func finiteMicros(t *big.Int) bool {
	return t.IsInt64() && t.Int64() != math.MaxInt64 && finiteDay(big.NewInt(t.Int64()/dayMicros))
}

func daysOf(year int64) int64 {
	return time.Date(int(year), 1, 1, 0, 0, 0, 0, time.UTC).Unix() / 86400
}

// comparison is c op v, where v is in c's own unit: days or microseconds.
func comparison(c *expr, op string, v *big.Int) *connectors.Pred {
	return &connectors.Pred{Kind: connectors.PCmp, Op: op, Col: c.col, Vals: []connectors.Value{{Type: c.typ.logical(), Int: v}}}
}

func both(kind connectors.PredKind, a, b *connectors.Pred) *connectors.Pred {
	return &connectors.Pred{Kind: kind, Kids: []*connectors.Pred{a, b}}
}

// span compares a column with a half-open range [from, to) that the constant stands for.
func span(c *expr, op string, from, to *big.Int) *connectors.Pred {
	switch op {
	case "=":
		return both(connectors.PAnd, comparison(c, ">=", from), comparison(c, "<", to))
	case "<>":
		return both(connectors.POr, comparison(c, "<", from), comparison(c, ">=", to))
	case "<":
		return comparison(c, "<", from)
	case "<=":
		return comparison(c, "<", to)
	case ">":
		return comparison(c, ">=", to)
	}
	return comparison(c, ">=", from)
}

// inDay: cast(timestamp AS DATE) op day.
func inDay(c *expr, op string, day *big.Int) *connectors.Pred {
	from := new(big.Int).Mul(day, big.NewInt(dayMicros))
	return span(c, op, from, new(big.Int).Add(from, big.NewInt(dayMicros)))
}

// dayAgainst: cast(date AS TIMESTAMP) op instant. A day is at its midnight.
func dayAgainst(c *expr, op string, instant *big.Int) *connectors.Pred {
	day, rest := new(big.Int).DivMod(instant, big.NewInt(dayMicros), new(big.Int))
	if rest.Sign() == 0 {
		return comparison(c, op, day)
	}
	switch op {
	case "=":
		return never
	case "<>":
		return &connectors.Pred{Kind: connectors.PNull, Col: c.col, Neg: true}
	case "<", "<=":
		return comparison(c, "<=", day)
	}
	return comparison(c, ">", day)
}

// year: year(column) op k. The year of an infinite date is NULL, which the range does
// not say.
func (n *normalizer) year(c *expr, op string, k *big.Int) *connectors.Pred {
	if !k.IsInt64() || k.Int64() < 2 || k.Int64() > 9997 {
		return n.drop("a year out of range")
	}
	from, to := big.NewInt(daysOf(k.Int64())), big.NewInt(daysOf(k.Int64()+1))
	if c.typ.id != "DATE" {
		from.Mul(from, big.NewInt(dayMicros))
		to.Mul(to, big.NewInt(dayMicros))
	}
	p := n.allow(ruleYear, span(c, op, from, to))
	if p != nil && op != "=" {
		n.lost = append(n.lost, "infinite dates have no year")
	}
	return p
}

// floorOf is the largest whole number not above v, and whether it is v itself.
func floorOf(v connectors.Value) (floor *big.Int, whole, ok bool) {
	switch v.Type.Kind {
	case connectors.Decimal:
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(v.Type.Scale)), nil)
		floor, rest := new(big.Int).DivMod(v.Int, unit, new(big.Int))
		return floor, rest.Sign() == 0, true
	case connectors.Float, connectors.Double:
		if math.IsNaN(v.Float) || math.IsInf(v.Float, 0) {
			return nil, false, false
		}
		f := math.Floor(v.Float)
		floor, _ := new(big.Float).SetFloat64(f).Int(nil)
		return floor, f == v.Float, true
	}
	return v.Int, true, v.Int != nil
}

// integerValue is a whole number as a constant.
func integerValue(i *big.Int) connectors.Value {
	kind := connectors.HugeInt
	if i.IsInt64() {
		kind = connectors.BigInt
	} else if i.IsUint64() {
		kind = connectors.UBigInt
	}
	return connectors.Value{Type: connectors.T(kind), Int: i}
}

// integerLeaf compares a column of integers: dialects see whole numbers there, whatever
// the model compares with.
func integerLeaf(c *expr, op string, v connectors.Value) (*connectors.Pred, bool) {
	floor, whole, ok := floorOf(v)
	if !ok {
		return nil, false
	}
	if !whole {
		switch op {
		case "=":
			return never, true
		case "<>":
			return &connectors.Pred{Kind: connectors.PNull, Col: c.col, Neg: true}, true
		case "<", "<=":
			op = "<="
		default:
			op = ">"
		}
	}
	return &connectors.Pred{Kind: connectors.PCmp, Op: op, Col: c.col, Vals: []connectors.Value{integerValue(floor)}}, true
}
