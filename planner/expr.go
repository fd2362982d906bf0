package planner

// op is the kind of a bound expression.
type op uint8

const (
	opOther op = iota // name: DuckDB's class; never pushed
	opColumn
	opConst
	opCompare // name: = <> < <= > >= IS DISTINCT FROM, IS NOT DISTINCT FROM
	opAnd
	opOr
	opNot
	opIsNull
	opNotNull
	opIn
	opNotIn
	opCast
	opTryCast
	opFunction // name: DuckDB's function
	opCase     // when, then, when, then, …, else
	opCoalesce
)

// expr is a bound, typed expression. It is not changed once built.
type expr struct {
	op    op
	name  string
	args  []*expr
	typ   duckType
	col   int   // opColumn: the position in the child operator's output; after subst, in the relation
	of    *scan // opColumn after subst: the scan that col belongs to
	value constant
}

func (e *expr) walk(f func(*expr)) {
	f(e)
	for _, a := range e.args {
		a.walk(f)
	}
}

// subst replaces references to a child operator's output by what the child computes.
func (e *expr) subst(outputs []*expr) *expr {
	if e.op == opColumn {
		if e.col >= 0 && e.col < len(outputs) && outputs[e.col] != nil {
			return outputs[e.col]
		}
		return &expr{op: opOther, name: "unresolved column", typ: e.typ}
	}
	if len(e.args) == 0 {
		return e
	}
	c := *e
	c.args = make([]*expr, len(e.args))
	for i, a := range e.args {
		c.args[i] = a.subst(outputs)
	}
	return &c
}

var comparisons = map[string]string{
	"COMPARE_EQUAL": "=", "COMPARE_NOTEQUAL": "<>", "COMPARE_LESSTHAN": "<", "COMPARE_LESSTHANOREQUALTO": "<=",
	"COMPARE_GREATERTHAN": ">", "COMPARE_GREATERTHANOREQUALTO": ">=",
	"COMPARE_DISTINCT_FROM": "IS DISTINCT FROM", "COMPARE_NOT_DISTINCT_FROM": "IS NOT DISTINCT FROM",
}

var operators = map[string]op{
	"OPERATOR_NOT": opNot, "OPERATOR_IS_NULL": opIsNull, "OPERATOR_IS_NOT_NULL": opNotNull,
	"COMPARE_IN": opIn, "COMPARE_NOT_IN": opNotIn, "OPERATOR_COALESCE": opCoalesce,
}

// parseExprs reads a list of expressions, or a list of such lists (VALUES).
func parseExprs(as []any) []*expr {
	out := make([]*expr, 0, len(as))
	for _, a := range as {
		switch x := a.(type) {
		case obj:
			out = append(out, parseExpr(x))
		case []any:
			out = append(out, parseExprs(x)...)
		default:
			out = append(out, &expr{name: "nothing"})
		}
	}
	return out
}

// parseExpr reads a bound expression whose columns are positions (BOUND_REF). What it
// does not know stays opOther, which is never pushed: a new kind of node in a later
// DuckDB costs pushdown, not correctness.
func parseExpr(o obj) *expr {
	class, typ := str(o, "expression_class"), str(o, "type")
	e := &expr{name: class + " " + typ, typ: parseType(sub(o, "return_type"))}
	switch class {
	case "BOUND_REF":
		e.op, e.name, e.col = opColumn, str(o, "alias"), num(o, "index")
	case "BOUND_CONSTANT":
		e.op, e.value = opConst, parseConstant(sub(o, "value"))
		e.typ = e.value.typ
	case "BOUND_COMPARISON":
		e.typ = booleanType
		e.args = []*expr{parseExpr(sub(o, "left")), parseExpr(sub(o, "right"))}
		if c, ok := comparisons[typ]; ok {
			e.op, e.name = opCompare, c
		}
	case "BOUND_BETWEEN":
		return parseBetween(o)
	case "BOUND_CONJUNCTION":
		e.typ, e.args = booleanType, parseExprs(list(o, "children"))
		e.op = map[string]op{"CONJUNCTION_AND": opAnd, "CONJUNCTION_OR": opOr}[typ]
	case "BOUND_OPERATOR":
		e.op, e.args = operators[typ], parseExprs(list(o, "children"))
	case "BOUND_CAST":
		e.op, e.args = opCast, []*expr{parseExpr(sub(o, "child"))}
		if o["try_cast"] == true {
			e.op = opTryCast
		}
	case "BOUND_FUNCTION":
		e.op, e.name, e.args = opFunction, str(o, "name"), parseExprs(list(o, "children"))
		if o["function_data"] != nil {
			// Bind data can change the meaning (a lambda's body, a format): it is not
			// modelled, and this argument keeps the function from being recognized.
			e.args = append(e.args, &expr{name: "bind data"})
		}
	case "BOUND_CASE":
		e.op = opCase
		for _, c := range list(o, "case_checks") {
			check, _ := c.(obj)
			e.args = append(e.args, parseExpr(sub(check, "when_expr")), parseExpr(sub(check, "then_expr")))
		}
		e.args = append(e.args, parseExpr(sub(o, "else_expr")))
	}
	return e
}

// parseBetween reads BETWEEN as its two comparisons.
func parseBetween(o obj) *expr {
	in := parseExpr(sub(o, "input"))
	lower, upper := ">", "<"
	if o["lower_inclusive"] == true {
		lower = ">="
	}
	if o["upper_inclusive"] == true {
		upper = "<="
	}
	return &expr{op: opAnd, typ: booleanType, args: []*expr{
		{op: opCompare, name: lower, typ: booleanType, args: []*expr{in, parseExpr(sub(o, "lower"))}},
		{op: opCompare, name: upper, typ: booleanType, args: []*expr{in, parseExpr(sub(o, "upper"))}},
	}}
}

// conjuncts splits e at its top-level ANDs.
func conjuncts(e *expr) []*expr {
	if e.op != opAnd {
		return []*expr{e}
	}
	var out []*expr
	for _, a := range e.args {
		out = append(out, conjuncts(a)...)
	}
	return out
}
