package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Builder = (*conn)(nil)

// codeInvalidTable: CREATE OR REPLACE VIEW may only add columns at the end.
const codeInvalidTable = "42P16"

// SQLName implements connectors.Builder.
func (c *conn) SQLName(rel connectors.Relation) string { return c.dialect.Relation(rel) }

// FoldName implements connectors.Builder: only ASCII letters fold in every locale.
func (c *conn) FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// ResultColumns implements connectors.Builder: a temporary view has the result's columns,
// and is gone with its transaction.
func (c *conn) ResultColumns(ctx context.Context, sql string) (cols []connectors.Column, err error) {
	err = c.session(ctx, func(pc *pgconn.PgConn) error {
		if err := c.exec(ctx, pc, beginSQL(modeWrite, c.settings.session)); err != nil {
			return err
		}
		if _, err := c.one(ctx, pc, resultViewSQL(sql)); err != nil {
			return err
		}
		if cols, err = c.columnsOf(ctx, pc, resultView); err != nil {
			return err
		}
		return c.exec(ctx, pc, "ROLLBACK")
	})
	return cols, err
}

// FirstRow implements connectors.Builder.
func (c *conn) FirstRow(ctx context.Context, sql string, columns []string) (row []*string, err error) {
	err = c.transaction(ctx, modeSnapshot, func(pc *pgconn.PgConn) error {
		text := firstRowSQL(sql, columns)
		rows, err := c.query(ctx, pc, text)
		if err != nil {
			return c.statementError(text, 0, err)
		}
		if len(rows) == 0 {
			return connectors.ErrNoRow
		}
		values := make([]string, len(columns))
		for i, v := range rows[0] {
			values[i] = v.s
		}
		row = connectors.TextRow(values)
		return nil
	})
	return row, err
}

// one runs a single statement: the text of a model must not smuggle in another.
func (c *conn) one(ctx context.Context, pc *pgconn.PgConn, sql string) (pgconn.CommandTag, error) {
	res := pc.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	return res.CommandTag, c.statementError(sql, 0, res.Err)
}

func (c *conn) columnsOf(ctx context.Context, pc *pgconn.PgConn, name string) ([]connectors.Column, error) {
	rows, err := c.query(ctx, pc, columnsQuery, name, "", "", "")
	if err != nil {
		return nil, err
	}
	encoding, err := c.query(ctx, pc, "SELECT getdatabaseencoding()")
	if err != nil {
		return nil, err
	}
	cols := make([]connectors.Column, len(rows))
	for i, row := range rows {
		cols[i] = describeColumn(row, encoding[0][0].s)
	}
	return cols, nil
}

// StageSelect implements connectors.Builder. Like a load, it is one transaction up to
// the swap. Its rows are not frozen, which only COPY can do: a reader with a snapshot
// from before the swap, who first reads the target after it, finds it empty.
func (c *conn) StageSelect(ctx context.Context, s connectors.StageSelect) (connectors.Staging, connectors.Selected, error) {
	var sel connectors.Selected
	st, err := c.beginStaging(ctx, s.StageSpec)
	if err != nil {
		return nil, sel, err
	}
	pc := st.conn()
	tag, err := c.one(ctx, pc, c.dialect.createSelectedSQL(st.rel, s.SQL))
	if err != nil {
		return st, sel, err
	}
	sel.Rows = tag.RowsAffected()
	if sel.Columns, err = c.columnsOf(ctx, pc, c.dialect.Relation(st.rel)); err != nil {
		return st, sel, err
	}
	st.spec.Columns = sel.Columns
	st.enc = &encoder{}
	for _, col := range sel.Columns {
		st.enc.names = append(st.enc.names, col.Name)
	}
	if len(s.Unique) > 0 {
		rows, err := c.query(ctx, pc, c.dialect.repeatedKeySQL(st.rel, s.Unique))
		if err == nil && len(rows) > 0 {
			e := &connectors.RepeatedKeyError{Key: s.Unique}
			for _, v := range rows[0] {
				e.Values = append(e.Values, v.orNull())
			}
			err = e
		}
		if err != nil {
			return st, sel, err
		}
	}
	st.count, st.sealed = sel.Rows, true
	return st, sel, nil
}

func (v cell) orNull() string {
	if v.null {
		return "NULL"
	}
	return v.s
}

// beginStaging opens a session and its transaction; nothing is created yet.
func (c *conn) beginStaging(ctx context.Context, spec connectors.StageSpec) (*staging, error) {
	target := c.fill(spec.Target)
	if err := checkNames(target, nil); err != nil {
		return nil, err
	}
	if err := c.createSchema(ctx, target.Schema); err != nil {
		return nil, err
	}
	session, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	st := &staging{c: c, spec: spec, target: target, rel: stagingName(spec.RunID, target), session: session}
	if err := c.exec(ctx, st.conn(), beginSQL(modeWrite, c.settings.session)); err != nil {
		st.drop()
		return nil, err
	}
	return st, nil
}

