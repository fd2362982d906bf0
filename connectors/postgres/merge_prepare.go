package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// prepare builds the texts and proves that the staged values survive the target's types.
func (m *merge) prepare(ctx context.Context, oid string) error {
	st := m.st
	target, err := m.describe(ctx, oid)
	if err != nil {
		return err
	}
	m.columns = target
	found, err := st.c.query(ctx, st.conn(), findQuery, st.rel.Schema, st.rel.Name)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("the staging table is gone")
	}
	staged, err := m.describe(ctx, found[0][0].s)
	if err != nil {
		return err
	}
	m.texts = mergeTexts{dialect: st.c.dialect, target: st.target, staging: st.rel}
	for _, name := range m.delta.Key {
		if target[name] == nil || staged[name] == nil {
			return fmt.Errorf("key column %q is not in both the table and the delta", name)
		}
		m.texts.keys = append(m.texts.keys, *target[name])
		m.texts.keyExprs = append(m.texts.keyExprs, castSQL("s", staged[name], target[name]))
	}
	for _, name := range m.delta.Columns {
		if target[name] == nil || staged[name] == nil {
			return fmt.Errorf("column %q is not in both the table and the delta", name)
		}
		if err := m.lossless(ctx, staged[name], target[name]); err != nil {
			return err
		}
		if !target[name].generated {
			m.texts.columns = append(m.texts.columns, name)
			m.texts.exprs = append(m.texts.exprs, castSQL("s", staged[name], target[name]))
		}
	}
	if len(m.texts.columns) == 0 {
		return errors.New("the delta has no column to write")
	}
	return m.prepareKeys(ctx, oid)
}

func (m *merge) describe(ctx context.Context, oid string) (map[string]*mergeColumn, error) {
	rows, err := m.st.c.query(ctx, m.st.conn(), mergeColumnsQuery, oid)
	if err != nil {
		return nil, err
	}
	all := map[string]*mergeColumn{}
	for _, row := range rows {
		col := scanMergeColumn(row)
		all[col.name] = &col
	}
	return all, nil
}

// lossless finds a value that the cast to the target's type would change.
func (m *merge) lossless(ctx context.Context, from, to *mergeColumn) error {
	loss := lossSQL("s", from, to)
	if loss == "" {
		return nil
	}
	named := m.delta.Naming(m.st.spec.Options)
	rows, err := m.st.c.query(ctx, m.st.conn(), m.texts.lossQuery(from.name, loss, named))
	if err != nil || len(rows) == 0 {
		return err
	}
	return &connectors.ValueError{Column: from.name, Value: connectors.Shorten(rows[0][0].s), Row: rowName(named, rows[0][1:]),
		Reason: fmt.Sprintf("the column of type %s does not hold it; widen the column or cast it in the model", to.typ)}
}

// keyText names a row by its key.
func (m *merge) keyText(values []cell) string {
	names := make([]string, len(values))
	for i := range names {
		names[i] = m.texts.keys[i].name
	}
	return rowName(names, values)
}

// rowName is a row's name made of columns and their values.
func rowName(columns []string, values []cell) string {
	texts := make([]*string, len(values))
	for i := range values {
		if !values[i].null {
			texts[i] = &values[i].s
		}
	}
	return connectors.NamedRow(columns, texts)
}

// prepareKeys learns what the staged keys look like and tells the planner. Without that
// it would take the staging table for a large one and read all of the target.
func (m *merge) prepareKeys(ctx context.Context, oid string) error {
	st := m.st
	c, pc, d := st.c, st.conn(), st.c.dialect
	first := ""
	if m.matches() {
		first = m.delta.Key[0]
	}
	rows, err := c.query(ctx, pc, mergeTargetQuery, oid, st.target.Schema, st.target.Name, first)
	if err != nil {
		return err
	}
	m.guarded = rows[0][0].s == "true"
	if !m.matches() {
		return nil
	}
	if err := c.exec(ctx, pc, d.analyzeSQL(st.rel, m.delta.Key)); err != nil {
		return err
	}
	if rows[0][1].s == "true" { // a table as new as this: autovacuum has not seen it yet
		if err := c.exec(ctx, pc, d.analyzeSQL(st.target, m.delta.Key)); err != nil {
			return err
		}
	}
	found, err := c.query(ctx, pc, m.texts.nullsQuery())
	if err != nil {
		return err
	}
	for _, row := range found {
		p := make(nulls, len(row))
		for i := range row {
			p[i] = row[i].s == "true"
		}
		m.patterns = append(m.patterns, p)
	}
	if m.delta.Strategy == connectors.StrategyDeleteInsert {
		return nil
	}
	repeated, err := c.query(ctx, pc, m.texts.repeatedQuery())
	if err == nil && len(repeated) > 0 {
		err = fmt.Errorf("the same key stands in several rows of the delta: %s", m.keyText(repeated[0]))
	}
	return err
}
