package planner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Scalar is one scalar subquery of a model's SQL.
type Scalar struct {
	From, To int // its bytes in the SQL, parentheses included
	// SQL is one SELECT of one column, "value", that gives it: no row of the subquery
	// is NULL, two are DuckDB's error. It is "" unless Alone.
	SQL       string
	Relations []Name // what SQL names; offsets are those in SQL
	// Alone is set when the subquery can be evaluated first and its value spliced in:
	// it binds by itself, its value is the same each time, and no result column takes
	// its name from the text.
	Alone  bool
	Reason string // why it is not Alone
}

// FindScalars finds the scalar subqueries of in.SQL, from left to right. It looks
// inside those that do not stand alone, and not inside those that do.
func (p *Planner) FindScalars(ctx context.Context, in Input) ([]Scalar, error) {
	var found []Scalar
	err := p.with(ctx, func(s *shadow) error {
		q, err := s.parse(ctx, in.SQL)
		if err != nil {
			return err
		}
		used, err := q.resolve(in)
		if err != nil {
			return err
		}
		f := scalarFinder{shadow: s, query: q, with: withClause(q.sql), in: in}
		if err := s.freeze(ctx, in.Now); err != nil {
			return err
		}
		defer s.hide(ctx)
		if err := s.show(ctx, used); err != nil {
			return err
		}
		err = f.visit(ctx, q.node, nil, false)
		found = f.found
		return err
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(found, func(i, j int) bool { return found[i].From < found[j].From })
	return found, nil
}

// Splice replaces scalars of sql by literals, one each (see ScalarLiteral). Everything
// else stays as written. The scalars must not overlap.
func Splice(sql string, scalars []Scalar, literals []string) string {
	order := make([]int, len(scalars))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return scalars[b].From - scalars[a].From })
	for _, i := range order {
		sql = sql[:scalars[i].From] + literals[i] + sql[scalars[i].To:]
	}
	return sql
}

type scalarFinder struct {
	*shadow
	query *query
	with  []withItem
	in    Input
	found []Scalar
}

// visit walks the parse tree. inner are the names of common table expressions that do
// not stand at the beginning of the statement; named says that v is, or is in, a column
// of a SELECT that has no name of its own and so is called by its text.
func (f *scalarFinder) visit(ctx context.Context, v any, inner []string, named bool) error {
	if a, ok := v.([]any); ok {
		for _, c := range a {
			if err := f.visit(ctx, c, inner, named); err != nil {
				return err
			}
		}
		return nil
	}
	x, ok := v.(obj)
	if !ok {
		return nil
	}
	if x != nil && reflect.ValueOf(x).Pointer() != reflect.ValueOf(f.query.node).Pointer() {
		for _, e := range list(sub(x, "cte_map"), "map") {
			entry, _ := e.(obj)
			inner = append(inner[:len(inner):len(inner)], strings.ToLower(str(entry, "key")))
		}
	}
	if str(x, "class") == "SUBQUERY" && str(x, "subquery_type") == "SCALAR" {
		if alone, err := f.add(ctx, x, inner, named); err != nil || alone {
			return err
		}
	}
	for k, c := range x {
		if k != "select_list" {
			if err := f.visit(ctx, c, inner, named); err != nil {
				return err
			}
			continue
		}
		for _, item := range list(x, k) {
			column, _ := item.(obj)
			if err := f.visit(ctx, item, inner, named || str(column, "alias") == ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *scalarFinder) add(ctx context.Context, x obj, inner []string, named bool) (alone bool, err error) {
	sql := f.query.sql
	from := num(x, "query_location")
	to := matchParen(sql, from)
	if to < 0 {
		return false, nil
	}
	if before := strings.TrimRight(sql[:from], " \t\r\n"); before != "" && strings.HasSuffix(strings.ToLower(before), "array") {
		return false, nil // ARRAY(SELECT …) is more than its parentheses
	}
	sc := Scalar{From: from, To: to}
	names := tableNames(x)
	switch {
	case named:
		sc.Reason = "a result column is named after it: give it a name with AS"
	case slices.ContainsFunc(names, func(n string) bool { return slices.Contains(inner, n) }):
		sc.Reason = "it uses a common table expression of an inner query"
	default:
		if err := f.bind(ctx, &sc, names); err != nil {
			return false, err
		}
	}
	f.found = append(f.found, sc)
	return sc.Alone, nil
}

// bind tries the subquery by itself.
func (f *scalarFinder) bind(ctx context.Context, sc *Scalar, names []string) error {
	sql := withText(f.with, names) + "SELECT " + f.query.sql[sc.From:sc.To] + " AS value"
	q, err := f.parse(ctx, sql)
	var refused *Error
	if err == nil {
		_, err = q.resolve(f.in)
	}
	if err == nil {
		var root obj
		root, err = f.serialize(ctx, "json_serialize_plan", sql, ", optimize := false")
		if err == nil && root["error"] == true {
			err = duckFault(sql, root)
		}
	}
	switch {
	case errors.As(err, &refused):
		sc.Reason = "it does not stand alone: " + refused.Msg
	case err != nil:
		return err
	case q.volatile != "" || q.unstable != "":
		sc.Reason = fmt.Sprintf("%s() may differ each time", q.volatile+q.unstable)
	case len(q.names) == 0:
		sc.Reason = "it reads no relation"
	default:
		sc.Alone, sc.SQL, sc.Relations = true, sql, q.names
	}
	return nil
}

// tableNames lists, in lower case, the unqualified tables below v.
func tableNames(v any) []string {
	var names []string
	switch x := v.(type) {
	case []any:
		for _, c := range x {
			names = append(names, tableNames(c)...)
		}
	case obj:
		if str(x, "type") == "BASE_TABLE" && str(x, "schema_name") == "" {
			names = append(names, strings.ToLower(str(x, "table_name")))
		}
		for _, c := range x {
			names = append(names, tableNames(c)...)
		}
	}
	return names
}
