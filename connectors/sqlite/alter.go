package sqlite

/*
#include "lite.h"
*/
import "C"

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

func (st *stmt) isReal(i int) bool { return st.class(i) == C.LITE_FLOAT }

// alter changes the table within the delta's transaction. Indexes on a column that is
// dropped go with it; a view that is left broken undoes all.
func (m *merge) alter(ctx context.Context) error {
	st, d := m.st, m.st.c.d
	healthy, err := st.healthyViews(ctx)
	if err != nil {
		return err
	}
	var wider []connectors.Column
	for _, a := range m.delta.Alter {
		switch a.Kind {
		case connectors.AddColumn, connectors.WidenColumn:
			ddl, err := declare(a.Column, st.spec.Options.ColumnTypes[a.Column.Name])
			if err != nil {
				return err
			}
			if a.Kind == connectors.WidenColumn {
				wider = append(wider, connectors.Column{Name: a.Column.Name, Native: ddl})
				continue
			}
			if err := st.s.exec(ctx, d.addColumn(st.target, a.Column.Name, ddl)); err != nil {
				return err
			}
		case connectors.DropColumn:
			if err := m.dropColumn(ctx, a.Column.Name); err != nil {
				return err
			}
		}
	}
	if len(wider) > 0 {
		if err := m.rebuild(ctx, wider); err != nil {
			return err
		}
	}
	for _, name := range healthy {
		if err := st.compiles(name); err != nil {
			return fmt.Errorf("the view %q reads the old table: %w", name, err)
		}
	}
	return nil
}

func (m *merge) dropColumn(ctx context.Context, name string) error {
	st, d := m.st, m.st.c.d
	deps, err := st.dependents(ctx)
	if err != nil {
		return err
	}
	for _, x := range deps {
		if !slices.ContainsFunc(x.columns, func(c string) bool { return strings.EqualFold(c, name) }) {
			continue
		}
		if st.c.env.Log != nil {
			st.c.env.Log.Warn("an index is dropped with its column", "relation", st.spec.Target.String(), "index", x.name, "column", name)
		}
		if err := st.s.exec(ctx, d.drop("INDEX", connectors.Relation{Schema: st.target.Schema, Name: x.name})); err != nil {
			return err
		}
	}
	return st.s.exec(ctx, d.dropColumn(st.target, name))
}

// rebuild copies the table into one that declares other types: SQLite alters no type.
// The target's own CREATE TABLE is kept word for word beside them, so that constraints,
// defaults and collations stay.
func (m *merge) rebuild(ctx context.Context, wider []connectors.Column) error {
	st, d := m.st, m.st.c.d
	tmp := connectors.Relation{Schema: st.target.Schema, Name: st.rel.Name + "_"}
	create, name := "", ""
	err := st.s.rows(ctx, d.findRelation(st.target), func(r *stmt) error {
		create, name = r.text(2), r.text(1)
		return nil
	})
	if err != nil {
		return err
	}
	for _, c := range wider {
		var found bool
		if create, found = retype(create, c.Name, c.Native); !found {
			return fmt.Errorf("widening column %q: it is not found in %s", c.Name, connectors.Shorten(create))
		}
	}
	if create = renamed(create, d.Relation(tmp)); create == "" {
		return fmt.Errorf("widening columns: the table's own CREATE TABLE is not understood")
	}
	var columns []string
	err = st.s.rows(ctx, d.tableInfo(st.target), func(r *stmt) error {
		if r.integer(4) == 0 {
			columns = append(columns, r.text(0))
		}
		return nil
	})
	if err != nil {
		return err
	}
	deps, err := st.dependents(ctx)
	if err != nil {
		return err
	}
	old := connectors.Relation{Schema: st.target.Schema, Name: name}
	seq := int64(-1)
	err = st.s.rows(ctx, d.sequence(old), func(r *stmt) error {
		seq = r.integer(0)
		return nil
	})
	if err != nil && !hasCode(err, codeAny) {
		return err // without AUTOINCREMENT in the file there is no such table
	}
	steps := []string{create, d.copyRows(old, tmp, columns), d.drop("TABLE", old), d.rename(tmp, name)}
	if seq >= 0 {
		steps = append(steps, d.setSequence(old, strconv.FormatInt(seq, 10)))
	}
	for _, x := range deps {
		steps = append(steps, inSchema(x.sql, x.kind, st.target.Schema))
	}
	for _, sql := range steps {
		if err := st.s.exec(ctx, sql); err != nil {
			return fmt.Errorf("widening columns: %w", err)
		}
	}
	return nil
}
