package planner

import (
	"cmp"
	"math"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// normalizer turns bound expressions into predicates: negations at the leaves, each
// leaf about one column and typed constants, or two columns. A predicate it gives is
// implied by the expression, as a filter; it is equivalent as long as lost is empty.
type normalizer struct {
	rules ruleSet
	lost  []string // why parts of the expression are not in the predicate
}

// normalize returns nil where nothing of e can be said as a predicate.
func normalize(e *expr, rules ruleSet) (p *connectors.Pred, lost []string) {
	n := normalizer{rules: rules}
	p = simplify(n.norm(e, false))
	return p, n.lost
}

func (n *normalizer) drop(why string) *connectors.Pred {
	n.lost = append(n.lost, why)
	return nil
}

// allow drops p where its rule is off.
func (n *normalizer) allow(rule string, p *connectors.Pred) *connectors.Pred {
	if !n.rules.on(rule) {
		return n.drop("rule " + rule + " is off")
	}
	return p
}

var never = &connectors.Pred{Kind: connectors.PFalse}

func (n *normalizer) norm(e *expr, neg bool) *connectors.Pred {
	if neg && !n.rules.on(ruleNot) {
		return n.drop("rule not is off")
	}
	switch e.op {
	case opNot:
		return n.norm(e.args[0], !neg)
	case opAnd, opOr:
		return n.junction(e, neg)
	case opConst:
		return n.truth(e, neg)
	case opColumn:
		if e.typ.id == "BOOLEAN" {
			return n.allow(ruleBool, &connectors.Pred{Kind: connectors.PBool, Col: e.col, Neg: neg})
		}
	case opIsNull, opNotNull:
		if c := n.bare(e.args[0]); c.op == opColumn {
			return n.allow(ruleNull, &connectors.Pred{Kind: connectors.PNull, Col: c.col, Neg: (e.op == opNotNull) != neg})
		}
	case opIn, opNotIn:
		return n.in(e, (e.op == opNotIn) != neg)
	case opCompare:
		return n.compare(e, neg)
	case opFunction:
		return n.like(e, neg)
	}
	return n.drop("not a comparison of a column with a constant")
}

// junction keeps what is left of an AND; an OR needs all its branches.
func (n *normalizer) junction(e *expr, neg bool) *connectors.Pred {
	and := (e.op == opAnd) != neg
	p := &connectors.Pred{Kind: connectors.POr}
	if and {
		p.Kind = connectors.PAnd
	} else if !n.rules.on(ruleOr) {
		return n.drop("rule or is off")
	}
	for _, a := range e.args {
		k := n.norm(a, neg)
		switch {
		case k != nil:
			p.Kids = append(p.Kids, k)
		case !and && n.rules.guards(guardOr):
			return nil
		}
	}
	if len(p.Kids) == 0 {
		return nil
	}
	return p
}

func (n *normalizer) truth(e *expr, neg bool) *connectors.Pred {
	switch {
	case e.value.null:
		return never
	case e.typ.id != "BOOLEAN" || e.value.num == nil:
		return n.drop("a constant that is not understood")
	case (e.value.num.Sign() != 0) != neg:
		return &connectors.Pred{Kind: connectors.PTrue}
	}
	return never
}

func (n *normalizer) in(e *expr, neg bool) *connectors.Pred {
	c := n.bare(e.args[0])
	if c.op != opColumn {
		return n.drop("IN over an expression")
	}
	p := &connectors.Pred{Kind: connectors.PIn, Col: c.col, Neg: neg}
	for _, a := range e.args[1:] {
		if a.op == opConst && a.value.null {
			if neg {
				return never // x NOT IN (…, NULL) is never true
			}
			continue
		}
		v, ok := constantOf(a)
		if !ok {
			return n.drop("IN list with more than plain constants")
		}
		if integerRank[c.typ.id] > 0 {
			floor, whole, ok := floorOf(v)
			switch {
			case ok && !whole: // no integer is equal to it
				continue
			case ok:
				v = integerValue(floor)
			}
		}
		p.Vals = append(p.Vals, v)
	}
	switch {
	case len(p.Vals) > 0:
	case neg:
		p = &connectors.Pred{Kind: connectors.PNull, Col: c.col, Neg: true}
	default:
		return never
	}
	return n.allow(ruleIn, p)
}

// likeFunctions are DuckDB's names of what PLike can say. Its LIKE has no escape
// character unless one is given, which makes it another function.
var likeFunctions = map[string]string{
	"prefix": "prefix", "starts_with": "prefix", "^@": "prefix", "suffix": "suffix", "ends_with": "suffix",
	"contains": "contains", "~~": "like", "!~~": "like",
}

func (n *normalizer) like(e *expr, neg bool) *connectors.Pred {
	kind := likeFunctions[e.name]
	if kind == "" || len(e.args) != 2 {
		return n.drop("function " + functionName(e.name) + " is not pushed")
	}
	c, pattern := e.args[0], e.args[1]
	if c.op != opColumn || c.typ.id != "VARCHAR" || c.typ.alias != "" || pattern.op != opConst {
		return n.drop(functionName(e.name) + " over more than a text column and a constant")
	}
	if pattern.value.null {
		return never
	}
	v, ok := pattern.value.value()
	if !ok || v.Type.Kind != connectors.Varchar {
		return n.drop("a pattern that is not understood")
	}
	return n.allow(ruleLike, &connectors.Pred{Kind: connectors.PLike, Op: kind, Col: c.col, Neg: (e.name == "!~~") != neg, Vals: []connectors.Value{v}})
}

var (
	inverse  = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
	mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
)

func (n *normalizer) compare(e *expr, neg bool) *connectors.Pred {
	l, r, op := n.bare(e.args[0]), n.bare(e.args[1]), e.name
	if l.op == opConst {
		l, r = r, l
		if m, ok := mirrored[op]; ok {
			op = m
		}
	}
	if op == "IS DISTINCT FROM" || op == "IS NOT DISTINCT FROM" {
		return n.distinct(l, r, (op == "IS DISTINCT FROM") != (neg && n.rules.guards(guardDistinct)))
	}
	if neg {
		op = inverse[op]
	}
	switch {
	case l.op == opCoalesce:
		return n.coalesce(l, r, op)
	case l.op == opColumn && r.op == opColumn:
		if e.args[0].op != opColumn || e.args[1].op != opColumn || l.typ.String() != r.typ.String() {
			return n.drop("two columns of different types")
		}
		return n.allow(ruleColumnPair, &connectors.Pred{Kind: connectors.PColCmp, Op: op, Col: l.col, Col2: r.col})
	case l.op == opColumn && r.op == opConst:
		return n.leaf(l, r, op)
	}
	if p, ok := n.rewrite(l, r, op); ok {
		return p
	}
	return n.drop("not a comparison of a column with a constant")
}

// distinct: c IS DISTINCT FROM v holds for NULL, where c <> v does not, so the NULLs
// are added back. It is never NULL itself, so its negation is c = v and nothing more.
func (n *normalizer) distinct(l, r *expr, distinct bool) *connectors.Pred {
	if l.op != opColumn || r.op != opConst {
		return n.drop("IS DISTINCT FROM between expressions")
	}
	isNull := &connectors.Pred{Kind: connectors.PNull, Col: l.col}
	if r.value.null {
		isNull.Neg = distinct
		return n.allow(ruleDistinct, isNull)
	}
	if !distinct {
		return n.allow(ruleDistinct, n.leaf(l, r, "="))
	}
	differs := n.leaf(l, r, "<>")
	if differs == nil {
		return nil
	}
	return n.allow(ruleDistinct, &connectors.Pred{Kind: connectors.POr, Kids: []*connectors.Pred{differs, isNull}})
}

// coalesce: coalesce(c, k) op v is c op v, or c IS NULL if k op v. Without the second
// part the rows that the default lets in would be lost.
func (n *normalizer) coalesce(l, r *expr, op string) *connectors.Pred {
	if len(l.args) != 2 || l.args[0].op != opColumn || l.args[1].op != opConst || r.op != opConst {
		return n.drop("coalesce over more than a column and a constant")
	}
	order, ok := compareConstants(l.args[1].value, r.value)
	if !ok {
		return n.drop("coalesce with constants that cannot be compared here")
	}
	p := n.leaf(l.args[0], r, op)
	if p != nil && holds(op, order) && n.rules.guards(guardNulls) {
		p = &connectors.Pred{Kind: connectors.POr, Kids: []*connectors.Pred{p, {Kind: connectors.PNull, Col: l.args[0].col}}}
	}
	return n.allow(ruleCoalesce, p)
}

// leaf is column op constant.
func (n *normalizer) leaf(l, r *expr, op string) *connectors.Pred {
	if r.value.null {
		return never
	}
	v, ok := constantOf(r)
	if !ok {
		return n.drop("a constant of type " + r.typ.String() + " is not pushed")
	}
	if v.Type.Kind == connectors.Boolean && (op == "=" || op == "<>") {
		return n.allow(ruleBool, &connectors.Pred{Kind: connectors.PBool, Col: l.col, Neg: (op == "<>") != (v.Int.Sign() == 0)})
	}
	rule := ruleRange
	if op == "=" || op == "<>" {
		rule = ruleEqual
	}
	if integerRank[l.typ.id] > 0 {
		if p, ok := integerLeaf(l, op, v); ok {
			return n.allow(rule, p)
		}
	}
	return n.allow(rule, &connectors.Pred{Kind: connectors.PCmp, Op: op, Col: l.col, Vals: []connectors.Value{v}})
}

// constantOf is the value of e for a predicate.
func constantOf(e *expr) (connectors.Value, bool) {
	if e.op != opConst {
		return connectors.Value{}, false
	}
	return e.value.value()
}

var integerRank = map[string]int{
	"TINYINT": 1, "UTINYINT": 1, "SMALLINT": 2, "USMALLINT": 2, "INTEGER": 3, "UINTEGER": 3, "BIGINT": 4, "UBIGINT": 4, "HUGEINT": 5,
}

var integerDigits = map[string]int{
	"TINYINT": 3, "UTINYINT": 3, "SMALLINT": 5, "USMALLINT": 5, "INTEGER": 10, "UINTEGER": 10, "BIGINT": 19, "UBIGINT": 20, "HUGEINT": 39,
}

// bare removes casts that keep every value and the order of values, so that the bare
// column against the constant is the same predicate. A cast that can round or fail
// must stay: cast(c AS INTEGER) = 1 holds for 1.4.
func (n *normalizer) bare(e *expr) *expr {
	for e.op == opCast && n.rules.on(ruleCast) && widens(e.args[0].typ, e.typ) {
		e = e.args[0]
	}
	return e
}

func widens(from, to duckType) bool {
	if from.alias != "" || to.alias != "" {
		return false
	}
	fr, fromInt := integerRank[from.id]
	tr, toInt := integerRank[to.id]
	switch {
	case fromInt && toInt:
		// Between types of one rank, and from signed to unsigned, values get lost.
		unsigned := strings.HasPrefix(to.id, "U") && !strings.HasPrefix(from.id, "U")
		return from.id == to.id || tr > fr && !unsigned
	case fromInt && to.id == "DECIMAL":
		return to.width-to.scale >= integerDigits[from.id]
	case fromInt && to.id == "DOUBLE":
		return fr <= 3
	case from.id == "DECIMAL" && to.id == "DECIMAL":
		return to.scale >= from.scale && to.width-to.scale >= from.width-from.scale
	case from.id == "FLOAT" && to.id == "DOUBLE":
		return true
	}
	return from.id == "VARCHAR" && to.id == "VARCHAR" && from.collation == to.collation
}

// compareConstants orders two constants of one type; ok is false where that is unsure.
func compareConstants(a, b constant) (order int, ok bool) {
	if a.null || b.null || a.opaque || b.opaque || a.typ.String() != b.typ.String() {
		return 0, false
	}
	switch {
	case a.typ.id == "VARCHAR" && a.typ.alias == "":
		return strings.Compare(a.text, b.text), true
	case a.typ.id == "FLOAT" || a.typ.id == "DOUBLE":
		if math.IsNaN(a.float) || math.IsNaN(b.float) { // the greatest, and equal to itself: cmp has it the least
			return cmp.Compare(b.float, a.float), math.IsNaN(a.float) != math.IsNaN(b.float)
		}
		return cmp.Compare(a.float, b.float), true
	case a.num != nil && b.num != nil && a.typ.id != "UUID" && a.typ.id != "TIME WITH TIME ZONE":
		return a.num.Cmp(b.num), true
	}
	return 0, false
}

func holds(op string, order int) bool {
	switch op {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// simplify flattens nested ANDs and ORs and removes constants.
func simplify(p *connectors.Pred) *connectors.Pred {
	if p == nil || p.Kind != connectors.PAnd && p.Kind != connectors.POr {
		return p
	}
	unit, zero := connectors.PTrue, connectors.PFalse
	if p.Kind == connectors.POr {
		unit, zero = zero, unit
	}
	var kids []*connectors.Pred
	for _, k := range p.Kids {
		k = simplify(k)
		switch k.Kind {
		case unit:
		case zero:
			return k
		case p.Kind:
			kids = append(kids, k.Kids...)
		default:
			kids = append(kids, k)
		}
	}
	switch len(kids) {
	case 0:
		return &connectors.Pred{Kind: unit}
	case 1:
		return kids[0]
	}
	return &connectors.Pred{Kind: p.Kind, Kids: kids}
}
