package duckdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Builder = (*conn)(nil)

// SQLName implements connectors.Builder: without the database's name, which another
// program may open under another one.
func (c *conn) SQLName(rel connectors.Relation) string {
	return quote(c.dialect.schemaOf(rel)) + "." + quote(rel.Name)
}

// FoldName implements connectors.Builder: names stay as they are written.
func (c *conn) FoldName(name string) string { return name }

// ResultColumns implements connectors.Builder.
func (c *conn) ResultColumns(ctx context.Context, sql string) (cols []connectors.Column, err error) {
	s, err := c.session(ctx, writing) // the file may not exist yet
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.Exec(ctx, createResult(sql)); err != nil {
		return nil, err
	}
	return c.columnsOf(ctx, s, resultColumns, func(name string) string { return "SELECT " + quote(name) + " FROM " + resultTable })
}

// FirstRow implements connectors.Builder.
func (c *conn) FirstRow(ctx context.Context, sql string, columns []string) (row []*string, err error) {
	s, err := c.session(ctx, reading)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	rows, err := queryTexts(ctx, s, firstRow(sql, columns))
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, connectors.ErrNoRow
	}
	return connectors.TextRow(rows[0]), nil
}

// columnsOf reads columns listed by query; probe selects one of them. A type that cannot
// be carried is Invalid.
func (c *conn) columnsOf(ctx context.Context, s connectors.Session, query string, probe func(name string) string) ([]connectors.Column, error) {
	rows, err := queryTexts(ctx, s, query)
	if err != nil {
		return nil, err
	}
	cols := make([]connectors.Column, len(rows))
	for i, r := range rows {
		cols[i] = connectors.Column{Name: r[0], Native: r[1], Engine: engine, Nullable: r[2] == "true"}
		one, err := s.Columns(ctx, probe(r[0]))
		var unknown *connectors.TypeError
		switch {
		case errors.As(err, &unknown):
		case err != nil:
			return nil, err
		default:
			cols[i].Type = one[0].Type
		}
	}
	return cols, nil
}

// StageSelect implements connectors.Builder: the staging table is made in the transaction
// that swaps it in or applies it.
func (c *conn) StageSelect(ctx context.Context, sel connectors.StageSelect) (connectors.Staging, connectors.Selected, error) {
	var out connectors.Selected
	x := &staging{c: c, spec: sel.StageSpec}
	s, err := c.session(ctx, writing)
	if err != nil {
		return nil, out, err
	}
	x.s, x.release = s.Session, s.release
	if out, err = x.fillFrom(ctx, sel.SQL); err == nil && len(sel.Unique) > 0 {
		var rows [][]string
		if rows, err = queryTexts(ctx, x.s, c.dialect.repeatedKey(x.name(), sel.Unique)); err == nil && len(rows) > 0 {
			err = &connectors.RepeatedKeyError{Key: sel.Unique, Values: rows[0]}
		}
	}
	return x, out, err
}

func (x *staging) fillFrom(ctx context.Context, sql string) (connectors.Selected, error) {
	var out connectors.Selected
	d, st := x.c.dialect, x.name()
	if err := x.c.ensureSchema(ctx, x.s, x.spec.Target); err != nil {
		return out, err
	}
	if err := x.s.Exec(ctx, "BEGIN"); err != nil {
		return out, err
	}
	x.inTx = true
	if err := x.s.Exec(ctx, d.createEmpty(st, sql)); err != nil {
		return out, err
	}
	made, err := queryTexts(ctx, x.s, d.columnsQuery(st))
	if err != nil {
		return out, err
	}
	if err := x.keepConstraints(ctx, st, made); err != nil {
		return out, err
	}
	if out.Rows, err = x.s.Count(ctx, d.insertSelect(st, sql)); err != nil {
		return out, x.blame(ctx, inParens(sql), err)
	}
	out.Columns, err = x.c.columnsOf(ctx, x.s, d.columnsQuery(st), func(name string) string { return d.selectColumn(st, name) })
	x.spec.Columns, x.rows, x.filled = out.Columns, out.Rows, true
	for _, col := range out.Columns {
		x.types, x.from = append(x.types, col.Native), append(x.from, col.Native)
	}
	return out, err
}

// CreateView implements connectors.Builder. Views bind by name when they are read: those
// that depend on an old one stay.
func (c *conn) CreateView(ctx context.Context, rel connectors.Relation, sql string) (err error) {
	s, err := c.session(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.ensureSchema(ctx, s, rel); err != nil {
		return err
	}
	c.file.swap.Lock()
	defer c.file.swap.Unlock()
	if err := s.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := c.replaceByView(ctx, s, rel, sql); err != nil {
		return errors.Join(err, s.Exec(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return s.Exec(ctx, "COMMIT")
}

func (c *conn) replaceByView(ctx context.Context, s *session, rel connectors.Relation, sql string) error {
	d := c.dialect
	target := connectors.Relation{Schema: d.schemaOf(rel), Name: rel.Name}
	comment := ""
	old, err := c.find(ctx, s, target)
	switch {
	case errors.Is(err, connectors.ErrNotFound):
	case err != nil:
		return err
	default:
		target, comment = old.Relation, old.comment
		if err := s.Exec(ctx, d.drop(target, old.view)); err != nil {
			return fmt.Errorf("replacing %s: %w", target, err)
		}
	}
	if err := s.Exec(ctx, d.createView(target, sql)); err != nil {
		return err
	}
	if comment != "" {
		return s.Exec(ctx, d.commentView(target, comment))
	}
	return nil
}
