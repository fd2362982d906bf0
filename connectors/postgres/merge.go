package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.Merger = (*conn)(nil)

// applyLockTimeout is how long one attempt asks for a lock. A variable for tests.
var applyLockTimeout = lastLockTimeout

// More SQLSTATE codes that a decision hangs on.
const (
	codeSerialization   = "40001"
	codeDuplicateTable  = "42P07"
	codeDuplicateObject = "42710"
)

// Apply implements connectors.Merger. It is the last part of the load's transaction, as
// Replace is, attempted behind a savepoint: what another session's lock or a deadlock
// stops is undone and tried again, with the staged rows still there. Whatever it
// returns, the staging has ended.
//
// Readers are never held up, unless the delta alters columns; other writers are, for
// without that two deltas would both insert a key that neither finds. One caveat is
// PostgreSQL's: widening a column such that the table is rewritten (integer to bigint)
// shows an empty table to a transaction whose snapshot is older than the delta and that
// first reads the table after it.
func (c *conn) Apply(ctx context.Context, s connectors.Staging, d connectors.Delta) (connectors.Applied, error) {
	st, ok := s.(*staging)
	if !ok || st.c != c || st.session == nil || !st.sealed {
		return connectors.Applied{}, errors.New("applying a delta: the staging table is not sealed, was used already, or is not of this connection")
	}
	if d.State != nil {
		if err := c.ensureState(ctx, d.State.Schema); err != nil {
			// The load does not fail for its state: the caller saves it by itself then,
			// and reports what is wrong.
			c.log.Debug("the state record is not part of the transaction: "+err.Error(), "relation", st.target.String())
			d.State = nil
		}
	}
	out, err := st.attempts(ctx, d)
	if err == nil {
		err = st.commit(ctx)
	}
	if err != nil {
		st.drop()
		return connectors.Applied{}, fmt.Errorf("applying to %s: %w", st.target, err)
	}
	if st.session != nil {
		st.session.Release()
		st.session = nil
	}
	return out, nil
}

// attempts applies the delta until no lock of another session stops it.
func (st *staging) attempts(ctx context.Context, d connectors.Delta) (out connectors.Applied, err error) {
	c, pc := st.c, st.conn()
	if err := c.exec(ctx, pc, "SAVEPOINT dvt_apply"); err != nil {
		return out, err
	}
	deadline, wait := time.Now().Add(swapPatience), firstLockTimeout
	for {
		m := &merge{st: st, delta: d}
		out, err = m.attempt(ctx)
		if !hasCode(err, codeLockNotAvailable, codeDeadlock, codeSerialization) {
			return out, err
		}
		if time.Now().After(deadline) {
			return out, fmt.Errorf("other sessions stood in the way for %s: %w", swapPatience, err)
		}
		if err := c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_apply"); err != nil {
			return out, err
		}
		c.log.Debug("the target is in use: waiting to apply the delta", "relation", st.target.String())
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(wait):
		}
		wait = min(wait*2, lastBackoff)
	}
}

// merge is one attempt at one delta.
type merge struct {
	st       *staging
	delta    connectors.Delta
	texts    mergeTexts
	columns  map[string]*mergeColumn // of the target
	patterns []nulls                 // that the staged keys have
	guarded  bool                    // rules or triggers may keep rows out: counts are checked
}

func (m *merge) attempt(ctx context.Context) (out connectors.Applied, err error) {
	st := m.st
	oid, err := m.lock(ctx)
	if err != nil {
		return out, err
	}
	if oid, err = m.alter(ctx, oid); err != nil {
		return out, err
	}
	if err := m.prepare(ctx, oid); err != nil {
		return out, err
	}
	switch d := m.delta; d.Strategy {
	case connectors.StrategyAppend:
		if !d.SkipExisting {
			out.Inserted, err = m.insertAll(ctx)
			break
		}
		out.Inserted, err = m.insertMissing(ctx)
	case connectors.StrategyMerge:
		if out.Updated, err = m.update(ctx); err == nil {
			out.Inserted, err = m.insertMissing(ctx)
		}
	case connectors.StrategyDeleteInsert:
		if out.Deleted, err = m.deleteMatched(ctx); err == nil {
			out.Inserted, err = m.insertAll(ctx)
		}
	default:
		err = fmt.Errorf("unknown strategy %d", d.Strategy)
	}
	if err != nil {
		return out, err
	}
	if err := st.c.exec(ctx, st.conn(), st.c.dialect.dropTableSQL(st.rel)); err != nil {
		return out, err
	}
	return out, m.state(ctx, &out)
}

