package planner

import (
	"slices"
	"strings"
)

// joins are the operators whose conditions link two sides.
var joins = []string{"COMPARISON_JOIN", "ANY_JOIN", "ASOF_JOIN", "CROSS_PRODUCT"}

// link is one equality of a join: rows of to.scan matter only if to.col is among the
// values of from.
type link struct {
	kind string
	to   place
	from origin
}

// link reads the equalities of a join. A side may be reduced by the keys of the other if
// its rows come to nothing where the other has no equal key. In a LEFT JOIN b that holds
// for b alone: each row of a is in the result. In a FULL JOIN it holds for none, nor in
// a NOT IN (SELECT b): one NULL there, and none is left.
//
// IS NOT DISTINCT FROM links nothing: its NULLs match, and keys are values.
func (w *walker) link(typ string, n obj, left, right output) {
	kind := str(n, "join_type")
	name := strings.ToLower(strings.TrimPrefix(kind, "RIGHT_"))
	if name == "right" { // DuckDB turns sides
		name = "left"
	}
	reduceLeft := slices.Contains([]string{"INNER", "SEMI", "RIGHT_SEMI", "RIGHT", "RIGHT_ANTI"}, kind)
	reduceRight := slices.Contains([]string{"INNER", "SEMI", "RIGHT_SEMI", "LEFT", "ANTI"}, kind)
	if !w.rules.guards(guardSide) {
		reduceLeft, reduceRight = true, true
	}
	for _, c := range equalities(typ, n, len(left.from), w.rules) {
		l, r := w.keyColumn(c[0]), w.keyColumn(c[1])
		if to, from := at(left.free, l), at(right.from, r); reduceLeft && to != nil && from != nil {
			w.links = append(w.links, link{name, *to, *from})
		}
		if to, from := at(right.free, r), at(left.from, l); reduceRight && to != nil && from != nil {
			w.links = append(w.links, link{name, *to, *from})
		}
	}
}

// keyColumn is e without casts that keep equal what is equal and different what is not.
func (w *walker) keyColumn(e *expr) *expr {
	n := normalizer{rules: w.rules}
	return n.bare(e)
}

// equalities are the pairs "expression of the left side = expression of the right side"
// that must hold for two rows to match.
func equalities(typ string, n obj, width int, rules ruleSet) [][2]*expr {
	equal := func(comparison string) bool {
		return comparison == "=" || comparison == "IS NOT DISTINCT FROM" && !rules.guards(guardNullKeys)
	}
	var out [][2]*expr
	switch typ {
	case "COMPARISON_JOIN", "ASOF_JOIN":
		for _, x := range list(n, "conditions") {
			c, _ := x.(obj)
			if equal(comparisons[str(c, "comparison")]) {
				out = append(out, [2]*expr{parseExpr(sub(c, "left")), parseExpr(sub(c, "right"))})
			}
		}
	case "ANY_JOIN": // one condition over the columns of both sides, the left's first
		if width == 0 {
			return nil
		}
		for _, e := range conjuncts(parseExpr(sub(n, "condition"))) {
			if e.op != opCompare || !equal(e.name) {
				continue
			}
			l, r := oneSide(e.args[0], 0, width), oneSide(e.args[1], width, 1<<30)
			if l == nil || r == nil {
				l, r = oneSide(e.args[1], 0, width), oneSide(e.args[0], width, 1<<30)
			}
			if l != nil && r != nil {
				out = append(out, [2]*expr{l, r})
			}
		}
	}
	return out
}

// oneSide is e, with its columns counted from first, if all are in [first, end).
func oneSide(e *expr, first, end int) *expr {
	cols := columnsOf(e)
	shift := make([]*expr, 0)
	for _, c := range cols {
		if c < first || c >= end {
			return nil
		}
		for len(shift) <= c {
			shift = append(shift, nil)
		}
	}
	e.walk(func(x *expr) {
		if x.op == opColumn {
			moved := *x
			moved.col = x.col - first
			shift[x.col] = &moved
		}
	})
	return e.subst(shift)
}
