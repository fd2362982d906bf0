package planner

import (
	"context"
	"slices"
	"strings"
)

// SafeAppend reports whether the rows that sql selects can be added to the relation this
// without a key: at the top level of its WHERE stands col > (SELECT MAX(col) FROM this),
// for a column that the result has unchanged under the same name. Then no row that was
// added before can come again, and none that the filter passes is left behind.
func (p *Planner) SafeAppend(ctx context.Context, sql string, this Name) (bool, error) {
	safe := false
	err := p.with(ctx, func(s *shadow) error {
		q, err := s.parse(ctx, sql)
		if err != nil {
			return err
		}
		safe = safeAppend(q.node, this)
		return nil
	})
	return safe, err
}

func safeAppend(n obj, this Name) bool {
	if str(n, "type") != "SELECT_NODE" || n["sample"] != nil {
		return false
	}
	for _, m := range list(n, "modifiers") {
		// The maximum would move past rows that a LIMIT held back.
		if mo, _ := m.(obj); !slices.Contains([]string{"ORDER_MODIFIER", "DISTINCT_MODIFIER"}, str(mo, "type")) {
			return false
		}
	}
	for _, c := range topConjuncts(sub(n, "where_clause")) {
		if ref := watermarkFilter(c, this); ref != nil && outputs(n, ref) {
			return true
		}
	}
	return false
}

// topConjuncts splits a parsed condition at its top-level ANDs.
func topConjuncts(e obj) []obj {
	if str(e, "type") != "CONJUNCTION_AND" {
		return []obj{e}
	}
	var out []obj
	for _, c := range list(e, "children") {
		co, _ := c.(obj)
		out = append(out, topConjuncts(co)...)
	}
	return out
}

// watermarkFilter is the column reference in col > (SELECT MAX(col) FROM this), or nil.
func watermarkFilter(c obj, this Name) []string {
	left, right := sub(c, "left"), sub(c, "right")
	switch str(c, "type") {
	case "COMPARE_GREATERTHAN":
	case "COMPARE_LESSTHAN":
		left, right = right, left
	default:
		return nil
	}
	ref := columnRef(left)
	if ref == nil || str(right, "class") != "SUBQUERY" || str(right, "subquery_type") != "SCALAR" {
		return nil
	}
	if m := maxOf(sub(sub(right, "subquery"), "node"), this); m == nil || !strings.EqualFold(m[len(m)-1], ref[len(ref)-1]) {
		return nil
	}
	return ref
}

// maxOf is the column of a query that is SELECT MAX(column) FROM this and no more.
func maxOf(n obj, this Name) []string {
	from := sub(n, "from_table")
	if str(n, "type") != "SELECT_NODE" || str(from, "type") != "BASE_TABLE" || from["sample"] != nil ||
		(Name{Catalog: str(from, "catalog_name"), Schema: str(from, "schema_name"), Name: str(from, "table_name")}) !=
			(Name{Catalog: this.Catalog + Marker, Schema: this.Schema, Name: this.Name}) {
		return nil
	}
	for _, k := range []string{"where_clause", "having", "qualify", "sample"} {
		if n[k] != nil {
			return nil
		}
	}
	items := list(n, "select_list")
	if len(list(n, "modifiers"))+len(list(n, "group_expressions")) > 0 || len(items) != 1 {
		return nil
	}
	f, _ := items[0].(obj)
	args := list(f, "children")
	if str(f, "class") != "FUNCTION" || !strings.EqualFold(str(f, "function_name"), "max") || f["filter"] != nil || len(args) != 1 {
		return nil
	}
	arg, _ := args[0].(obj)
	return columnRef(arg)
}

func columnRef(e obj) []string {
	if str(e, "class") != "COLUMN_REF" {
		return nil
	}
	var names []string
	for _, n := range list(e, "column_names") {
		s, _ := n.(string)
		names = append(names, s)
	}
	return names
}

// outputs reports whether the result of n has the column that ref refers to, unchanged
// and under its name.
func outputs(n obj, ref []string) bool {
	from := sub(n, "from_table")
	one := str(from, "type") == "BASE_TABLE" || str(from, "type") == "SUBQUERY"
	merged := mergesColumns(from)
	name := ref[len(ref)-1]
	for _, it := range list(n, "select_list") {
		item, _ := it.(obj)
		if str(item, "class") == "STAR" {
			whole := str(item, "relation_name") == ""
			same := one || whole && !merged || len(ref) > 1 && strings.EqualFold(str(item, "relation_name"), ref[len(ref)-2])
			if same && plainStar(item) {
				return true
			}
			continue
		}
		out := columnRef(item)
		if out == nil || !strings.EqualFold(out[len(out)-1], name) {
			continue
		}
		if a := str(item, "alias"); a != "" && !strings.EqualFold(a, name) {
			continue
		}
		// In a join, a bare and a qualified name can be two columns.
		if one || slices.EqualFunc(out, ref, strings.EqualFold) {
			return true
		}
	}
	return false
}

func plainStar(item obj) bool {
	for _, k := range []string{"exclude_list", "replace_list", "qualified_exclude_list", "rename_list"} {
		if len(list(item, k)) > 0 {
			return false
		}
	}
	return item["columns"] != true && item["expr"] == nil
}

// mergesColumns reports whether a join below makes one column of two (USING, NATURAL).
func mergesColumns(from obj) bool {
	if str(from, "type") != "JOIN" {
		return false
	}
	return len(list(from, "using_columns")) > 0 || str(from, "ref_type") == "NATURAL" || mergesColumns(sub(from, "left")) || mergesColumns(sub(from, "right"))
}
