package planner

import (
	"maps"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// extreme is MIN or MAX of one column of a scan.
type extreme struct {
	col int
	max bool
}

// extremesOf reads an aggregate that gives one row of nothing but MIN and MAX of columns
// of the scan below it; nil for any other. It marks the scan: the rows of the scan are
// not needed then, for one row with the extremes gives the same.
//
// That the row comes from a LIMIT would be lost: SELECT max(x) FROM (SELECT x FROM t
// LIMIT 5) is not the maximum of t.
func (w *walker) extremesOf(n obj, k output) []extreme {
	if k.scan == nil || k.limited && w.rules.guards(guardExtremeLimit) || len(list(n, "groups"))+len(list(n, "grouping_sets"))+len(list(n, "grouping_functions")) > 0 {
		return nil
	}
	var found []extreme
	for _, x := range list(n, "expressions") {
		a, _ := x.(obj)
		args := parseExprs(list(a, "children"))
		name := str(a, "name")
		if str(a, "expression_class") != "BOUND_AGGREGATE" || name != "min" && name != "max" || len(args) != 1 || str(a, "aggregate_type") != "NON_DISTINCT" ||
			a["filter"] != nil || a["order_bys"] != nil || a["function_data"] != nil {
			return nil
		}
		c := monotone(args[0].subst(k.cols))
		if c.op != opColumn || c.of != k.scan {
			return nil
		}
		found = append(found, extreme{c.col, name == "max"})
	}
	return found
}

// monotone removes casts that keep the order of values, perhaps making some equal: the
// maximum of the day is the day of the maximum.
func monotone(e *expr) *expr {
	for e.op == opCast {
		from := e.args[0].typ
		if !widens(from, e.typ) && !(from.id == "TIMESTAMP" && from.alias == "" && e.typ.id == "DATE") {
			return e
		}
		e = e.args[0]
	}
	return e
}

// reduce makes one row of the extract, or two, where the plan needs no more than extremes
// of the scan: a column whose least and greatest value are needed has one in each row.
// DuckDB applies the scan's predicates to the rows again, so each column that they read
// must have a value there that passes: its minimum among the rows that passed does, if
// each predicate reads one column. WHERE a < b would compare the extremes of two rows.
//
// A predicate that the source does not apply exactly forbids it: max(x) WHERE name = 'a'
// over a source that finds 'A' too is the maximum of other rows, or NULL.
func (x *Extract) reduce(sc *scan, rules ruleSet) bool {
	d, able := x.Relation.Dialect.(connectors.Extremes)
	if !able || len(sc.extremes) == 0 || !rules.on(ruleExtremes) || !x.exact() && rules.guards(guardExtremeExact) {
		return false
	}
	lows, highs, ok := extremeColumns(sc, rules)
	if !ok {
		return false
	}
	var rows []string
	e := connectors.Extract{Table: x.Relation.Table, Columns: x.Columns, Where: x.Where, Limit: -1}
	for _, wantMax := range []bool{false, true} {
		var exprs []string
		for _, c := range x.Columns {
			if !lows[c] && !highs[c] {
				return false
			}
			text, ok := d.Extreme(x.Relation.Table, c, highs[c] && (wantMax || !lows[c]))
			if !ok {
				return false
			}
			exprs = append(exprs, text)
		}
		if row := d.SelectExtremes(e, exprs); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	if len(x.Columns) != len(union(lows, highs)) {
		return false
	}
	x.Query.SQL = rows[0]
	if len(rows) > 1 { // in parentheses, for one may have an ORDER BY of its own
		x.Query.SQL = "SELECT * FROM (" + rows[0] + ") AS dvt_least UNION ALL SELECT * FROM (" + rows[1] + ") AS dvt_greatest"
	}
	var names []string
	for _, e := range sc.extremes {
		name := extremeName(e.max) + "(" + plainName(x.Relation.Table.Columns[e.col].Name) + ")"
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	x.Reduced, x.ReducedRows = strings.Join(names, ", "), len(rows)
	return true
}

// extremeColumns are the columns of which the least and of which the greatest value is
// needed; ok is false where extremes of several rows would meet in a predicate.
func extremeColumns(sc *scan, rules ruleSet) (lows, highs map[int]bool, ok bool) {
	lows, highs = map[int]bool{}, map[int]bool{}
	for _, e := range sc.extremes {
		if e.max {
			highs[e.col] = true
		} else {
			lows[e.col] = true
		}
	}
	for _, p := range sc.preds {
		read := columnsOf(p)
		if len(read) > 1 && rules.guards(guardExtremeRow) {
			return nil, nil, false
		}
		for _, c := range read {
			if !highs[c] {
				lows[c] = true
			}
		}
	}
	return lows, highs, true
}

func union(a, b map[int]bool) map[int]bool {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

// oneExtremeScan is one scan in place of several that need nothing but extremes of the
// same rows; nil where they need more. Under different predicates the rows of one would
// be rows for the others.
func oneExtremeScan(scans []*scan) *scan {
	all := scan{rel: scans[0].rel, limit: -1, preds: unique(scans[0].preds)}
	text := exprText(&expr{op: opAnd, args: all.preds})
	for _, sc := range scans {
		if len(sc.extremes) == 0 || exprText(&expr{op: opAnd, args: unique(sc.preds)}) != text {
			return nil
		}
		all.extremes = append(all.extremes, sc.extremes...)
	}
	return &all
}

// columnsOf lists the columns that e reads, each once.
func columnsOf(e *expr) []int {
	var cols []int
	e.walk(func(x *expr) {
		if x.op == opColumn && !slices.Contains(cols, x.col) {
			cols = append(cols, x.col)
		}
	})
	return cols
}