// CreateView implements connectors.Builder. Where the columns allow, the view that is
// there gets another query and keeps all that hangs on it. Else a new one takes the
// place of the old relation, and the views that depend on it are made again.
func (c *conn) CreateView(ctx context.Context, rel connectors.Relation, sql string) error {
	st, err := c.beginStaging(ctx, connectors.StageSpec{RunID: "view", Target: rel})
	if err != nil {
		return err
	}
	defer st.drop()
	if err := st.createView(ctx, sql); err != nil {
		return err
	}
	if err := c.exec(ctx, st.conn(), "COMMIT"); err != nil {
		return err
	}
	st.session.Release()
	st.session = nil
	return nil
}

func (st *staging) createView(ctx context.Context, sql string) error {
	c, pc := st.c, st.conn()
	old, err := c.inspect(ctx, pc, st.target)
	if err != nil {
		return err
	}
	if old != nil && old.kind == "v" {
		err := st.patiently(ctx, old, func(*object) (*swapPlan, error) {
			return &swapPlan{swap: []string{c.dialect.replaceViewSQL(st.target, old.options, sql)}}, nil
		})
		if !hasCode(err, codeInvalidTable) {
			return err
		}
		if err := c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_view"); err != nil {
			return err
		}
	}
	if _, err := c.one(ctx, pc, c.dialect.newViewSQL(st.rel, sql)); err != nil {
		return err
	}
	fresh, err := c.inspect(ctx, pc, st.rel)
	if err != nil {
		return err
	}
	return st.patiently(ctx, old, func(old *object) (*swapPlan, error) { return st.planView(ctx, old, fresh) })
}

// planView puts the new view in the place of old.
func (st *staging) planView(ctx context.Context, old, fresh *object) (*swapPlan, error) {
	d := st.c.dialect
	p := &swapPlan{about: map[string]string{}, keeps: fresh.columnNames(), fresh: fresh.name}
	b := &swapBuilder{dialect: d, plan: p, st: st, old: old, fresh: fresh}
	if old == nil {
		p.swap = append(p.swap, d.renameTableSQL(st.rel, st.target.Name))
		return p, nil
	}
	switch {
	case !slices.Contains([]string{"v", "m", "r"}, old.kind):
		return nil, fmt.Errorf("a %s has that name", kindNames[old.kind])
	case len(old.others) > 0:
		return nil, fmt.Errorf("it is a %s on which %s depends: drop that first", kindNames[old.kind], listOf(old.others))
	case len(old.foreign) > 0:
		return nil, fmt.Errorf("it is a table that the foreign key %s of %s points to: drop that first", old.foreign[0].name, old.foreign[0].on)
	}
	if old.kind == "r" {
		p.lock = d.lockSQL(st.target, "ACCESS EXCLUSIVE")
	}
	p.views = old.views
	for _, sql := range b.attributes(fresh.name, "VIEW", &object{owner: old.owner, comment: old.comment, columns: kept(old.columns, p.keeps)}) {
		b.add(sql, "")
	}
	for _, v := range slices.Backward(old.views) {
		b.add(dropViewSQL(v.name), "dropping the dependent view "+v.name)
	}
	p.swap = append(p.swap, dropSQL(old), d.renameTableSQL(st.rel, st.target.Name))
	for _, v := range old.views {
		b.view(v)
	}
	return p, st.c.regrant(ctx, st.conn(), fresh.name, old, p.keeps)
}

func kept(cols []objectColumn, keeps map[string]bool) []objectColumn {
	return slices.DeleteFunc(slices.Clone(cols), func(c objectColumn) bool { return !keeps[c.name] })
}

// patiently attempts a plan until nobody is in its way: behind a savepoint, with short
// waits for locks, as a swap does.
func (st *staging) patiently(ctx context.Context, old *object, plan func(old *object) (*swapPlan, error)) error {
	c, pc := st.c, st.conn()
	if err := c.exec(ctx, pc, "SAVEPOINT dvt_view"); err != nil {
		return err
	}
	for deadline, wait := time.Now().Add(swapPatience), firstLockTimeout; ; {
		p, err := plan(old)
		if err == nil {
			err = st.swap(ctx, p, old, min(wait, lastLockTimeout))
		}
		busy, changed := hasCode(err, codeLockNotAvailable, codeDeadlock), errors.Is(err, errChanged)
		if !busy && !changed {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another session held its lock for %s: %w", swapPatience, err)
		}
		if err := c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_view"); err != nil {
			return err
		}
		if changed {
			if old, err = c.inspect(ctx, pc, st.target); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
		wait = min(wait*2, lastBackoff)
	}
}
