package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// Whoever wants to read the target while the swap asks for its lock queues behind that
// request. So it asks briefly at first and for at most 2 seconds at a time, and holds no
// lock of the target between attempts.
const (
	firstLockTimeout = 250 * time.Millisecond
	lastLockTimeout  = 2 * time.Second
	lastBackoff      = 5 * time.Second
)

// swapPatience is how long the swap is attempted. A variable for tests.
var swapPatience = 10 * time.Minute

// errChanged says that what hangs on the target is not what the swap was planned for.
var errChanged = errors.New("the target was altered while it was being replaced")

// Replace implements connectors.Swapper. The load's transaction is still open: the swap
// is its last part, attempted behind a savepoint, so that an attempt that does not get
// its locks gives back those it has and keeps the staged rows.
func (c *conn) Replace(ctx context.Context, s connectors.Staging) error {
	st, ok := s.(*staging)
	if !ok || st.c != c || st.session == nil || !st.sealed {
		return errors.New("replacing a relation: the staging table is not sealed, or not of this connection")
	}
	if err := st.replace(ctx); err != nil {
		return fmt.Errorf("replacing %s: %w", st.target, err)
	}
	st.session.Release()
	st.session = nil
	return nil
}

func (st *staging) replace(ctx context.Context) error {
	c, pc := st.c, st.conn()
	if err := st.constrain(ctx); err != nil {
		return err
	}
	if err := c.exec(ctx, pc, "SAVEPOINT dvt_prepare"); err != nil {
		return err
	}
	for deadline, wait := time.Now().Add(swapPatience), firstLockTimeout; ; {
		err := st.prepareAndSwap(ctx, deadline, &wait)
		if err == nil {
			return c.exec(ctx, pc, "COMMIT")
		}
		if !errors.Is(err, errChanged) || time.Now().After(deadline) {
			return err
		}
		if err := c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_prepare"); err != nil {
			return err
		}
	}
}

// prepareAndSwap plans for the target as it is, does what needs no lock of it, and
// attempts the rest until it succeeds.
func (st *staging) prepareAndSwap(ctx context.Context, deadline time.Time, wait *time.Duration) error {
	c, pc := st.c, st.conn()
	old, err := c.inspect(ctx, pc, st.target)
	if err != nil {
		return err
	}
	fresh, err := c.inspect(ctx, pc, st.rel)
	if err != nil {
		return err
	}
	quoted, err := c.serverQuotes(ctx, pc, indexNames(st.spec.Options))
	if err != nil {
		return err
	}
	plan, err := planSwap(c.dialect, st, old, fresh, wantedIndexes(st.target, st.spec.Options, quoted))
	if err != nil {
		return err
	}
	if err := st.prepare(ctx, plan); err != nil {
		return err
	}
	for _, lost := range plan.lost {
		c.log.Warn("the columns of the target change: it loses "+lost, "relation", st.target.String())
	}
	if err := c.exec(ctx, pc, "SAVEPOINT dvt_swap"); err != nil {
		return err
	}
	for {
		err := st.swap(ctx, plan, old, min(*wait, lastLockTimeout))
		if !hasCode(err, codeLockNotAvailable, codeDeadlock) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("another session held its lock for %s: %w", swapPatience, err)
		}
		if err := c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_swap"); err != nil {
			return err
		}
		c.log.Debug("the target is in use: waiting to swap", "relation", st.target.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(*wait):
		}
		*wait = min(*wait*2, lastBackoff)
	}
}

// prepare works on the staging table alone, which nobody else sees.
func (st *staging) prepare(ctx context.Context, p *swapPlan) error {
	c, pc := st.c, st.conn()
	for _, sql := range p.prepare {
		if err := c.exec(ctx, pc, sql); err != nil {
			return err
		}
	}
	for _, sql := range p.tryIndexes {
		// An index for speed only: json has no order, and a text of 3,000 bytes does
		// not fit into a B-tree.
		err := c.exec(ctx, pc, "SAVEPOINT dvt_index; "+sql)
		if hasCode(err, codeUndefinedObject, codeLimitExceeded) {
			c.log.Warn("no index for the keys of the target: "+err.Error(), "relation", st.target.String())
			err = c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_index")
		}
		if err != nil {
			return err
		}
	}
	if err := st.analyze(ctx); err != nil {
		return err
	}
	if p.replaces != nil {
		return c.regrant(ctx, pc, p.fresh, p.replaces, p.keeps)
	}
	return nil
}

// leastAnalyzed is the number of rows from which on a new table is analyzed as it is loaded.
const leastAnalyzed = 10_000

