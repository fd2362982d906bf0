package duckdb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// Apply brings staged rows into the target in one transaction. It does not use MERGE
// INTO, which takes far more memory than UPDATE and INSERT do on large tables.
func (c *conn) Apply(ctx context.Context, st connectors.Staging, d connectors.Delta) (out connectors.Applied, err error) {
	x, ok := st.(*staging)
	if !ok || x.c != c || x.s == nil {
		return out, fmt.Errorf("applying: the staging is not one of this connection")
	}
	if d.State != nil {
		if err := c.ensureState(ctx, d.State.Schema); err != nil {
			return out, err
		}
	}
	if err := x.begin(ctx); err != nil {
		return out, err
	}
	c.file.swap.Lock()
	defer c.file.swap.Unlock()
	if out, err = x.apply(ctx, d); err != nil {
		return out, fmt.Errorf("applying to %s: %w", x.spec.Target, ducksql.ValueError(err))
	}
	return out, x.commit(ctx)
}

func (x *staging) apply(ctx context.Context, d connectors.Delta) (out connectors.Applied, err error) {
	old, err := x.c.find(ctx, x.s, x.spec.Target)
	if err != nil {
		return out, err
	}
	if err := x.alter(ctx, old, d.Alter); err != nil {
		return out, err
	}
	m, err := x.merging(ctx, old, d)
	if err != nil {
		return out, err
	}
	switch d.Strategy {
	case connectors.StrategyAppend:
		out.Inserted, err = m.insert(ctx, d.SkipExisting)
	case connectors.StrategyMerge:
		if out.Updated, err = m.update(ctx, d); err == nil {
			out.Inserted, err = m.insert(ctx, true)
		}
	case connectors.StrategyDeleteInsert:
		if out.Deleted, err = x.s.Count(ctx, x.c.dialect.deleteMatching(m.target, m.source, m.on)); err == nil {
			out.Inserted, err = m.insert(ctx, false)
		}
	}
	if err != nil {
		return out, err
	}
	if x.filled {
		if err := x.s.Exec(ctx, x.c.dialect.drop(x.name(), false)); err != nil {
			return out, err
		}
	}
	if d.State != nil {
		out.StateSaved, err = x.c.saveState(ctx, x.s, *d.State)
		out.StateMoved = err == nil && !out.StateSaved
	}
	return out, err
}

// merging is the texts that the statements of one delta share.
type merging struct {
	x              *staging
	target, source string
	on             string // equal keys of t and s
	columns        []string
	exprs          []string // of s, cast to the target's types
	key            []string
}

func (x *staging) merging(ctx context.Context, old *found, delta connectors.Delta) (*merging, error) {
	d := x.c.dialect
	m := &merging{x: x, target: d.Relation(old.Relation), source: rowsTable, key: delta.Key}
	if x.filled {
		m.source = d.Relation(x.name())
	}
	cols, err := queryTexts(ctx, x.s, d.columnsQuery(old.Relation))
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	text := map[string]bool{}
	for _, c := range cols {
		types[c[0]], text[c[0]] = c[1], c[1] == "VARCHAR"
	}
	staged := map[string]string{}
	for i, c := range x.spec.Columns {
		staged[c.Name] = x.from[i]
	}
	row := x.rowName("s")
	for _, name := range delta.Columns {
		if types[name] == "" || staged[name] == "" {
			return nil, fmt.Errorf("column %q is not in both the table and the delta", name)
		}
		m.columns = append(m.columns, name)
		m.exprs = append(m.exprs, cast("s."+quote(name), name, staged[name], types[name], row))
	}
	m.on = matches("t", "s", delta.Key, old.collated, text)
	return m, nil
}

func (m *merging) insert(ctx context.Context, onlyNew bool) (int64, error) {
	source := m.source + " AS s"
	if onlyNew {
		source = whereMissing(m.source, m.target, m.on)
	}
	return m.x.s.Count(ctx, m.x.c.dialect.insert(m.target, m.columns, m.exprs, source))
}

// update sets what is not the key: that is equal already.
func (m *merging) update(ctx context.Context, d connectors.Delta) (int64, error) {
	set := d.Update
	if set == nil {
		set = m.columns
	}
	var names, exprs []string
	for _, name := range set {
		if slices.Contains(m.key, name) {
			continue
		}
		i := slices.Index(m.columns, name)
		if i < 0 {
			return 0, fmt.Errorf("column %q is updated but not staged", name)
		}
		names, exprs = append(names, name), append(exprs, m.exprs[i])
	}
	if len(names) == 0 {
		return 0, nil
	}
	return m.x.s.Count(ctx, m.x.c.dialect.updateFrom(m.target, names, exprs, m.source, m.on))
}

// alter changes the table. DuckDB neither widens nor drops a column of a table that has
// indexes, not even where they are dropped before in the same transaction: such a table
// is copied.
func (x *staging) alter(ctx context.Context, old *found, changes []connectors.Alteration) error {
	if len(changes) == 0 {
		return nil
	}
	d := x.c.dialect
	types := make([]string, len(changes))
	copied := false
	for i, a := range changes {
		copied = copied || a.Kind != connectors.AddColumn
		if a.Kind == connectors.DropColumn {
			continue
		}
		if types[i] = x.spec.Options.ColumnTypes[a.Column.Name]; types[i] == "" {
			var err error
			if types[i], err = d.TargetType(a.Column); err != nil {
				return err
			}
		}
	}
	indexes, err := queryTexts(ctx, x.s, d.indexesQuery(old.Relation))
	if err != nil {
		return err
	}
	if copied && len(indexes) > 0 {
		return x.copyAltered(ctx, old, changes, types)
	}
	for i, a := range changes {
		if err := x.s.Exec(ctx, d.alter(old.Relation, a, types[i])); err != nil {
			return err
		}
	}
	return nil
}

func (x *staging) copyAltered(ctx context.Context, old *found, changes []connectors.Alteration, types []string) error {
	d := x.c.dialect
	cols, err := queryTexts(ctx, x.s, d.columnsQuery(old.Relation))
	if err != nil {
		return err
	}
	var made []connectors.Column
	var ddl, names, exprs []string
	all := make([]string, len(cols))
	for i, c := range cols {
		all[i] = c[0]
	}
	row := ducksql.RowName("", all, x.spec.Options.RowKey())
	for _, c := range cols {
		to, keep := c[1], true
		for i, a := range changes {
			if a.Kind == connectors.AddColumn || a.Column.Name != c[0] {
				continue
			}
			keep = a.Kind != connectors.DropColumn
			to = types[i]
		}
		if keep {
			made, ddl = append(made, connectors.Column{Name: c[0]}), append(ddl, to)
			names, exprs = append(names, c[0]), append(exprs, cast(quote(c[0]), c[0], c[1], to, row))
		}
	}
	for i, a := range changes {
		if a.Kind == connectors.AddColumn {
			made, ddl = append(made, a.Column), append(ddl, types[i])
		}
	}
	st := x.name()
	st.Name += "_c"
	if err := x.s.Exec(ctx, d.createTable(st, made, ddl)); err != nil {
		return err
	}
	if err := x.s.Exec(ctx, d.insert(d.Relation(st), names, exprs, d.Relation(old.Relation))); err != nil {
		return err
	}
	return x.rename(ctx, st, old, old.Relation)
}

// ensureState creates the table of state records, in a transaction of its own.
func (c *conn) ensureState(ctx context.Context, schema string) (err error) {
	s, err := c.session(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.ensureSchema(ctx, s, c.dialect.stateTable(schema)); err != nil {
		return err
	}
	return s.Exec(ctx, c.dialect.createState(schema))
}
