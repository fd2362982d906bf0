package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// dependent is an index or trigger of a table, as the catalog holds it.
type dependent struct {
	kind, name, sql string
	columns         []string // of an index; nil when it has an expression
}

// Replace swaps the staging table in, in one transaction: drop, rename, indexes and
// triggers anew. Readers of other connections see the state before or after it.
func (c *conn) Replace(ctx context.Context, s connectors.Staging) error {
	st, ok := s.(*staging)
	if !ok || st.c != c {
		return errors.New("the staging table is not of this connection")
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.s == nil {
		return errors.New("the staging table was discarded")
	}
	if st.insert != nil { // an open statement would hold the rename up
		st.insert.close()
		st.insert = nil
	}
	if err := st.begin(ctx); err != nil {
		return err
	}
	err := st.swap(ctx)
	if err == nil {
		err = st.commit(ctx)
	}
	if err != nil {
		st.rollback()
		return fmt.Errorf("replacing %s: %w", st.spec.Target, err)
	}
	st.swapped = true
	return nil
}

func (st *staging) swap(ctx context.Context) error {
	d, s := st.c.d, st.s
	kind := ""
	err := s.rows(ctx, d.findRelation(st.target), func(r *stmt) error {
		kind = strings.ToUpper(r.text(0))
		return nil
	})
	if err != nil {
		return err
	}
	var old []dependent
	var healthy []string
	if kind != "" {
		if kind == "TABLE" {
			if old, err = st.dependents(ctx); err != nil {
				return err
			}
		}
		if healthy, err = st.healthyViews(ctx); err != nil {
			return err
		}
		if err := s.exec(ctx, d.drop(kind, st.target)); err != nil {
			return err
		}
	}
	if err := s.exec(ctx, d.rename(st.rel, st.target.Name)); err != nil {
		return err
	}
	if err := st.indexes(ctx, old); err != nil {
		return err
	}
	if err := st.orphans(ctx); err != nil {
		return err
	}
	// A view that read the old table must not be left broken by a column that is gone.
	for _, name := range healthy {
		if strings.EqualFold(name, st.target.Name) {
			continue
		}
		if err := st.compiles(name); err != nil {
			return fmt.Errorf("the view %q reads the old table: %w", name, err)
		}
	}
	return nil
}

// dependents are the target's indexes and triggers.
func (st *staging) dependents(ctx context.Context) ([]dependent, error) {
	var all []dependent
	err := st.s.rows(ctx, st.c.d.dependents(st.target), func(r *stmt) error {
		all = append(all, dependent{kind: strings.ToUpper(r.text(0)), name: r.text(1), sql: r.text(2)})
		return nil
	})
	for i := range all {
		if err != nil || all[i].kind != "INDEX" {
			continue
		}
		whole := true
		err = st.s.rows(ctx, st.c.d.indexColumns(st.target, all[i].name), func(r *stmt) error {
			whole = whole && !r.null(0)
			all[i].columns = append(all[i].columns, r.text(0))
			return nil
		})
		if !whole {
			all[i].columns = nil
		}
	}
	return all, err
}

// indexes makes the old table's indexes and triggers anew, then the model's own. An
// index on a column that is gone goes with it, with a warning.
func (st *staging) indexes(ctx context.Context, old []dependent) error {
	has := func(column string) bool {
		return slices.ContainsFunc(st.spec.Columns, func(c connectors.Column) bool { return strings.EqualFold(c.Name, column) })
	}
	for _, o := range old {
		if i := slices.IndexFunc(o.columns, func(c string) bool { return !has(c) }); i >= 0 {
			if st.c.env.Log != nil {
				st.c.env.Log.Warn("an index is dropped with its column", "relation", st.spec.Target.String(), "index", o.name, "column", o.columns[i])
			}
			continue
		}
		if err := st.s.exec(ctx, inSchema(o.sql, o.kind, st.target.Schema)); err != nil {
			return fmt.Errorf("creating %s %q again: %w", strings.ToLower(o.kind), o.name, err)
		}
	}
	for _, x := range st.wanted() {
		same := func(o dependent) bool {
			return slices.EqualFunc(o.columns, x.Columns, strings.EqualFold) &&
				(!x.Unique || strings.Contains(strings.ToUpper(o.sql[:min(len(o.sql), 20)]), "UNIQUE"))
		}
		if slices.ContainsFunc(old, same) {
			continue
		}
		name := fmt.Sprintf("%s__%s", st.target.Name, hash12(fmt.Sprint(x.Columns, x.Unique)))
		if err := st.s.exec(ctx, st.c.d.createIndex(st.target, name, x)); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the indexes that the model asks for, and those on its key and watermark,
// by which deltas find their rows.
func (st *staging) wanted() []connectors.Index {
	all := slices.Clone(st.spec.Options.Indexes)
	add := func(cols []string) {
		keyed := slices.ContainsFunc(st.contract, func(c connectors.Constraint) bool {
			return (c.Kind == connectors.PrimaryKey || c.Kind == connectors.Unique) && slices.EqualFunc(c.Columns, cols, strings.EqualFold)
		})
		if len(cols) > 0 && !keyed && !slices.ContainsFunc(all, func(x connectors.Index) bool { return slices.EqualFunc(x.Columns, cols, strings.EqualFold) }) {
			all = append(all, connectors.Index{Columns: cols})
		}
	}
	add(st.spec.Options.UniqueKey)
	if st.spec.Options.Watermark != "" {
		add([]string{st.spec.Options.Watermark})
	}
	return all
}

// compiles prepares a query of a view, which resolves all that it names.
func (st *staging) compiles(view string) error {
	q, err := st.s.prepare(st.c.d.selectAll(st.target.Schema, view))
	if err == nil {
		q.close()
	}
	return err
}

func (st *staging) healthyViews(ctx context.Context) ([]string, error) {
	var names, healthy []string
	err := st.s.rows(ctx, st.c.d.views(st.target), func(r *stmt) error {
		names = append(names, r.text(0))
		return nil
	})
	for _, name := range names {
		if st.compiles(name) == nil {
			healthy = append(healthy, name)
		}
	}
	return healthy, err
}

// CleanStaging drops the staging tables that dead runs left for target.
func (c *conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	if err := c.knows(target); err != nil {
		return err
	}
	f := c.fileOf(target)
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing to clean, and no reason to create the file
	}
	s, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	var left []string
	err = s.rows(ctx, c.d.stagingLeftovers(target), func(r *stmt) error {
		name := r.text(0)
		if len([]rune(name)) == len(stagingName("", target)) && strings.HasSuffix(name, hash12(target.Name)) {
			left = append(left, name)
		}
		return nil
	})
	if err != nil || len(left) == 0 {
		return err
	}
	unlock, err := f.write(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, name := range left {
		rel := connectors.Relation{Schema: c.d.schemaOf(target), Name: name}
		if err := s.exec(ctx, c.d.drop("TABLE", rel)); err != nil {
			return err
		}
	}
	return nil
}