// matches says that the strategy looks for rows by their key.
func (m *merge) matches() bool {
	return m.delta.Strategy != connectors.StrategyAppend || m.delta.SkipExisting
}

// lock takes the target's lock that the delta needs, in one step: raising a lock later
// would deadlock with another delta that does the same.
func (m *merge) lock(ctx context.Context) (oid string, err error) {
	c, pc := m.st.c, m.st.conn()
	if m.matches() && len(m.delta.Key) == 0 {
		return "", fmt.Errorf("strategy %s needs a key", m.delta.Strategy)
	}
	set := "SELECT set_config('lock_timeout', $1, true)"
	mode := "ROW EXCLUSIVE"
	if m.matches() {
		mode = "SHARE ROW EXCLUSIVE"
		// Rows that a policy hides would be taken for missing ones: with this setting
		// that is an error.
		set += ", set_config('row_security', 'off', true)"
	}
	if len(m.delta.Alter) > 0 {
		mode = "ACCESS EXCLUSIVE"
	}
	if _, err := c.query(ctx, pc, set, strconv.FormatInt(applyLockTimeout.Milliseconds(), 10)); err != nil {
		return "", err
	}
	if err := c.exec(ctx, pc, c.dialect.lockSQL(m.st.target, mode)); err != nil {
		return "", err
	}
	return m.find(ctx)
}

func (m *merge) find(ctx context.Context) (oid string, err error) {
	rows, err := m.st.c.query(ctx, m.st.conn(), findQuery, m.st.target.Schema, m.st.target.Name)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", connectors.ErrNotFound
	}
	if kind := rows[0][1].s; kind != "r" && kind != "p" {
		return "", fmt.Errorf("it is a %s, not a table", kindNames[kind])
	}
	return rows[0][0].s, nil
}

// alter changes the columns. Plain views that read the table are dropped and made again:
// PostgreSQL alters no column that a view reads.
func (m *merge) alter(ctx context.Context, oid string) (string, error) {
	st, d := m.st, m.st.c.dialect
	c, pc := st.c, st.conn()
	if len(m.delta.Alter) == 0 {
		return oid, nil
	}
	var views []*object
	b := &swapBuilder{dialect: d, plan: &swapPlan{about: map[string]string{}}, st: st}
	if slices.ContainsFunc(m.delta.Alter, func(a connectors.Alteration) bool { return a.Kind != connectors.AddColumn }) {
		old, err := c.inspect(ctx, pc, st.target)
		if err != nil {
			return "", err
		}
		b.old, b.fresh, views = old, old, old.views
	}
	for _, v := range slices.Backward(views) {
		b.add(dropViewSQL(v.name), "dropping the dependent view "+v.name)
	}
	for _, a := range m.delta.Alter {
		ddl := ""
		if a.Kind != connectors.DropColumn {
			if err := checkIdent("column", a.Column.Name); err != nil {
				return "", err
			}
			var err error
			if ddl, err = c.columnType(ctx, pc, a.Column, st.spec.Options.ColumnTypes); err != nil {
				return "", err
			}
		}
		b.add(d.alterSQL(st.target, a, ddl), "altering column "+strconv.Quote(a.Column.Name))
	}
	for _, v := range views {
		b.view(v)
	}
	for _, sql := range b.plan.swap {
		if err := c.exec(ctx, pc, sql); err != nil {
			return "", b.plan.explain(sql, err)
		}
	}
	for _, v := range views {
		if err := c.regrant(ctx, pc, v.name, v, v.columnNames()); err != nil {
			return "", fmt.Errorf("granting the dependent view %s again: %w", v.name, err)
		}
	}
	return m.find(ctx)
}

// change runs a statement and returns how many rows it changed.
func (m *merge) change(ctx context.Context, sql string) (int64, error) {
	res, err := m.st.conn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return 0, m.st.c.statementError(sql, 0, err)
	}
	return res[len(res)-1].CommandTag.RowsAffected(), nil
}

