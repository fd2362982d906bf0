package mysql

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// mergeTries bounds how often a delta is begun again after another client's lock was in
// its way.
const mergeTries = 12

// run repeats the transaction while locks of others are in its way: then nothing of it
// has been applied.
func (m *merge) run(ctx context.Context) (out connectors.Applied, err error) {
	pause := 50 * time.Millisecond
	for try := 1; ; try++ {
		out, err = m.transact(ctx)
		if err == nil || m.s.bad || !isCode(err, errLockWait, errDeadlock) || try == mergeTries {
			return out, err
		}
		m.st.c.log.Debug("a delta begins again", "target", m.st.target.String(), "error", err)
		select {
		case <-ctx.Done():
			return out, context.Cause(ctx)
		case <-time.After(pause):
			pause = min(2*pause, 2*time.Second)
		}
	}
}

func (m *merge) transact(ctx context.Context) (out connectors.Applied, err error) {
	if _, err = m.s.exec(ctx, beginSQL); err != nil {
		return out, err
	}
	if out, err = m.statements(ctx); err != nil {
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if !m.s.bad { // the server rolls back with the session
			if _, rerr := m.s.exec(rctx, rollbackSQL); rerr != nil {
				m.s.bad = true
			}
		}
		return connectors.Applied{}, err
	}
	// From here on the outcome is what counts, not ctx.
	cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if _, err = m.s.exec(cctx, commitSQL); err != nil && m.s.bad {
		err = m.committed(context.WithoutCancel(ctx), err)
	}
	if err != nil {
		return connectors.Applied{}, err
	}
	return out, nil
}

func (m *merge) statements(ctx context.Context) (out connectors.Applied, err error) {
	switch m.d.Strategy {
	case connectors.StrategyAppend:
		out.Inserted, err = m.insert(ctx, m.d.SkipExisting)
	case connectors.StrategyMerge:
		if len(m.update) > 0 {
			out.Updated, err = m.write(ctx, m.updateSQL(m.update))
		}
		if err == nil {
			out.Inserted, err = m.insert(ctx, true)
		}
	case connectors.StrategyDeleteInsert:
		if out.Deleted, err = m.write(ctx, m.deleteSQL()); err == nil {
			out.Inserted, err = m.insert(ctx, false)
		}
	}
	if err != nil {
		return out, err
	}
	if m.d.State != nil {
		if out.StateSaved, err = m.s.saveState(ctx, *m.d.State); err != nil {
			return out, err
		}
		out.StateMoved = !out.StateSaved
	}
	if m.st.written > 0 {
		_, err = m.s.exec(ctx, markSQL(m.source))
	}
	return out, err
}

func (m *merge) insert(ctx context.Context, missing bool) (int64, error) {
	if missing && m.index == "" {
		if _, err := m.write(ctx, m.hitSQL()); err != nil {
			return 0, err
		}
	}
	n, err := m.write(ctx, m.insertSQL(m.columns, missing))
	if err == nil && !missing && n != m.st.written {
		err = fmt.Errorf("%d of %d rows arrived", n, m.st.written)
	}
	return n, err
}

// write runs one statement and fails if the server changed a value.
func (m *merge) write(ctx context.Context, sql string) (int64, error) {
	n, err := m.s.exec(ctx, sql)
	if err != nil {
		return 0, err
	}
	rows, err := m.s.rows(ctx, allWarningsSQL)
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		switch r[1].s {
		case "1592", "1287", "1681": // about statements: replication, syntax to be gone
			continue
		}
		reason := fmt.Sprintf("the server would change it: %s %s: %s", strings.ToLower(r[0].s), r[1].s, r[2].s)
		if err := placed(r[2].s, reason); err != nil {
			return 0, err
		}
		return 0, errors.New(reason)
	}
	return n, nil
}

// committed finds out whether a COMMIT took place whose answer was lost: nil if it did.
// The transaction took a row out of staging, and reading that with a lock waits until it
// has ended one way or the other.
func (m *merge) committed(ctx context.Context, cause error) error {
	unknown := func(err error) error {
		return fmt.Errorf("%w; whether the delta was committed is unknown: %w", cause, err)
	}
	if m.st.written == 0 {
		return cause // nothing but a state record could be
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	n, err := m.st.c.open(ctx, m.st.target.Schema, false)
	if err != nil {
		return unknown(err)
	}
	defer n.close()
	if _, err := n.exec(ctx, dialect{m.st.c}.mergeSetupSQL()); err != nil {
		return unknown(err)
	}
	rows, err := n.rows(ctx, markedSQL(m.source))
	if isCode(err, errLockWait) { // the server has not noticed yet that its client is gone
		if _, err = n.exec(ctx, killSessionSQL(m.s.id)); err == nil || isCode(err, errNoThread) {
			rows, err = n.rows(ctx, markedSQL(m.source))
		}
	}
	if err != nil {
		return unknown(err)
	}
	if left, err := strconv.ParseInt(rows[0][0].s, 10, 64); err != nil || left == m.st.written {
		return cause
	}
	return nil
}
