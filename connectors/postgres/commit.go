package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// How long and how often the fate of a transaction is asked for. Variables for tests.
var (
	fatePatience = 60 * time.Second
	fatePoll     = 200 * time.Millisecond
)

// errOutcome says that nobody can tell whether a transaction was committed.
var errOutcome = errors.New("the connection was lost while the transaction was being committed and the server cannot be asked whether it was: look at the table before the next run")

// commit ends the load's transaction. When the answer of COMMIT is lost, the number of
// the transaction tells a new session what became of it, so that a delta that is in the
// table is never reported as failed, nor one that is not as applied. After a lost
// connection the staging's session is given back.
func (st *staging) commit(ctx context.Context) error {
	c, pc := st.c, st.conn()
	rows, err := c.query(ctx, pc, "SELECT pg_catalog.txid_current()::text")
	if err != nil {
		return err
	}
	res, err := pc.Exec(ctx, "COMMIT").ReadAll()
	if err == nil {
		if tag := res[len(res)-1].CommandTag.String(); tag != "COMMIT" {
			return fmt.Errorf("the server answered COMMIT by %s", tag)
		}
		return nil
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Severity != "FATAL" && pg.Severity != "PANIC" {
		return c.statementError("COMMIT", 0, err) // a deferred constraint, say
	}
	cause := c.statementError("COMMIT", 0, err)
	st.drop()
	return c.fate(context.WithoutCancel(ctx), rows[0][0].s, cause)
}

// fate asks what became of a transaction whose COMMIT had no answer: nil if it was
// committed, cause if not.
func (c *conn) fate(ctx context.Context, txid string, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, fatePatience)
	defer cancel()
	var last error
	for {
		var status string
		last = c.session(ctx, func(pc *pgconn.PgConn) error {
			rows, err := c.query(ctx, pc, "SELECT coalesce(pg_catalog.txid_status($1::int8), 'unknown')", txid)
			if err == nil {
				status = rows[0][0].s
			}
			return err
		})
		switch {
		case status == "committed":
			return nil
		case status == "aborted":
			return fmt.Errorf("the transaction was not committed: %w", cause)
		case status == "unknown":
			return errors.Join(errOutcome, cause)
		}
		// In progress: the server has not noticed the loss yet. Or it does not answer.
		select {
		case <-ctx.Done():
			return errors.Join(errOutcome, cause, last)
		case <-time.After(fatePoll):
		}
	}
}
