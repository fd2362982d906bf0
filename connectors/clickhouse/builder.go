package clickhouse

import (
	"context"
	"errors"
	"strconv"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Builder = (*conn)(nil)

// SQLName implements connectors.Builder.
func (c *conn) SQLName(rel connectors.Relation) string { return relation(rel, c.cfg.database) }

// FoldName implements connectors.Builder: names stay as they are written.
func (c *conn) FoldName(name string) string { return name }

// ResultColumns implements connectors.Builder.
func (c *conn) ResultColumns(ctx context.Context, sql string) ([]connectors.Column, error) {
	rows, err := c.text(ctx, describeSelectSQL(sql))
	if err != nil {
		return nil, err
	}
	cols := make([]connectors.Column, len(rows))
	for i, r := range rows {
		cols[i] = describeColumn(r[0], r[1])
	}
	return cols, nil
}

// FirstRow implements connectors.Builder.
func (c *conn) FirstRow(ctx context.Context, sql string, columns []string) ([]*string, error) {
	rows, err := c.text(ctx, firstRowSQL(sql, columns))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, connectors.ErrNoRow
	}
	return connectors.TextRow(rows[0]), nil
}

// StageSelect implements connectors.Builder.
func (c *conn) StageSelect(ctx context.Context, s connectors.StageSelect) (connectors.Staging, connectors.Selected, error) {
	var out connectors.Selected
	f, err := c.capabilities(ctx)
	if err != nil {
		return nil, out, err
	}
	target := c.inDatabase(s.Target)
	st := &staging{c: c, facts: f, target: target, table: beside(target, stagingPrefix, s.RunID), run: s.RunID, engine: s.Options.Engine, key: s.Options.RowKey()}
	if err = c.restore(ctx, target); err == nil {
		err = c.ensureDatabase(ctx, target.Schema)
	}
	if err != nil {
		return nil, out, err
	}
	if out.Columns, err = c.ResultColumns(ctx, s.SQL); err != nil {
		return nil, out, err
	}
	for _, col := range out.Columns {
		d := columnDef{name: col.Name, text: col.Native, typ: col.Type}
		// A type that is not understood is only in the way of who reads the column.
		d.t, _ = parseType(col.Native)
		st.defs = append(st.defs, d)
	}
	if err := c.run(ctx, false, dropSQL(st.sqlName()), nil); err != nil {
		return st, out, err
	}
	if err := c.run(ctx, false, createSelectedSQL(st.sqlName(), st.defs, s.Options, s.SQL), nil); err != nil {
		return st, out, err
	}
	if s.Columns = out.Columns; len(s.Options.Constraints) > 0 {
		if err := st.require(ctx, s.StageSpec); err != nil {
			return st, out, err
		}
	}
	rows, err := c.text(ctx, countSQL(st.sqlName()))
	if err != nil || len(rows) != 1 {
		return st, out, errors.Join(err, errors.New("counting the staged rows"))
	}
	if out.Rows, err = strconv.ParseInt(rows[0][0], 10, 64); err != nil || len(s.Unique) == 0 {
		return st, out, err
	}
	if rows, err = c.text(ctx, repeatedKeySQL(st.sqlName(), s.Unique)); err == nil && len(rows) > 0 {
		err = &connectors.RepeatedKeyError{Key: s.Unique, Values: rows[0]}
	}
	return st, out, err
}

// CreateView implements connectors.Builder: the new view is made beside the old relation
// and takes its place by the same renames as a table.
func (c *conn) CreateView(ctx context.Context, rel connectors.Relation, sql string) error {
	f, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	target := c.inDatabase(rel)
	if err := c.ensureDatabase(ctx, target.Schema); err != nil {
		return err
	}
	st := &staging{c: c, facts: f, target: target, table: beside(target, stagingPrefix, "view"), run: "view"}
	if err := c.run(ctx, false, dropSQL(st.sqlName()), nil); err != nil {
		return err
	}
	if err := c.run(ctx, false, createViewSQL(st.sqlName(), sql), nil); err != nil {
		return err
	}
	_, err = c.engineOf(ctx, f, target)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
		err = c.run(ctx, false, renameSQL(st.sqlName(), relation(target, "")), nil)
	case err == nil:
		err = c.swap(ctx, st)
	}
	if err != nil {
		return errors.Join(err, st.Discard(ctx))
	}
	return nil
}
