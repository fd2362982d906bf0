package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// foundTimeout bounds the question what became of a swap whose answer was lost.
const foundTimeout = 10 * time.Second

// Replace makes a sealed staging table the content of its target. Views, grants and row
// policies hang on the target's name and stay. Old servers cannot rename a
// materialized view: such a target is dropped first, and between the two statements
// there is no such relation.
func (c *conn) Replace(ctx context.Context, s connectors.Staging) error {
	st, ok := s.(*staging)
	if !ok || st.c != c {
		return errors.New("the staging table belongs to another connection")
	}
	eng, err := c.engineOf(ctx, st.facts, st.target)
	missing := errors.Is(err, connectors.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	target, table := relation(st.target, ""), st.sqlName()
	switch {
	case missing:
		err = c.found(ctx, st, "", c.run(ctx, false, renameSQL(table, target), nil))
	case eng.name == "View":
		err = c.swap(ctx, st)
	case isView(eng.name):
		if err = c.run(ctx, false, dropSQL(target), nil); err == nil {
			err = c.found(ctx, st, "", c.run(ctx, false, renameSQL(table, target), nil))
		}
	default:
		if err = c.copyComments(ctx, st); err == nil {
			err = c.swap(ctx, st)
		}
	}
	if err != nil {
		return err
	}
	st.done = true
	if merges(st.engine) {
		if err := c.run(ctx, false, startMergesSQL(target), nil); err != nil {
			c.log.Warn("could not start merges again", "table", st.target.String(), "error", err)
		}
	}
	return nil
}

// swap exchanges the target with the staging table and drops the old content.
func (c *conn) swap(ctx context.Context, st *staging) error {
	exchange, err := c.canExchange(ctx, st.facts, st.target.Schema)
	if err != nil {
		return err
	}
	if !exchange {
		return c.swapByRename(ctx, st)
	}
	identity, err := c.identity(ctx, st.table)
	if err != nil {
		return err
	}
	if err := c.found(ctx, st, identity, c.run(ctx, false, exchangeSQL(st.sqlName(), relation(st.target, "")), nil)); err != nil {
		return err
	}
	c.dropOld(ctx, st.table)
	return nil
}

// found is err, the error of the statement that put st into its target's place, unless
// only its answer was lost. identity is the staging table's where the two are exchanged.
func (c *conn) found(ctx context.Context, st *staging, identity string, err error) error {
	if err == nil || refused(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), foundTimeout)
	defer cancel()
	if identity != "" {
		if now, ierr := c.identity(ctx, st.target); ierr != nil || now != identity {
			return err
		}
		return nil
	}
	if _, gone := c.engineOf(ctx, st.facts, st.table); !errors.Is(gone, connectors.ErrNotFound) {
		return err
	}
	if _, lost := c.engineOf(ctx, st.facts, st.target); lost != nil {
		return err
	}
	return nil
}

// identity tells a table from one of the same name.
func (c *conn) identity(ctx context.Context, rel connectors.Relation) (string, error) {
	rows, err := c.text(ctx, identitySQL(rel))
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// swapByRename does it in one statement, whose renames the server makes one after
// another: a failure between them leaves the target under its old name, from which it
// is put back, here or by the next run.
func (c *conn) swapByRename(ctx context.Context, st *staging) error {
	target, old := relation(st.target, ""), beside(st.target, oldPrefix, st.run)
	if err := c.run(ctx, false, dropSQL(relation(old, "")), nil); err != nil {
		return err
	}
	if err := c.run(ctx, false, renameSQL(target, relation(old, ""), st.sqlName(), target), nil); err != nil {
		if err = c.found(ctx, st, "", errors.Join(err, c.restore(context.WithoutCancel(ctx), st.target))); err != nil {
			return err
		}
	}
	c.dropOld(ctx, old)
	return nil
}

// dropOld: the new content is in place, so that the old one could not be dropped
// (servers refuse to drop very large tables) is no failure of the load.
func (c *conn) dropOld(ctx context.Context, old connectors.Relation) {
	if err := c.run(context.WithoutCancel(ctx), false, dropSQL(relation(old, "")), nil); err != nil {
		c.log.Warn("could not drop the former content", "table", old.String(), "error", err)
	}
}

// canExchange: EXCHANGE TABLES needs a database engine that keeps tables by id.
func (c *conn) canExchange(ctx context.Context, f *facts, database string) (bool, error) {
	if !f.atLeast(20, 8) {
		return false, nil
	}
	rows, err := c.text(ctx, databaseEngineSQL(database))
	if err != nil || len(rows) == 0 {
		return false, err
	}
	switch rows[0][0] {
	case "Atomic", "Replicated", "Shared":
		return true, nil
	}
	return false, nil
}

// copyComments gives the staging table the column comments of the target.
func (c *conn) copyComments(ctx context.Context, st *staging) error {
	rows, err := c.text(ctx, columnsSQL(st.facts, st.target))
	if err != nil {
		return err
	}
	has := map[string]bool{}
	for _, d := range st.defs {
		has[d.name] = true
	}
	for _, r := range rows {
		if r[3] == "" || !has[r[0]] {
			continue
		}
		if err := c.run(ctx, false, commentSQL(st.sqlName(), r[0], r[3]), nil); err != nil {
			return fmt.Errorf("keeping the comment of column %q: %w", r[0], err)
		}
	}
	return nil
}

// CleanStaging puts back a target that a dead run had renamed away, and drops what
// dead runs left beside it.
func (c *conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	target = c.inDatabase(target)
	if err := c.restore(ctx, target); err != nil {
		return err
	}
	rows, err := c.text(ctx, besideSQL(target))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if strings.HasPrefix(r[0], lockPrefix) || strings.HasPrefix(r[0], claimPrefix) {
			continue
		}
		left := connectors.Relation{Schema: target.Schema, Name: r[0]}
		if err := c.run(ctx, false, dropSQL(relation(left, "")), nil); err != nil {
			if !strings.HasPrefix(r[0], oldPrefix) {
				return err
			}
			c.log.Warn("could not drop the former content", "table", left.String(), "error", err)
		}
	}
	return nil
}

// restore renames the newest old table of target back if target is missing.
func (c *conn) restore(ctx context.Context, target connectors.Relation) error {
	f, err := c.capabilities(ctx)
	if err != nil {
		return err
	}
	_, err = c.engineOf(ctx, f, target)
	if !errors.Is(err, connectors.ErrNotFound) {
		return err
	}
	rows, err := c.text(ctx, besideSQL(target))
	if err != nil {
		return err
	}
	for _, r := range rows {
		if strings.HasPrefix(r[0], oldPrefix) {
			old := connectors.Relation{Schema: target.Schema, Name: r[0]}
			return c.run(ctx, false, renameSQL(relation(old, ""), relation(target, "")), nil)
		}
	}
	return nil
}
