package planner

// trace follows source columns through the operators that end a chain. Only what is
// provably the bare column is followed; an operator that is not known gives nil.
func (w *walker) trace(typ string, n obj, kids []output) []*origin {
	switch typ {
	case "COMPARISON_JOIN", "ANY_JOIN", "DELIM_JOIN", "ASOF_JOIN", "CROSS_PRODUCT", "POSITIONAL_JOIN":
		if len(kids) == 2 {
			return traceJoin(n, kids[0].from, kids[1].from)
		}
	case "MATERIALIZED_CTE":
		if len(kids) == 2 {
			return kids[1].from
		}
	case "CTE_REF":
		return w.ctes[num(n, "cte_index")]
	case "DELIM_GET":
		out := make([]*origin, len(list(n, "chunk_types")))
		if last := len(w.delims) - 1; last >= 0 && len(w.delims[last]) == len(out) {
			copy(out, w.delims[last])
		}
		return out
	case "DUMMY_SCAN":
		return make([]*origin, 1)
	case "EXPRESSION_GET":
		return make([]*origin, len(list(n, "expr_types")))
	case "UNION", "EXCEPT", "INTERSECT":
		if c := num(n, "column_count"); c > 0 {
			return make([]*origin, c)
		}
	}
	if len(kids) != 1 || kids[0].from == nil {
		return nil
	}
	from := kids[0].from
	switch typ {
	case "FILTER", "LIMIT", "TOP_N", "DISTINCT", "SAMPLE":
		return from
	case "ORDER_BY":
		return pick(from, list(n, "projection_map"))
	case "WINDOW":
		return append(from[:len(from):len(from)], make([]*origin, len(list(n, "expressions")))...)
	case "AGGREGATE_AND_GROUP_BY":
		if len(list(n, "grouping_sets")) > 1 {
			return nil
		}
		var out []*origin
		for _, g := range parseExprs(list(n, "groups")) {
			out = append(out, at(from, g))
		}
		rest := len(list(n, "expressions")) + len(list(n, "grouping_functions"))
		return append(out, make([]*origin, rest)...)
	}
	return nil
}

// delimColumns traces the columns of a DELIM_JOIN's outer side that the other side sees.
func delimColumns(n obj, outer []*origin) []*origin {
	var out []*origin
	for _, e := range parseExprs(list(n, "duplicate_eliminated_columns")) {
		out = append(out, at(outer, e))
	}
	return out
}

func traceJoin(n obj, left, right []*origin) []*origin {
	if left == nil || right == nil {
		return nil
	}
	left, right = pick(left, list(n, "left_projection_map")), pick(right, list(n, "right_projection_map"))
	switch str(n, "join_type") {
	case "SEMI", "ANTI":
		return left
	case "RIGHT_SEMI", "RIGHT_ANTI":
		return right
	case "MARK":
		return append(left[:len(left):len(left)], nil)
	}
	return append(left[:len(left):len(left)], right...)
}
