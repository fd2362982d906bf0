package duckdb

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/filelock"
)

// Replace swaps the staged rows in, in one transaction. Views bind by name and stay.
func (c *conn) Replace(ctx context.Context, st connectors.Staging) error {
	x, ok := st.(*staging)
	if !ok || x.c != c || x.s == nil {
		return fmt.Errorf("replacing: the staging is not one of this connection")
	}
	if !x.filled {
		if err := x.begin(ctx); err != nil {
			return err
		}
		if err := x.load(ctx, rowsTable); err != nil {
			return err
		}
	}
	c.file.swap.Lock()
	defer c.file.swap.Unlock()
	if err := x.swap(ctx); err != nil {
		return fmt.Errorf("replacing %s: %w", x.spec.Target, err)
	}
	return x.commit(ctx)
}

func (x *staging) commit(ctx context.Context) error {
	if err := x.s.Exec(ctx, "COMMIT"); err != nil {
		return err
	}
	x.inTx = false
	return nil
}

func (x *staging) swap(ctx context.Context) error {
	d := x.c.dialect
	target := connectors.Relation{Schema: d.schemaOf(x.spec.Target), Name: x.spec.Target.Name}
	old, err := x.c.find(ctx, x.s, target)
	if errors.Is(err, connectors.ErrNotFound) {
		old, err = nil, nil
	}
	if err != nil {
		return err
	}
	if old != nil {
		target = old.Relation
	}
	if err := x.rename(ctx, x.name(), old, target); err != nil {
		return err
	}
	for _, ix := range x.spec.Options.Indexes {
		if err := x.s.Exec(ctx, d.createIndex(target, ix)); err != nil {
			return err
		}
	}
	return nil
}

// rename puts the table from in the place of old, if there is one, and brings back what
// hangs on it.
func (x *staging) rename(ctx context.Context, from connectors.Relation, old *found, target connectors.Relation) error {
	d := x.c.dialect
	var after []string
	if old != nil {
		var err error
		if after, err = x.attached(ctx, old, from); err != nil {
			return err
		}
		if err := x.s.Exec(ctx, d.drop(target, old.view)); err != nil {
			return err
		}
	}
	for _, sql := range append([]string{d.rename(from, target.Name)}, after...) {
		if err := x.s.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// attached are statements that bring back what hangs on a table: its indexes and
// comments, as far as the new one has their columns.
func (x *staging) attached(ctx context.Context, old *found, from connectors.Relation) (after []string, err error) {
	if old.view {
		return nil, nil
	}
	d := x.c.dialect
	have := map[string]bool{}
	made, err := queryTexts(ctx, x.s, d.columnsQuery(from))
	if err != nil {
		return nil, err
	}
	for _, col := range made {
		have[col[0]] = true
	}
	if old.comment != "" {
		after = append(after, d.commentTable(old.Relation, old.comment))
	}
	cols, err := queryTexts(ctx, x.s, d.columnsQuery(old.Relation))
	if err != nil {
		return nil, err
	}
	for _, col := range cols {
		if col[4] != "" && have[col[0]] {
			after = append(after, d.commentColumn(old.Relation, col[0], col[4]))
		}
	}
	indexes, err := queryTexts(ctx, x.s, d.indexesQuery(old.Relation))
	for _, ix := range indexes {
		after = append(after, ix[1])
	}
	return after, err
}

// Lock takes the lock of rel: a file beside the database, so that runs of different
// projects exclude each other too.
func (c *conn) Lock(ctx context.Context, rel connectors.Relation, wait time.Duration, waiting func()) (func(), error) {
	dir, base := filepath.Split(c.file.path)
	release, err := filelock.Acquire(ctx, filepath.Join(dir, "."+base+".dvt-"+c.dialect.hash12(rel)+".lock"), wait, waiting)
	if err == nil && release == nil {
		err = &connectors.LockedError{Relation: rel}
	}
	return release, err
}
