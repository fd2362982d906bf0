package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// swapTries bounds how often a swap waits for the transactions that use the target: two
// seconds each, with growing pauses in which queued readers get through.
const swapTries = 60

func isMissing(err error) bool { return errors.Is(err, connectors.ErrNotFound) }

// Replace makes st the content of its target. Until the RENAME, which is atomic, nothing
// of the target is touched; after it only what replaced tables leave behind is
// cleared away, which CleanStaging does as well if this process dies.
func (c *Conn) Replace(ctx context.Context, staged connectors.Staging) error {
	st, ok := staged.(*staging)
	switch {
	case !ok || st.c != c:
		return errors.New("replacing: the staging is of another connection")
	case !st.sealed || st.done || st.swapped:
		return errors.New("replacing: the staging is not sealed")
	}
	s := st.s
	err := s.replace(ctx, st)
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	s.settle(rctx)
	if err != nil {
		return fmt.Errorf("replacing %s: %w", st.target, err)
	}
	return nil
}

// settle brings a session back into the state of a new one, or marks it as unfit.
func (s *session) settle(ctx context.Context) {
	stmts := sessionSetup[:1:1]
	if s.c.schema != "" {
		stmts = append(stmts, useSQL(s.c.schema))
	}
	for _, stmt := range stmts {
		if s.bad {
			return
		}
		if _, err := s.exec(ctx, stmt); err != nil {
			s.bad = true
		}
	}
}

func (s *session) replace(ctx context.Context, st *staging) error {
	kind, err := s.kind(ctx, st.target)
	if err != nil {
		return err
	}
	switch kind {
	case "", "VIEW":
		parts, err := s.kept(ctx, st, nil, nil)
		if err != nil {
			return err
		}
		return s.swap(ctx, st, kind, parts, nil)
	case "BASE TABLE":
		return s.replaceTable(ctx, st)
	}
	return fmt.Errorf("the target is a %s, which dvt does not replace", strings.ToLower(kind))
}

func (s *session) replaceTable(ctx context.Context, st *staging) error {
	old, info, err := s.describe(ctx, st.target)
	if err != nil {
		return err
	}
	triggers, err := s.triggers(ctx, st.target)
	if err != nil {
		return err
	}
	refs, err := s.references(ctx, st.target)
	if err != nil {
		return err
	}
	if len(refs) > 0 {
		if err := s.proveContract(ctx, st, old); err != nil {
			return err
		}
		return s.rebuild(ctx, st, old, refs, triggers)
	}
	parts, err := s.kept(ctx, st, old, info)
	if err != nil {
		return err
	}
	return s.swap(ctx, st, "BASE TABLE", parts, triggers)
}

// kind is TABLE_TYPE, "" if there is no such relation.
func (s *session) kind(ctx context.Context, rel connectors.Relation) (string, error) {
	rows, err := s.rows(ctx, dialect{s.c}.kindSQL(rel))
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0].s, nil
}

// swap renames. kind is what the target is now.
func (s *session) swap(ctx context.Context, st *staging, kind string, k *keep, triggers []trigger) error {
	if sql := alterSQL(st.rel, k.parts); sql != "" {
		if _, err := s.exec(ctx, sql); err != nil {
			if len(k.made) > 0 {
				return s.blame(ctx, st, k.made, err)
			}
			return fmt.Errorf("giving the new table the indexes and constraints of the old one: %w", err)
		}
	}
	old, saved := st.rel, st.rel
	old.Name += suffixOld
	saved.Name += suffixTriggers
	rename := renameSQL(st.rel, st.target)
	if kind != "" {
		rename = renameSQL(st.target, old, st.rel, st.target)
		if err := s.dropAny(ctx, old); err != nil { // of this run's last swap
			return err
		}
	}
	if len(triggers) > 0 {
		if _, err := s.exec(ctx, useSQL(st.target.Schema)); err != nil { // their texts may name tables alone
			return err
		}
		if err := s.saveTriggers(ctx, saved, triggers); err != nil {
			return err
		}
	}
	if err := s.rename(ctx, st, rename); err != nil {
		return err
	}
	st.swapped = true

	// The new content is in place: what follows is done even if ctx ends now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if len(triggers) > 0 {
		if err := s.restoreTriggers(ctx, triggers, st.target); err != nil {
			return s.undo(ctx, st, old, saved, triggers, err)
		}
	}
	err := s.dropAny(ctx, old)
	if err == nil && len(triggers) > 0 {
		_, err = s.exec(ctx, dropTableSQL(saved))
	}
	if err != nil {
		s.c.log.Warn("the replaced content of "+st.target.String()+" could not be dropped; the next run does it", "table", old.Name, "error", err)
	}
	return nil
}

