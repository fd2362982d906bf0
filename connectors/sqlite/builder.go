package sqlite

/*
#include "lite.h"
WEAK const char *sqlite3_column_decltype(sqlite3_stmt *, int);
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Builder = (*conn)(nil)

// SQLName implements connectors.Builder.
func (c *conn) SQLName(rel connectors.Relation) string { return c.d.Relation(rel) }

// FoldName implements connectors.Builder: names stay as they are written.
func (c *conn) FoldName(name string) string { return name }

// declared is the declared type of a result column, "" of an expression.
func (st *stmt) declared(i int) string {
	return C.GoString(C.sqlite3_column_decltype(st.c, C.int(i)))
}

// resultColumns compiles a SELECT: columns of tables keep their declared types,
// expressions have none.
func (s *session) resultColumns(sql string) ([]connectors.Column, error) {
	st, err := s.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer st.close()
	if !st.readonly() || st.columns() == 0 {
		return nil, &connectors.StatementError{SQL: sql, Position: -1, Err: errors.New("a SELECT is expected")}
	}
	cols := make([]connectors.Column, st.columns())
	for i := range cols {
		t := st.declared(i)
		cols[i] = connectors.Column{Name: st.column(i), Native: t, Engine: engine, Type: typeOf(t), Nullable: true}
	}
	return cols, nil
}

// ResultColumns implements connectors.Builder.
func (c *conn) ResultColumns(ctx context.Context, sql string) (cols []connectors.Column, err error) {
	s, err := c.writer(ctx) // the file may not exist yet
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.resultColumns(sql)
}

// FirstRow implements connectors.Builder.
func (c *conn) FirstRow(ctx context.Context, sql string, columns []string) ([]*string, error) {
	s, release, err := c.reader(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var row []*string
	err = s.rows(ctx, firstRow(sql, columns), func(r *stmt) error {
		values := make([]string, len(columns))
		for i := range columns {
			values[i] = r.text(i)
		}
		row = connectors.TextRow(values)
		return nil
	})
	if err == nil && row == nil {
		err = connectors.ErrNoRow
	}
	return row, err
}

// StageSelect implements connectors.Builder. The file's write lock is held while the
// SELECT runs.
func (c *conn) StageSelect(ctx context.Context, sel connectors.StageSelect) (connectors.Staging, connectors.Selected, error) {
	var out connectors.Selected
	st, err := c.beginStaging(ctx, sel.StageSpec)
	if err != nil {
		return nil, out, err
	}
	out, err = st.fillFrom(ctx, sel.SQL)
	if err == nil && len(sel.Unique) > 0 {
		err = st.repeated(ctx, sel.Unique)
	}
	if err == nil {
		err = st.commit(ctx)
	}
	if err != nil {
		st.rollback()
	}
	return st, out, err
}

func (c *conn) beginStaging(ctx context.Context, spec connectors.StageSpec) (*staging, error) {
	if err := c.knows(spec.Target); err != nil {
		return nil, err
	}
	st := &staging{c: c, spec: spec, f: c.fileOf(spec.Target)}
	st.target = connectors.Relation{Schema: c.d.schemaOf(spec.Target), Name: spec.Target.Name}
	st.rel = connectors.Relation{Schema: st.target.Schema, Name: stagingName(spec.RunID, spec.Target)}
	var err error
	if st.s, err = c.writer(ctx); err != nil {
		return nil, err
	}
	if err := st.begin(ctx); err != nil {
		return nil, errors.Join(err, st.Discard(context.WithoutCancel(ctx)))
	}
	return st, nil
}

// fillFrom creates the staging table and fills it. Columns that declare no type get the
// one that all their values have, if there is one: without it count(*) would be read
// as text.
func (st *staging) fillFrom(ctx context.Context, sql string) (connectors.Selected, error) {
	var out connectors.Selected
	d := st.c.d
	cols, err := st.s.resultColumns(sql)
	if err != nil {
		return out, err
	}
	open := false
	for _, col := range cols {
		open = open || col.Native == ""
	}
	source := "(\n" + connectors.TrimSelect(sql) + ")"
	raw := connectors.Relation{Schema: st.rel.Schema, Name: st.rel.Name}
	if open {
		raw = connectors.Relation{Schema: "temp", Name: "__dvt_raw"}
		if err := st.s.exec(ctx, d.drop("TABLE", raw)); err != nil {
			return out, err
		}
		if err := st.copy(ctx, raw, cols, source); err != nil {
			return out, err
		}
		if err := st.settle(ctx, raw, cols); err != nil {
			return out, err
		}
		source = d.Relation(raw)
	}
	st.spec.Columns, out.Columns, st.types = cols, cols, nil
	for i, col := range cols {
		cols[i].Type = typeOf(col.Native)
		st.types = append(st.types, col.Native)
	}
	if err := st.s.exec(ctx, d.drop("TABLE", st.rel)); err != nil {
		return out, err
	}
	if err := st.copy(ctx, st.rel, cols, source); err != nil {
		return out, err
	}
	if open {
		if err := st.s.exec(ctx, d.drop("TABLE", raw)); err != nil {
			return out, err
		}
	}
	err = st.s.rows(ctx, d.count(st.rel), func(r *stmt) error {
		out.Rows = r.integer(0)
		return nil
	})
	st.rows = out.Rows
	return out, err
}

// copy creates to and fills it. The staging table is made like the target where the
// columns are the same.
func (st *staging) copy(ctx context.Context, to connectors.Relation, cols []connectors.Column, source string) error {
	d := st.c.d
	create := ""
	if to == st.rel {
		var err error
		if create, err = st.likeTarget(ctx); err != nil {
			return err
		}
	}
	if create == "" {
		types := make([]string, len(cols))
		for i, col := range cols {
			types[i] = col.Native
		}
		create = d.createTable(to, cols, types)
		if to == st.rel {
			var err error
			if create, err = st.createSQL(cols, types); err != nil {
				return err
			}
		}
	}
	if err := st.s.exec(ctx, create); err != nil {
		return err
	}
	return st.blame(st.s.exec(ctx, d.insertFrom(to, source)))
}

// settle gives undeclared columns of a filled table a type.
func (st *staging) settle(ctx context.Context, raw connectors.Relation, cols []connectors.Column) error {
	return st.s.rows(ctx, st.c.d.storedClasses(raw, cols), func(r *stmt) error {
		at := 0
		for i := range cols {
			if cols[i].Native != "" {
				continue
			}
			low, high, wide := r.text(at), r.text(at+1), r.integer(at+2) != 0
			at += 3
			switch {
			case low == high:
				cols[i].Native = map[string]string{"integer": "INTEGER", "real": "DOUBLE", "text": "TEXT", "blob": "BLOB"}[low]
			case low == "integer" && high == "real" && !wide:
				cols[i].Native = "DOUBLE"
			}
		}
		return nil
	})
}

func (st *staging) repeated(ctx context.Context, key []string) error {
	var found error
	err := st.s.rows(ctx, st.c.d.repeatedKey(st.rel, key), func(r *stmt) error {
		e := &connectors.RepeatedKeyError{Key: key}
		for i := range key {
			v := "NULL"
			if !r.null(i) {
				v = r.text(i)
			}
			e.Values = append(e.Values, v)
		}
		found = e
		return nil
	})
	return errors.Join(err, found)
}

// CreateView implements connectors.Builder, in one transaction.
func (c *conn) CreateView(ctx context.Context, rel connectors.Relation, sql string) error {
	st, err := c.beginStaging(ctx, connectors.StageSpec{RunID: "view", Target: rel})
	if err != nil {
		return err
	}
	st.swapped = true // there is no staging table to drop
	err = st.createView(ctx, sql)
	if err == nil {
		err = st.commit(ctx)
	}
	if err != nil {
		st.rollback()
	}
	return errors.Join(err, st.Discard(ctx))
}

func (st *staging) createView(ctx context.Context, sql string) error {
	d, s := st.c.d, st.s
	kind := ""
	err := s.rows(ctx, d.findRelation(st.target), func(r *stmt) error {
		kind = strings.ToUpper(r.text(0))
		return nil
	})
	if err != nil {
		return err
	}
	healthy, err := st.healthyViews(ctx)
	if err != nil {
		return err
	}
	if kind != "" {
		if err := s.exec(ctx, d.drop(kind, st.target)); err != nil {
			return err
		}
	}
	// What the view reads is looked at only when it is read: do that now.
	if _, err := s.resultColumns(connectors.TrimSelect(sql)); err != nil {
		return err
	}
	if err := s.exec(ctx, d.createView(st.target, sql)); err != nil {
		return err
	}
	if err := st.compiles(st.target.Name); err != nil {
		return err
	}
	for _, name := range healthy {
		if strings.EqualFold(name, st.target.Name) {
			continue
		}
		if err := st.compiles(name); err != nil {
			return fmt.Errorf("the view %q reads the old %s: %w", name, strings.ToLower(kind), err)
		}
	}
	return nil
}
