package planner

import "slices"

// place is a column of one scan.
type place struct {
	scan *scan
	col  int
}

// free finds the output columns of an operator by which rows may be left out at the
// source: where the rows of a scan that have some values in a column are not read, the
// output lacks the rows that have those values in the output column, and is otherwise
// the same. It is what a filter on the column needs to move down to the scan, for
// filters that DuckDB has not seen.
//
//   - Of a join, the side that gets NULLs where nothing matches is not free: in
//     a LEFT JOIN b, rows of b left out by b.k come back as NULL rows.
//   - Above a GROUP BY, DISTINCT ON or window, only keys of whole groups are: the rest
//     of a group decides its sum.
//   - LIMIT, SAMPLE, set operations and common table expressions, which others may
//     read, end it.
func (w *walker) free(typ string, n obj, kids []output) []*place {
	switch {
	case len(kids) == 2 && (slices.Contains(joins, typ) || typ == "DELIM_JOIN"):
		return freeJoin(typ, n, kids[0], kids[1])
	case len(kids) == 2 && typ == "MATERIALIZED_CTE":
		return kids[1].free
	case len(kids) != 1 || kids[0].free == nil:
		return nil
	}
	free := kids[0].free
	if !w.rules.guards(guardFree) && (typ == "LIMIT" || typ == "TOP_N" || typ == "WINDOW" || typ == "DISTINCT") {
		return free
	}
	switch typ {
	case "ORDER_BY":
		return pick(free, list(n, "projection_map"))
	case "DISTINCT":
		return among(free, parseExprs(list(n, "distinct_targets")))
	case "WINDOW":
		for _, e := range list(n, "expressions") {
			window, _ := e.(obj)
			free = among(free, parseExprs(list(window, "partitions")))
		}
		return free
	case "AGGREGATE_AND_GROUP_BY":
		sets := list(n, "grouping_sets")
		if len(sets) != 1 {
			return nil
		}
		if set, _ := sets[0].([]any); len(set) != len(list(n, "groups")) {
			return nil // a key that is not in the set is NULL
		}
		out := []*place{}
		for _, g := range parseExprs(list(n, "groups")) {
			out = append(out, at(free, g))
		}
		return out
	}
	return nil
}

// at is the element of cols that the bare column e refers to, or nil.
func at[T any](cols []*T, e *expr) *T {
	if e.op == opColumn && e.col >= 0 && e.col < len(cols) {
		return cols[e.col]
	}
	return nil
}

// among keeps the columns that stand among keys.
func among(free []*place, keys []*expr) []*place {
	out := make([]*place, len(free))
	for _, k := range keys {
		if p := at(free, k); p != nil {
			out[k.col] = p
		}
	}
	return out
}

func freeJoin(typ string, n obj, left, right output) []*place {
	l, r := pick(left.free, list(n, "left_projection_map")), pick(right.free, list(n, "right_projection_map"))
	kind := str(n, "join_type")
	switch {
	case typ == "CROSS_PRODUCT":
		kind = "INNER"
	case typ == "ASOF_JOIN" && kind == "INNER":
		kind = "LEFT" // another row on the right is the nearest when the nearest is left out
	case typ == "DELIM_JOIN" && n["delim_flipped"] == true:
		kind = map[string]string{"INNER": "RIGHT", "RIGHT": "RIGHT", "RIGHT_SEMI": "RIGHT_SEMI", "RIGHT_ANTI": "RIGHT_ANTI"}[kind]
	case typ == "DELIM_JOIN" && kind == "INNER":
		kind = "LEFT" // the right side is computed from rows of the left
	}
	switch kind {
	case "SEMI", "ANTI", "LEFT", "MARK", "SINGLE": // on the left, for the others come after it
		return l
	case "RIGHT_SEMI", "RIGHT_ANTI":
		return r
	case "INNER", "RIGHT":
	default:
		return nil
	}
	width := len(pick(left.from, list(n, "left_projection_map")))
	if left.from == nil {
		return nil // where the right side begins is not known
	}
	out := make([]*place, width, width+len(r))
	if kind == "INNER" {
		copy(out, l)
	}
	return append(out, r...)
}
