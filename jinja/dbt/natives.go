package dbt

import (
	"github.com/dvt-dev/dvt/jinja"
)

// natives are what dbt writes as macros and dvt answers itself, because the answer
// belongs to the run and not to SQL.
func (n *node) natives() map[string]V {
	h := n.h
	return map[string]V{
		"is_incremental":      constantly("is_incremental", h.Execute && h.IsIncremental),
		"should_full_refresh": function("should_full_refresh", func(A) (V, error) { return n.fullRefresh(), nil }),
		"run_query":           bound("run_query", params("sql"), n.runQuery),
		"statement":           jinja.NewFunc("statement", n.statement),
		"noop_statement":      constantly("noop_statement", ""),
		"incremental_where_cond": bound("incremental_where_cond", params("column?"), func(b jinja.Bound) (V, error) {
			return window(h.WhereCond, b, "1=1")
		}),
		"incremental_value": bound("incremental_value", params("column?"), func(b jinja.Bound) (V, error) {
			return window(h.IncrementalValue, b, "null")
		}),
		"get_where_subquery":   bound("get_where_subquery", params("relation"), n.whereSubquery),
		"load_cached_relation": bound("load_cached_relation", params("relation"), n.loadRelation),
		"load_relation":        bound("load_relation", params("relation"), n.loadRelation),
	}
}

// whereSubquery is what a generic test reads: the relation, or its rows that the
// test's where keeps.
func (n *node) whereSubquery(b jinja.Bound) (V, error) {
	r := b.Get("relation")
	if n.h.Config == nil || !n.h.Execute {
		return r, nil
	}
	where, _ := n.h.Config.lookup(false, "where")
	if where == nil || jinja.Str(where) == "" {
		return r, nil
	}
	return "(select * from " + jinja.Str(r) + " where " + jinja.Str(where) + ") dbt_subquery", nil
}

func window(f func(string) (string, error), b jinja.Bound, first string) (V, error) {
	if f == nil {
		return first, nil
	}
	column := ""
	if c := b.Get("column"); c != nil {
		column = jinja.Str(c)
	}
	return f(column)
}

func (n *node) fullRefresh() bool {
	if n.h.Config != nil {
		if v, ok := n.h.Config.lookup(false, "full_refresh"); ok && v != nil {
			return jinja.Truth(v)
		}
	}
	return n.h.FullRefresh
}

// runQuery gives nothing in parse mode: the macro's "if execute" decides.
func (n *node) runQuery(b jinja.Bound) (V, error) {
	if !n.h.Execute {
		return nil, nil
	}
	t, err := n.query(jinja.Str(b.Get("sql")))
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (n *node) query(sql string) (*Table, error) {
	if n.h.RunQuery == nil {
		return nil, n.fail("run_query is not possible here: nothing is read while models are compiled without a connection")
	}
	t, err := n.h.RunQuery(n.h.Ctx, sql)
	if err != nil {
		return nil, &jinja.Error{Kind: "DatabaseError", Msg: err.Error(), Cause: err}
	}
	return t, nil
}

// statement is {% call statement('name', fetch_result=True) %}SQL{% endcall %}.
func (n *node) statement(st *ST, a A) (V, error) {
	var caller V
	rest := A{Pos: a.Pos}
	for _, k := range a.Kw {
		if k.Name == "caller" {
			caller = k.Val
			continue
		}
		rest.Kw = append(rest.Kw, k)
	}
	b, err := rest.Bind("statement", "name?", "fetch_result?", "auto_begin?", "language?")
	if err != nil {
		return nil, err
	}
	if !n.h.Execute {
		return "", nil
	}
	call, ok := caller.(jinja.Callable)
	if !ok {
		return nil, n.fail("statement() must be used in a call block")
	}
	sql, err := call.Call(st, A{})
	if err != nil {
		return nil, err
	}
	if !jinja.Truth(b.Get("fetch_result")) {
		return nil, n.fail("statement() only reads: write it with fetch_result=True and a SELECT")
	}
	t, err := n.query(jinja.Str(sql))
	if err != nil {
		return nil, err
	}
	if name := b.Get("name"); name != nil {
		n.store(jinja.Str(name), "OK", t)
	}
	return "", nil
}

func (n *node) store(name string, response, table V) {
	t, ok := table.(*Table)
	if !ok {
		t = &Table{}
	}
	data := jinja.NewList()
	for _, r := range t.Rows {
		data.Items = append(data.Items, jinja.NewTuple(r...))
	}
	n.results[name] = NewObject("response", response, "data", data, "table", t)
}

func (n *node) storeResult(b jinja.Bound) (V, error) {
	n.store(jinja.Str(b.Get("name")), b.Get("response"), b.Get("agate_table"))
	return "", nil
}

// loadResult gives a stored result once, as dbt does; "main" stays.
func (n *node) loadResult(b jinja.Bound) (V, error) {
	name := jinja.Str(b.Get("name"))
	v := n.results[name]
	if name != "main" && v != nil {
		n.results[name] = nil
	}
	return v, nil
}

func (n *node) loadRelation(b jinja.Bound) (V, error) {
	r, ok := b.Get("relation").(*Relation)
	if !ok || !n.h.Execute {
		return nil, nil
	}
	_, exists, err := n.describe(r)
	if err != nil || !exists {
		return nil, err
	}
	return r, nil
}

func (n *node) describe(r *Relation) ([]*Column, bool, error) {
	if n.h.Describe == nil {
		return nil, false, n.fail("the columns of %s are not known here: nothing is read while models are compiled without a connection", r.PyStr())
	}
	cols, exists, err := n.h.Describe(n.h.Ctx, r)
	if err != nil {
		return nil, false, &jinja.Error{Kind: "DatabaseError", Msg: err.Error(), Cause: err}
	}
	for _, c := range cols {
		if c.Quoted == "" {
			c.Quoted = n.h.Spelling.Ident(c.Name)
		}
	}
	return cols, exists, nil
}