// analyze lets the server know the keys by which deltas will look for rows: else the first
// delta has to, which costs more the larger the table, for autovacuum comes when it comes.
func (st *staging) analyze(ctx context.Context) error {
	key := st.spec.Options.UniqueKey
	if len(key) == 0 || st.count < leastAnalyzed {
		return nil
	}
	return st.c.exec(ctx, st.conn(), st.c.dialect.analyzeSQL(st.rel, key))
}

// regrant gives the relation called name the grants of o, and takes away those that
// default privileges gave it.
func (c *conn) regrant(ctx context.Context, pc *pgconn.PgConn, name string, o *object, keeps map[string]bool) error {
	rows, err := c.query(ctx, pc, grantsQuery, name)
	if err != nil {
		return err
	}
	var now object
	for _, row := range rows {
		if err := now.scanGrant(row); err != nil {
			return err
		}
	}
	for _, sql := range grantSQL(name, o.grants, now.grants, keeps) {
		if err := c.exec(ctx, pc, sql); err != nil {
			return err
		}
	}
	return nil
}

// serverQuotes is the server's own quoting of names.
func (c *conn) serverQuotes(ctx context.Context, pc *pgconn.PgConn, names []string) (map[string]string, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := c.query(ctx, pc, "SELECT n, quote_ident(n) FROM json_array_elements_text($1::json) n", string(list))
	quoted := map[string]string{}
	for _, row := range rows {
		quoted[row[0].s] = row[1].s
	}
	return quoted, err
}

// swap is one attempt.
func (st *staging) swap(ctx context.Context, p *swapPlan, old *object, timeout time.Duration) error {
	c, pc := st.c, st.conn()
	if _, err := c.query(ctx, pc, "SELECT set_config('lock_timeout', $1, true)",
		strconv.FormatInt(timeout.Milliseconds(), 10)); err != nil {
		return err
	}
	if p.lock != "" {
		if err := c.exec(ctx, pc, p.lock); err != nil {
			if hasCode(err, codeUndefinedTable) {
				return errChanged
			}
			return err
		}
	}
	now, err := c.inspect(ctx, pc, st.target)
	if err != nil {
		return err
	}
	if (now == nil) != (old == nil) || now != nil && now.print != old.print {
		return errChanged
	}
	for _, sql := range p.swap {
		if err := c.exec(ctx, pc, sql); err != nil {
			return p.explain(sql, err)
		}
	}
	for _, v := range p.views {
		if err := c.regrant(ctx, pc, v.name, v, v.columnNames()); err != nil {
			return fmt.Errorf("granting the dependent view %s again: %w", v.name, err)
		}
	}
	if p.insert != "" {
		if err := st.refill(ctx, pc, p); err != nil {
			return err
		}
	}
	for _, sql := range p.after {
		if err := st.finish(ctx, p, sql); err != nil {
			return p.explain(sql, err)
		}
	}
	return nil
}

// finish runs a statement of plan.after. A foreign key of a table that is made anew after
// this one holds for new rows only, if those that it has point to rows that have gone.
func (st *staging) finish(ctx context.Context, p *swapPlan, sql string) error {
	c, pc := st.c, st.conn()
	other := p.unchecked[sql]
	if other == "" {
		return c.exec(ctx, pc, sql)
	}
	err := c.exec(ctx, pc, "SAVEPOINT dvt_foreign; "+sql)
	if !hasCode(err, codeForeignKey) {
		return err
	}
	c.log.Warn("rows point to rows that are gone, until they are loaded anew", "relation", st.target.String(), "error", err)
	return c.exec(ctx, pc, "ROLLBACK TO SAVEPOINT dvt_foreign; "+other)
}

// refill replaces the rows of the old table by the staged ones.
func (st *staging) refill(ctx context.Context, pc *pgconn.PgConn, p *swapPlan) error {
	if err := st.c.exec(ctx, pc, p.delete); err != nil {
		return err
	}
	res, err := pc.Exec(ctx, p.insert).ReadAll()
	if err != nil {
		return st.c.statementError(p.insert, 0, err)
	}
	if n := res[len(res)-1].CommandTag.RowsAffected(); n != st.count {
		return fmt.Errorf("%d of %d rows arrived in the target: has it a rule or a trigger that keeps rows out?", n, st.count)
	}
	return nil
}

// explain names the view or key whose statement failed.
func (p *swapPlan) explain(sql string, err error) error {
	if what := p.about[sql]; what != "" && !hasCode(err, codeLockNotAvailable, codeDeadlock) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return err
}

func listOf(what []string) string { return strings.Join(what, ", ") }
