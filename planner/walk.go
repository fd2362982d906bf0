package planner

import (
	"slices"
	"strconv"
	"strings"
)

// output describes what an operator gives out.
type output struct {
	// While the operator and everything below it is "one scan, filtered, projected and
	// cut": that scan, and each output column as an expression over the relation. After
	// any other operator scan is nil.
	scan    *scan
	cols    []*expr
	limited bool // a LIMIT or TOP_N is below: filters may not move past it
	bare    bool // scan without a filter or projection yet
	// from traces each output column to the source column that it is, unchanged but
	// perhaps NULL; nil where that is not so, and nil as a whole where the number of
	// columns is not known.
	from []*origin
	// free tells by which output columns rows may be left out at a source; see free.
	free []*place
}

// origin is one column of one relation.
type origin struct {
	rel *Relation
	col int
}

// walker reads DuckDB's plan, bottom up.
type walker struct {
	*analysis
	rels  map[int]*Relation // by the argument of scanFunction
	rules ruleSet
	ctes  map[int][]*origin
	// delims are the columns that a correlated subquery sees of the query around it, of
	// which DELIM_GET gives the distinct rows, innermost last.
	delims [][]*origin
}

func (w *walker) visit(n obj) output {
	typ := strings.TrimPrefix(str(n, "type"), "LOGICAL_")
	w.tree = typ
	if jt := str(n, "join_type"); jt != "" {
		w.tree += ":" + jt
	}
	kids := w.visitChildren(typ, n)
	switch {
	case typ == "GET":
		return w.visitGet(n)
	case len(kids) == 1 && typ == "FILTER":
		return w.filter(n, kids[0])
	case len(kids) == 1 && typ == "PROJECTION":
		return project(n, kids[0])
	case len(kids) == 1 && (typ == "LIMIT" || typ == "TOP_N"):
		return w.limit(n, kids[0], typ == "TOP_N")
	}
	out := output{from: w.trace(typ, n, kids), free: w.free(typ, n, kids)} // everything else ends the chain
	if typ == "AGGREGATE_AND_GROUP_BY" && len(kids) == 1 && kids[0].scan != nil {
		kids[0].scan.extremes = w.extremesOf(n, kids[0])
	}
	if len(kids) == 2 {
		w.link(typ, n, kids[0], kids[1])
	}
	if len(kids) == 1 && !w.rules.guards(guardChain) && typ != "AGGREGATE_AND_GROUP_BY" {
		out.scan, out.cols = kids[0].scan, kids[0].cols
	}
	return out
}

// visitChildren visits the operators below n, those first on which the others depend.
func (w *walker) visitChildren(typ string, n obj) []output {
	children := list(n, "children")
	kids, texts := make([]output, len(children)), make([]string, len(children))
	tree := w.tree
	outer := 0 // of a DELIM_JOIN, the side that the other side sees
	if n["delim_flipped"] == true {
		outer = 1
	}
	for k := range children {
		i := k
		if outer == 1 && len(children) == 2 {
			i = 1 - k
		}
		child, _ := children[i].(obj)
		if k == 1 && typ == "DELIM_JOIN" {
			w.delims = append(w.delims, delimColumns(n, kids[outer].from))
		}
		kids[i] = w.visit(child)
		texts[i] = w.tree
		if k == 1 && typ == "DELIM_JOIN" {
			w.delims = w.delims[:len(w.delims)-1]
		}
		if i == 0 && typ == "MATERIALIZED_CTE" {
			w.ctes[num(n, "table_index")] = kids[0].from
		}
	}
	w.tree = tree
	if len(kids) > 0 {
		w.tree += "(" + strings.Join(texts, ", ") + ")"
	}
	return kids
}

