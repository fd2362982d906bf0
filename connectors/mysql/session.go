package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	my "github.com/go-sql-driver/mysql"
)

// Times that bound what happens after a cancellation.
const (
	killTimeout = 5 * time.Second // for opening a session that sends KILL QUERY
	killGrace   = 3 * time.Second // for the statement to notice before its socket is closed
	maxIdle     = 4               // sessions kept for the next statement
)

// session is one connection to the server. It is used by one goroutine at a time.
//
// The driver answers a cancelled context by closing the socket, which a busy server
// notices only when it next writes. So statements run under a context of their own,
// and on cancellation another session sends KILL QUERY. A session that was
// killed is never used again: the KILL may arrive late and hit its next statement.
type session struct {
	c    *Conn
	conn driver.Conn
	tap  *tap // below conn
	id   uint64
	bad  bool
}

// open connects and brings the session into the one state that everything else here
// relies on. db is the default database, "" for none.
func (c *Conn) open(ctx context.Context, db string, multi bool) (*session, error) {
	cfg := c.cfg.Clone()
	cfg.MultiStatements = multi
	var below *tap
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		below = newTap(nc)
		return below, nil
	}
	dialer, err := my.NewConnector(cfg)
	if err != nil {
		return nil, c.connectError(err)
	}
	// The driver bounds only the dial: a server that accepts and stays silent would
	// hold the run for ever.
	octx, cancel := context.WithTimeout(ctx, cfg.Timeout)
	defer cancel()
	conn, err := dialer.Connect(octx)
	if err != nil {
		if ctx.Err() == nil && octx.Err() != nil {
			err = fmt.Errorf("no answer within %s", cfg.Timeout)
		}
		return nil, c.connectError(err)
	}
	s := &session{c: c, conn: conn, tap: below}
	if err := s.prepare(octx, db); err != nil {
		s.close()
		return nil, c.connectError(err)
	}
	return s, nil
}

// prepare settles the session.
func (s *session) prepare(ctx context.Context, db string) error {
	for _, stmt := range sessionSetup {
		if _, err := s.raw(ctx, stmt); err != nil {
			return err
		}
	}
	if db != "" {
		if _, err := s.raw(ctx, useSQL(db)); err != nil {
			return err
		}
	}
	row, err := s.rawRows(ctx, sessionFactsSQL)
	if err != nil {
		return err
	}
	if len(row) != 1 {
		return errors.New("the server did not name its connection")
	}
	if s.id, err = strconv.ParseUint(row[0][0].s, 10, 64); err != nil {
		return fmt.Errorf("reading the connection id: %w", err)
	}
	s.c.learn(row[0])
	return nil
}

func (s *session) raw(ctx context.Context, sql string) (driver.Result, error) {
	return s.conn.(driver.ExecerContext).ExecContext(ctx, sql, nil)
}

func (s *session) close() {
	s.bad = true
	_ = s.conn.Close() // there is nothing left to lose on it
}

// usable reports whether an idle session is still connected.
func (s *session) usable(ctx context.Context) bool {
	r, ok := s.conn.(driver.SessionResetter)
	return !s.bad && ok && r.ResetSession(ctx) == nil
}

// guard watches ctx while a statement runs. The statement must run under the context
// it returns, and end must be called when it has ended: it returns ctx's error if the
// statement was cut short.
func (s *session) guard(ctx context.Context) (run context.Context, end func() error) {
	run, cut := context.WithCancel(context.WithoutCancel(ctx))
	if ctx.Done() == nil {
		return run, func() error { cut(); return nil }
	}
	ended := make(chan struct{})
	var killed sync.WaitGroup
	killed.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer killed.Done()
		s.c.kill(s.id)
		select {
		case <-ended:
		case <-time.After(killGrace):
			cut()
		}
	})
	return run, func() error {
		close(ended)
		defer cut()
		if stop() {
			return nil
		}
		killed.Wait()
		s.bad = true
		return context.Cause(ctx)
	}
}