// checked is change where the number is known before: count gives it. A rule, or a
// trigger that returns NULL, keeps rows as they are without an error.
func (m *merge) checked(ctx context.Context, sql, count, what string) (int64, error) {
	if !m.guarded {
		return m.change(ctx, sql)
	}
	rows, err := m.st.c.query(ctx, m.st.conn(), count)
	if err != nil {
		return 0, err
	}
	want, err := strconv.ParseInt(rows[0][0].s, 10, 64)
	if err != nil {
		return 0, err
	}
	n, err := m.change(ctx, sql)
	if err == nil && n != want {
		err = fmt.Errorf("%d of %d rows were %s: has the table a rule or a trigger that keeps rows out?", n, want, what)
	}
	return n, err
}

func (m *merge) insertAll(ctx context.Context) (int64, error) {
	n, err := m.change(ctx, m.texts.insert(nil))
	if err == nil && n != m.st.count {
		err = fmt.Errorf("%d of %d rows were inserted: has the table a rule or a trigger that keeps rows out?", n, m.st.count)
	}
	return n, err
}

func (m *merge) insertMissing(ctx context.Context) (int64, error) {
	return m.each(func(p nulls) (int64, error) {
		return m.checked(ctx, m.texts.insert(p), m.texts.countMissing(p), "inserted")
	})
}

func (m *merge) deleteMatched(ctx context.Context) (int64, error) {
	return m.each(func(p nulls) (int64, error) {
		return m.checked(ctx, m.texts.delete(p), m.texts.countMatched(p), "deleted")
	})
}

// each adds up what f changes for each set of staged rows. The sets have no key in
// common, so that what one does no other sees.
func (m *merge) each(f func(nulls) (int64, error)) (total int64, err error) {
	for _, p := range m.patterns {
		n, err := f(p)
		if err != nil {
			return total, err
		}
		total += n
	}
	return total, nil
}

// update sets what is not the key: that is equal already.
func (m *merge) update(ctx context.Context) (int64, error) {
	want := m.delta.Update
	if want == nil {
		want = m.delta.Columns
	}
	var set, exprs []string
	for _, name := range want {
		if !slices.Contains(m.delta.Columns, name) {
			return 0, fmt.Errorf("column %q is updated but not staged", name)
		}
		i := slices.Index(m.texts.columns, name)
		switch {
		case i < 0 || slices.Contains(m.delta.Key, name): // generated, or equal
		case m.columns[name].identity:
			if err := m.sameIdentity(ctx, name, m.texts.exprs[i]); err != nil {
				return 0, err
			}
		default:
			set, exprs = append(set, name), append(exprs, m.texts.exprs[i])
		}
	}
	if len(set) == 0 {
		return 0, nil
	}
	return m.each(func(p nulls) (int64, error) {
		return m.checked(ctx, m.texts.update(set, exprs, p), m.texts.countPairs(p, ""), "updated")
	})
}

// sameIdentity: PostgreSQL inserts a value into a column GENERATED ALWAYS AS IDENTITY
// when told to, but never updates one. That does no harm where the value is the same.
func (m *merge) sameIdentity(ctx context.Context, name, expr string) error {
	for _, p := range m.patterns {
		rows, err := m.st.c.query(ctx, m.st.conn(), m.texts.countPairs(p, " AND t."+quoteIdent(name)+" IS DISTINCT FROM "+expr))
		if err != nil {
			return err
		}
		if n := rows[0][0].s; n != "0" {
			return fmt.Errorf("column %q is GENERATED ALWAYS AS IDENTITY and cannot be updated, and %s rows of the delta have another value", name, n)
		}
	}
	return nil
}

// state saves the delta's record. Only another session's lock fails the attempt; any
// other error leaves the record to the caller.
func (m *merge) state(ctx context.Context, out *connectors.Applied) error {
	if m.delta.State == nil {
		return nil
	}
	c, pc := m.st.c, m.st.conn()
	if err := c.exec(ctx, pc, "SAVEPOINT dvt_state"); err != nil {
		return err
	}
	saved, err := c.saveState(ctx, pc, *m.delta.State)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		out.StateSaved, out.StateMoved = saved, !saved
		return nil
	case hasCode(err, codeLockNotAvailable, codeDeadlock, codeSerialization) || !errors.As(err, &pg):
		return err
	}
	c.log.Debug("the state record is not part of the transaction: "+err.Error(), "relation", m.st.target.String())
	return c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_state")
}
