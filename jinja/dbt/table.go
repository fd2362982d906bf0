package dbt

import (
	"strings"

	"github.com/dvt-dev/dvt/jinja"
)

// Table is the result of a query as macros see it: dbt's agate table. Values are
// template values: nil, bool, int64, *big.Int, float64, string, or what Datetime,
// Date and Decimal make.
type Table struct {
	Names []string
	Rows  [][]V
}

// PyType and the other Py methods make a Table behave as agate's.
func (t *Table) PyType() string { return "Table" }
func (t *Table) PyLen() int     { return len(t.Rows) }
func (t *Table) PyBool() bool   { return len(t.Rows) > 0 }
func (t *Table) PyIter() []V {
	out := make([]V, len(t.Rows))
	for i := range t.Rows {
		out[i] = &Row{t, i}
	}
	return out
}

// GetItem gives row i.
func (t *Table) GetItem(_ *ST, k V) (V, bool) {
	i, ok := position(k, len(t.Rows))
	if !ok {
		return nil, false
	}
	return &Row{t, i}, true
}

// GetAttr gives rows, columns, column_names and print_table.
func (t *Table) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "rows":
		return jinja.NewTuple(t.PyIter()...), true
	case "columns":
		return &tableColumns{t}, true
	case "column_names":
		return t.names(), true
	case "print_table":
		return constantly(n, nil), true
	case "rename", "exclude", "select", "where", "group_by", "order_by", "limit", "distinct":
		return nil, false
	}
	return nil, false
}

func (t *Table) names() *jinja.Tuple {
	l := jinja.NewTuple()
	for _, n := range t.Names {
		l.Items = append(l.Items, n)
	}
	return l
}

// find is the position of a column by its name: exactly, or without case as agate's
// users rely on where the engine folds names.
func (t *Table) find(name string) (int, bool) {
	for i, n := range t.Names {
		if n == name {
			return i, true
		}
	}
	for i, n := range t.Names {
		if strings.EqualFold(n, name) {
			return i, true
		}
	}
	return 0, false
}

func (t *Table) column(k V) (int, bool) {
	if s, ok := k.(string); ok {
		return t.find(s)
	}
	return position(k, len(t.Names))
}

func position(k V, n int) (int, bool) {
	i, ok := k.(int64)
	if !ok {
		return 0, false
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

// Row is one row: a tuple that also answers by column name.
type Row struct {
	t *Table
	i int
}

// PyType and the other Py methods make a Row behave as a tuple with names.
func (r *Row) PyType() string  { return "Row" }
func (r *Row) PyLen() int      { return len(r.values()) }
func (r *Row) PyIter() []V     { return r.values() }
func (r *Row) PyMapping() bool { return false }
func (r *Row) PyRepr() string {
	return "<agate.Row: " + jinja.Repr(jinja.NewTuple(r.values()...)) + ">"
}
func (r *Row) PyEq(o V) bool {
	q, ok := o.(*Row)
	return ok && jinja.Equal(jinja.NewTuple(r.values()...), jinja.NewTuple(q.values()...))
}
func (r *Row) values() []V { return r.t.Rows[r.i] }

// GetItem gives a value by position or by column name.
func (r *Row) GetItem(_ *ST, k V) (V, bool) {
	i, ok := r.t.column(k)
	if !ok || i >= len(r.values()) {
		return nil, false
	}
	return r.values()[i], true
}

// GetAttr gives keys, values, items, dict and get; a column's name works too.
func (r *Row) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "keys":
		return constantly(n, r.t.names()), true
	case "values":
		return constantly(n, jinja.NewTuple(r.values()...)), true
	case "items", "dict":
		return mapped(n, r.t.Names, r.values()), true
	case "get":
		return getter(r), true
	}
	return nil, false
}

// mapped is the method items or dict of values that have names.
func mapped(method string, names []string, values []V) V {
	return function(method, func(A) (V, error) {
		d, l := jinja.NewDict(), jinja.NewList()
		for i, name := range names {
			if err := d.Set(name, values[i]); err != nil {
				return nil, err
			}
			l.Items = append(l.Items, jinja.NewTuple(name, values[i]))
		}
		if method == "items" {
			return l, nil
		}
		return d, nil
	})
}

// getter is the method get of what has items.
func getter(of jinja.Itemer) V {
	return bound("get", params("key", "default?"), func(b jinja.Bound) (V, error) {
		if v, ok := of.GetItem(nil, b.Get("key")); ok {
			return v, nil
		}
		return b.Get("default"), nil
	})
}

// tableColumns is table.columns: by position, by name, and in order.
type tableColumns struct{ t *Table }

func (c *tableColumns) PyType() string { return "MappedSequence" }
func (c *tableColumns) PyLen() int     { return len(c.t.Names) }
func (c *tableColumns) PyIter() []V {
	out := make([]V, len(c.t.Names))
	for i := range out {
		out[i] = &tableColumn{c.t, i}
	}
	return out
}
func (c *tableColumns) GetItem(_ *ST, k V) (V, bool) {
	i, ok := c.t.column(k)
	if !ok {
		return nil, false
	}
	return &tableColumn{c.t, i}, true
}
func (c *tableColumns) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "keys":
		return constantly(n, c.t.names()), true
	case "values":
		return constantly(n, jinja.NewTuple(c.PyIter()...)), true
	case "items", "dict":
		return mapped(n, c.t.Names, c.PyIter()), true
	case "get":
		return getter(c), true
	}
	return nil, false
}

// tableColumn is one column of a result.
type tableColumn struct {
	t *Table
	i int
}

func (c *tableColumn) values() []V {
	out := make([]V, len(c.t.Rows))
	for i, r := range c.t.Rows {
		out[i] = r[c.i]
	}
	return out
}

func (c *tableColumn) PyType() string { return "Column" }
func (c *tableColumn) PyLen() int     { return len(c.t.Rows) }
func (c *tableColumn) PyIter() []V    { return c.values() }
func (c *tableColumn) GetItem(_ *ST, k V) (V, bool) {
	i, ok := position(k, len(c.t.Rows))
	if !ok {
		return nil, false
	}
	return c.t.Rows[i][c.i], true
}
func (c *tableColumn) GetAttr(_ *ST, n string) (V, bool) {
	switch n {
	case "name":
		return c.t.Names[c.i], true
	case "values":
		return constantly(n, jinja.NewTuple(c.values()...)), true
	case "values_distinct":
		return function(n, func(A) (V, error) {
			s, err := jinja.NewSet(c.values())
			if err != nil {
				return nil, err
			}
			return jinja.NewTuple(s.D.Keys()...), nil
		}), true
	}
	return nil, false
}
