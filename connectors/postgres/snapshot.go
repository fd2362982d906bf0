package postgres

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/dvt-dev/dvt/connectors"
)

// snapshot is an exported snapshot. It lives as long as the transaction that exported
// it, whose session waits idle; each Read takes a session of its own.
type snapshot struct {
	c       *conn
	session *pgxpool.Conn
	id      string
}

// Snapshot implements connectors.Snapshotter.
func (c *conn) Snapshot(ctx context.Context) (connectors.Snapshot, error) {
	session, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{c: c, session: session}
	pc := session.Conn().PgConn()
	if err = c.exec(ctx, pc, beginSQL(modeSnapshot, c.settings.session)); err == nil {
		var rows [][]cell
		if rows, err = c.query(ctx, pc, "SELECT pg_catalog.pg_export_snapshot()"); err == nil {
			s.id = rows[0][0].s
			return s, nil
		}
	}
	closeNow(pc)
	session.Release()
	return nil, err
}

// Read implements connectors.Snapshot.
func (s *snapshot) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	return s.c.session(ctx, func(pc *pgconn.PgConn) error {
		if err := s.c.exec(ctx, pc, beginSQL(modeSnapshot+"; "+snapshotSQL(s.id), s.c.settings.session)); err != nil {
			return err
		}
		if err := s.c.copyTo(ctx, pc, "", q, emit); err != nil {
			return err // closing the session rolls back
		}
		return s.c.unchanged(ctx, pc, "; COMMIT")
	})
}

// unchanged fails if something that the transaction of pc has read is not what it was in
// its snapshot. It does not lock relations before the snapshot is taken instead: a TRUNCATE
// would wait for the end of all reads, and everybody else's reads for the TRUNCATE. then is
// what is sent behind the question.
func (c *conn) unchanged(ctx context.Context, pc *pgconn.PgConn, then string) error {
	answers, err := pc.Exec(ctx, changedSQL+then).ReadAll()
	if err != nil {
		return c.statementError(changedSQL+then, 0, err)
	}
	if rows := answers[0].Rows; len(rows) > 0 {
		return fmt.Errorf("another session emptied, rewrote, renamed or replaced %s, or took a partition off it, after the snapshot was taken: %w", rows[0][0], connectors.ErrChanged)
	}
	return nil
}

// Parallel implements connectors.Snapshot.
func (s *snapshot) Parallel() bool { return true }

// Serial implements connectors.SerialSnapshot. A table that was read by one session and
// emptied cannot be read by the next; this one keeps the lock of its first read.
func (s *snapshot) Serial(ctx context.Context) (connectors.Snapshot, error) {
	session, err := s.c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	pc := session.Conn().PgConn()
	if err := s.c.exec(ctx, pc, beginSQL(modeSnapshot+"; "+snapshotSQL(s.id), s.c.settings.session)); err != nil {
		closeNow(pc)
		session.Release()
		return nil, err
	}
	return &serial{snapshot{c: s.c, session: session, id: s.id}}, nil
}

// serial is one session that reads in another one's snapshot.
type serial struct{ snapshot }

func (*serial) Parallel() bool { return false }

// Read implements connectors.Snapshot.
func (s *serial) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	pc := s.session.Conn().PgConn()
	err := s.c.copyTo(ctx, pc, "", q, emit)
	if err == nil {
		err = s.c.unchanged(ctx, pc, "")
	}
	if err != nil {
		closeNow(pc) // an answer may be unread
	}
	return err
}

// Close implements connectors.Snapshot.
func (s *serial) Close() error {
	if s.session != nil && s.session.Conn().PgConn().IsClosed() {
		s.session.Release()
		s.session = nil
	}
	return s.snapshot.Close()
}

// Close implements connectors.Snapshot.
func (s *snapshot) Close() error {
	if s.session == nil {
		return nil
	}
	ctx := context.Background()
	_, err := s.session.Conn().PgConn().Exec(ctx, "ROLLBACK").ReadAll()
	if err != nil {
		closeNow(s.session.Conn().PgConn())
	}
	s.session.Release()
	s.session = nil
	return s.c.statementError("ROLLBACK", 0, err)
}