// visitGet reads a scan. Table functions of the model itself are not ours to read.
func (w *walker) visitGet(n obj) output {
	var rel *Relation
	if ps := list(n, "parameters"); str(n, "name") == scanFunction && len(ps) == 1 {
		p, _ := ps[0].(obj)
		if id, err := strconv.Atoi(str(p, "value")); err == nil {
			rel = w.rels[id]
		}
	}
	if rel == nil {
		return output{}
	}
	sc := &scan{rel: rel, limit: -1}
	w.scans = append(w.scans, sc)
	w.tree += "[" + sc.rel.Name + "]"
	columns := sc.rel.Table.Columns
	types := list(n, "returned_types")
	out := output{scan: sc, bare: true, cols: []*expr{}, from: []*origin{}, free: []*place{}}
	for _, ci := range list(n, "column_indexes") {
		index, _ := ci.(obj)
		c := num(index, "index")
		if c < 0 || c >= len(columns) || c >= len(types) { // a pseudo column: only the number of rows matters
			out.cols = append(out.cols, &expr{name: "row id"})
			out.from, out.free = append(out.from, nil), append(out.free, nil)
			continue
		}
		t, _ := types[c].(obj)
		sc.cols = append(sc.cols, c)
		out.cols = append(out.cols, &expr{op: opColumn, name: columns[c].Name, col: c, of: sc, typ: parseType(t)})
		out.from, out.free = append(out.from, &origin{sc.rel, c}), append(out.free, &place{sc, c})
	}
	slices.Sort(sc.cols)
	ids := list(n, "projection_ids")
	out.cols, out.from, out.free = pick(out.cols, ids), pick(out.from, ids), pick(out.free, ids)
	if len(list(sub(n, "table_filters"), "filters")) > 0 { // not with our function, and not read
		out.scan, out.cols, out.free = nil, nil, nil
	}
	return out
}

// pick applies a projection map; an empty one keeps all.
func pick[T any](cols []T, ids []any) []T {
	if len(ids) == 0 || cols == nil {
		return cols
	}
	out := make([]T, len(ids))
	for i := range ids {
		if k := num(obj{"": ids[i]}, ""); k >= 0 && k < len(cols) {
			out[i] = cols[k]
		}
	}
	return out
}

func (w *walker) filter(n obj, k output) output {
	ids := list(n, "projection_map")
	out := output{scan: k.scan, cols: pick(k.cols, ids), limited: k.limited, from: pick(k.from, ids), free: pick(k.free, ids)}
	if k.scan == nil {
		return out
	}
	if k.limited && w.rules.guards(guardLimit) { // it applies to the rows that the limit left, so it must stay above
		out.scan, out.cols = nil, nil
		return out
	}
	for _, e := range parseExprs(list(n, "expressions")) {
		k.scan.preds = append(k.scan.preds, conjuncts(e.subst(k.cols))...)
	}
	return out
}

func project(n obj, k output) output {
	es := parseExprs(list(n, "expressions"))
	out := output{scan: k.scan, limited: k.limited, from: make([]*origin, len(es)), free: make([]*place, len(es))}
	used := false
	for i, e := range es {
		out.from[i], out.free[i] = at(k.from, e), at(k.free, e)
		e.walk(func(x *expr) { used = used || x.op == opColumn })
		if k.scan != nil {
			out.cols = append(out.cols, e.subst(k.cols))
		}
	}
	if k.bare && !used && len(k.cols) == 1 {
		// A scan always has a column; this one is only there to count rows.
		k.scan.cols = nil
	}
	return out
}

// limit ends the chain unless the number of rows is known.
func (w *walker) limit(n obj, k output, topN bool) output {
	out := output{from: k.from}
	if !w.rules.guards(guardFree) {
		out.free = k.free
	}
	if k.scan == nil || k.limited {
		return out
	}
	rows, skip := num(n, "limit"), max(num(n, "offset"), 0)
	var order []sortKey
	if topN {
		order = sortKeys(n, k.cols)
	} else {
		rows, skip = constantLimit(sub(n, "limit_val")), 0
		if o := sub(n, "offset_val"); o != nil && str(o, "type") != "UNSET" {
			skip = constantLimit(o)
		}
	}
	if rows < 0 || skip < 0 {
		return out
	}
	if !w.rules.guards(guardOffset) {
		skip = 0
	}
	k.scan.limit, k.scan.order, k.scan.skip = int64(rows)+int64(skip), order, skip > 0
	out.scan, out.cols, out.limited = k.scan, k.cols, true
	return out
}

func constantLimit(v obj) int {
	if str(v, "type") != "CONSTANT_VALUE" {
		return -1
	}
	return num(v, "constant_integer")
}

func sortKeys(n obj, cols []*expr) []sortKey {
	var keys []sortKey
	for _, x := range list(n, "orders") {
		o, _ := x.(obj)
		nulls := str(o, "null_order")
		keys = append(keys, sortKey{
			by:        parseExpr(sub(o, "expression")).subst(cols),
			desc:      str(o, "type") == "DESCENDING",
			nullsLast: nulls == "NULLS LAST" || nulls == "NULLS_LAST",
		})
	}
	return keys
}