// exec runs one statement.
func (s *session) exec(ctx context.Context, sql string) (affected int64, err error) {
	ctx, cancel := s.c.limit(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	run, end := s.guard(ctx)
	res, err := s.raw(run, sql)
	if cerr := end(); cerr != nil && err != nil {
		return 0, cerr
	}
	if err != nil {
		return 0, s.fail(sql, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, s.fail(sql, err)
	}
	return n, nil
}

// fail gives err its type and drops a session whose connection is gone.
func (s *session) fail(sql string, err error) error {
	var server *my.MySQLError
	if !errors.As(err, &server) {
		s.bad = true
	}
	return s.c.statementError(sql, err)
}

// cell is one value of a small result in the engine's own text.
type cell struct {
	s    string
	null bool
}

// rows reads a small result whole: catalogs, counts. Never a table.
func (s *session) rows(ctx context.Context, sql string) ([][]cell, error) {
	ctx, cancel := s.c.limit(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	run, end := s.guard(ctx)
	out, err := s.rawRows(run, sql)
	if cerr := end(); cerr != nil && err != nil {
		return nil, cerr
	}
	if err != nil {
		return nil, s.fail(sql, err)
	}
	return out, nil
}

func (s *session) rawRows(ctx context.Context, sql string) (out [][]cell, err error) {
	rows, err := s.conn.(driver.QueryerContext).QueryContext(ctx, sql, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := rows.Close(); err == nil {
			err = cerr
		}
	}()
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(dest); err != nil {
			if errors.Is(err, io.EOF) {
				return out, nil
			}
			return nil, err
		}
		row := make([]cell, len(dest))
		for i, v := range dest {
			switch v := v.(type) {
			case nil:
				row[i].null = true
			case []byte:
				row[i].s = string(v)
			default:
				row[i].s = fmt.Sprint(v)
			}
		}
		out = append(out, row)
	}
}

// kill ends the statement that the session id is running. A failure is only logged:
// the caller closes the socket next, which ends the statement too, later.
func (c *Conn) kill(id uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	s, err := c.open(ctx, "", false)
	if err == nil {
		_, err = s.raw(ctx, killSQL(id))
		s.close()
	}
	if err != nil {
		c.log.Debug("cancelling a statement on the server", "session", id, "error", err)
	}
}

// acquire takes an idle session or opens one.
func (c *Conn) acquire(ctx context.Context) (*session, error) {
	if s := c.take(ctx, &c.idle); s != nil {
		return s, nil
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, c.connectError(errors.New("the connection is closed"))
	}
	return c.open(ctx, c.schema, false)
}

// release gives s back. The caller has left no transaction, lock or variable behind.
func (c *Conn) release(s *session) { c.put(s, &c.idle) }

// take is a session of idle that is still connected, or nil.
func (c *Conn) take(ctx context.Context, idle *[]*session) *session {
	for {
		c.mu.Lock()
		n := len(*idle)
		if n == 0 {
			c.mu.Unlock()
			return nil
		}
		s := (*idle)[n-1]
		*idle = (*idle)[:n-1]
		c.mu.Unlock()
		if s.usable(ctx) {
			return s
		}
		s.close()
	}
}

// put makes s one of idle, or closes it.
func (c *Conn) put(s *session, idle *[]*session) {
	c.mu.Lock()
	if !s.bad && !c.closed && len(*idle) < maxIdle {
		*idle = append(*idle, s)
		s = nil
	}
	c.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// with runs f on a session of the pool.
func (c *Conn) with(ctx context.Context, f func(s *session) error) error {
	s, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.release(s)
	return f(s)
}

// limit applies query_timeout to one statement.
func (c *Conn) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.queryTimeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, c.queryTimeout, fmt.Errorf("query_timeout of %s exceeded: %w", c.queryTimeout, context.DeadlineExceeded))
}