// rename runs the RENAME TABLE that swaps, and finds out what it did if the answer was
// lost.
func (s *session) rename(ctx context.Context, st *staging, sql string) error {
	if _, err := s.exec(ctx, swapWaitSQL); err != nil {
		return err
	}
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		_, err := s.exec(ctx, sql)
		if err == nil {
			return nil
		}
		if s.bad {
			return s.renamed(ctx, st, err)
		}
		if !isCode(err, errLockWait) || try == swapTries {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}

// renamed finds out whether the swap happened although the session died with cause, and
// gives s a new session to go on with.
func (s *session) renamed(ctx context.Context, st *staging, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	n, err := s.c.open(ctx, st.target.Schema, false)
	if err != nil {
		return fmt.Errorf("%w; whether the swap happened is unknown: %w", cause, err)
	}
	s.close()
	s.conn, s.id, s.bad = n.conn, n.id, false
	if kind, err := s.kind(ctx, st.rel); err != nil || kind != "" {
		return cause
	}
	return nil
}

// undo puts the old content back after a trigger could not be recreated.
func (s *session) undo(ctx context.Context, st *staging, old, saved connectors.Relation, triggers []trigger, cause error) error {
	if _, err := s.exec(ctx, renameSQL(st.target, st.rel, old, st.target)); err != nil {
		return fmt.Errorf("%w; putting the old content back: %w", cause, err)
	}
	st.swapped = false
	if err := s.restoreTriggers(ctx, triggers, st.target); err != nil {
		return fmt.Errorf("%w; putting the triggers back: %w", cause, err)
	}
	_, _ = s.exec(ctx, dropTableSQL(saved)) // CleanStaging drops it otherwise
	return cause
}

// dropAny drops a table or view.
func (s *session) dropAny(ctx context.Context, rel connectors.Relation) error {
	kind, err := s.kind(ctx, rel)
	switch {
	case err != nil || kind == "":
		return err
	case kind == "VIEW":
		_, err = s.exec(ctx, dropViewSQL(rel))
	default:
		_, err = s.exec(ctx, dropTableSQL(rel))
	}
	return err
}

// rebuild replaces the rows of a table that foreign keys of other tables point to: a
// RENAME would leave those keys pointing to the old table. Readers see the old
// rows until the commit.
func (s *session) rebuild(ctx context.Context, st *staging, old *connectors.Table, refs []foreign, triggers []trigger) error {
	if len(triggers) > 0 {
		return fmt.Errorf("foreign keys of %s point to it, so that its rows are deleted and inserted, and its trigger %s would run for each: drop one of them",
			refs[0].table, triggers[0].name)
	}
	cols := make([]string, len(st.cols))
	for i, t := range st.cols {
		cols[i] = t.col.Name
		if old.Index(t.col.Name) < 0 {
			return fmt.Errorf("foreign keys of %s point to it, so that it keeps its columns, and it has no column %q", refs[0].table, t.col.Name)
		}
	}
	if len(cols) != len(old.Columns) {
		return fmt.Errorf("foreign keys of %s point to it, so that it keeps its %d columns, and the model has %d", refs[0].table, len(old.Columns), len(cols))
	}
	// Without this the DELETE is refused, or cascades into the other tables.
	if _, err := s.exec(ctx, noForeignSQL); err != nil {
		return err
	}
	if _, err := s.exec(ctx, beginSQL); err != nil {
		return err
	}
	err := s.refill(ctx, st, cols, refs)
	if err == nil {
		_, err = s.exec(ctx, commitSQL)
	}
	if err != nil {
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
		defer cancel()
		if !s.bad {
			_, _ = s.exec(rctx, rollbackSQL) // closing the session rolls back as well
		}
		return err
	}
	st.swapped = true
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if _, err := s.exec(cctx, dropTableSQL(st.rel)); err != nil {
		s.c.log.Warn("staging could not be dropped; the next run does it", "table", st.rel.Name, "error", err)
	}
	return nil
}

func (s *session) refill(ctx context.Context, st *staging, cols []string, refs []foreign) error {
	if _, err := s.exec(ctx, deleteAllSQL(st.target)); err != nil {
		return err
	}
	n, err := s.exec(ctx, copySQL(st.target, st.rel, cols))
	if err != nil {
		return err
	}
	if err := s.warnings(ctx); err != nil {
		return err
	}
	if n != st.written {
		return fmt.Errorf("%d of %d rows arrived", n, st.written)
	}
	for _, f := range refs {
		rows, err := s.rows(ctx, orphanSQL(st.target, f))
		if err != nil {
			return err
		}
		if len(rows) > 0 && slices.ContainsFunc(st.spec.Options.PointedFrom, func(r connectors.Relation) bool { return s.c.at(r) == f.table }) {
			s.c.log.Warn("rows of "+f.table.String()+" point to rows that are gone, until they are loaded anew", "relation", st.target.String(), "foreign key", f.name)
		} else if len(rows) > 0 {
			return fmt.Errorf("rows that foreign key %s of %s points to are missing in the result", f.name, f.table)
		}
	}
	return nil
}

// CleanStaging drops what dead runs left beside target, after finishing or undoing what
// they had begun.
func (c *Conn) CleanStaging(ctx context.Context, target connectors.Relation) error {
	target = c.at(target)
	s, err := c.acquire(ctx)
	if isCode(err, errUnknownDatabase) { // the connection's own is yet to be created
		if target.Schema == c.schema {
			return nil
		}
		if s, err = c.open(ctx, "", false); err == nil {
			defer s.close()
		}
	} else if err == nil {
		defer c.release(s)
	}
	if err != nil {
		return err
	}
	if err := s.clean(ctx, target); err != nil {
		return fmt.Errorf("clearing staging of %s: %w", target, err)
	}
	return nil
}

func (s *session) clean(ctx context.Context, target connectors.Relation) error {
	hash := s.c.relationHash(target)
	like := strings.ReplaceAll(stagingPrefix, "_", `\_`) + strings.Repeat("_", 8) + hash + "%"
	rows, err := s.rows(ctx, dialect{s.c}.leftoversSQL(target, like))
	if err != nil || len(rows) == 0 {
		return err
	}
	if _, err := s.exec(ctx, useSQL(target.Schema)); err != nil {
		return err
	}
	defer s.settle(ctx)
	kind, err := s.kind(ctx, target)
	if err != nil {
		return err
	}
	at := func(name string) connectors.Relation {
		return connectors.Relation{Schema: target.Schema, Name: name}
	}
	for _, r := range rows {
		// A server that died between the two renames of a swap, before such a swap was
		// atomic across a crash.
		if strings.HasSuffix(r[0].s, suffixOld) && kind == "" {
			if _, err := s.exec(ctx, renameSQL(at(r[0].s), target)); err != nil {
				return err
			}
			if kind, err = s.kind(ctx, target); err != nil {
				return err
			}
		}
	}
	for _, r := range rows {
		if strings.HasSuffix(r[0].s, suffixTriggers) && kind == "BASE TABLE" {
			saved, err := s.savedTriggers(ctx, at(r[0].s))
			if err == nil {
				err = s.restoreTriggers(ctx, saved, target)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, r := range rows {
		if err := s.dropAny(ctx, at(r[0].s)); err != nil {
			return err
		}
	}
	return nil
}
