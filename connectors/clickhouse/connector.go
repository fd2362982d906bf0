package clickhouse

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// session is one connection to the server over either protocol. It runs one statement
// at a time.
type session interface {
	query(ctx context.Context, sql, id string, sink blockSink) error
	// insert starts an INSERT and returns the columns that the server expects.
	insert(ctx context.Context, sql, id string) ([]header, error)
	sendBlock(ctx context.Context, b blockSource) error
	finish(ctx context.Context) error
	prepare(ctx context.Context, database string) error
	set(ctx context.Context, all []setting) error
	alive(ctx context.Context) bool
	server() serverInfo
	usable() bool
	// abort ends a statement that was interrupted and reports whether the server is
	// known to have stopped.
	abort(inData bool) bool
	close()
}

func (n *native) server() serverInfo { return n.info }
func (n *native) usable() bool       { return !n.broken }

// conn is a connection of the profile: idle sessions and what the server can do.
type conn struct {
	cfg   *config
	log   *slog.Logger
	alloc memory.Allocator

	mu     sync.Mutex
	known  *facts
	idle   map[bool][]idleSession // by read-only
	closed bool
}

type idleSession struct {
	session
	since time.Time
}

// Idle sessions older than idleCheck are pinged before use; at most idleMax of a sort
// are kept.
const (
	idleCheck = time.Second
	idleMax   = 8
)

func (c *conn) Ping(ctx context.Context) (connectors.Info, error) {
	s, err := c.acquire(ctx, false)
	if err != nil {
		return connectors.Info{}, err
	}
	defer c.release(s, false)
	if rows, err := queryText(ctx, s, databaseSQL(c.cfg.database)); err != nil {
		return connectors.Info{}, &connectors.ConnectError{Where: c.cfg.where(), Err: err}
	} else if len(rows) == 0 {
		return connectors.Info{}, &connectors.ConnectError{Where: c.cfg.where(), Err: fmt.Errorf("there is no database %q", c.cfg.database)}
	}
	return connectors.Info{Version: "ClickHouse " + s.server().version()}, nil
}

// Exec runs statements separated by semicolons, one after another.
func (c *conn) Exec(ctx context.Context, sql string) error {
	for _, one := range splitStatements(sql) {
		ready, err := inlineInsert(one)
		if err != nil {
			return &connectors.StatementError{SQL: one, Position: -1, Err: err}
		}
		if err := c.run(ctx, false, ready, nil); err != nil {
			return err
		}
	}
	return nil
}

// Dialect asks the server what it can do, if that is not known yet. Where no server
// answers, a current one is assumed.
func (c *conn) Dialect() connectors.Dialect { return &dialect{conn: c, database: c.cfg.database} }

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, list := range c.idle {
		for _, s := range list {
			s.close()
		}
	}
	c.idle = nil
	return nil
}

// acquire gives a session that is set up: read-only ones cannot write.
func (c *conn) acquire(ctx context.Context, readOnly bool) (session, error) {
	for {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errors.New("the connection is closed")
		}
		list := c.idle[readOnly]
		if len(list) == 0 {
			c.mu.Unlock()
			break
		}
		s := list[len(list)-1]
		c.idle[readOnly] = list[:len(list)-1]
		c.mu.Unlock()
		if time.Since(s.since) < idleCheck || s.alive(ctx) {
			return s.session, nil
		}
		s.close()
	}
	s, err := c.dial(ctx, readOnly)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, &connectors.ConnectError{Where: c.cfg.where(), Err: err}
	}
	return s, nil
}

func (c *conn) dial(ctx context.Context, readOnly bool) (session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.cfg.connectTimeout, errors.New("no answer within connect_timeout"))
	defer cancel()
	var s session
	var err error
	if c.cfg.http {
		s, err = dialHTTP(ctx, c.cfg)
	} else {
		s, err = dialNative(ctx, c.cfg)
	}
	if err != nil {
		return nil, timedOut(ctx, err)
	}
	if err := c.setup(ctx, s, readOnly); err != nil {
		s.close()
		return nil, timedOut(ctx, err)
	}
	return s, nil
}

func timedOut(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// release gives a session back after a statement that ended, and closes a broken one.
func (c *conn) release(s session, readOnly bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.usable() || c.closed || len(c.idle[readOnly]) >= idleMax {
		s.close()
		return
	}
	if c.idle == nil {
		c.idle = map[bool][]idleSession{}
	}
	c.idle[readOnly] = append(c.idle[readOnly], idleSession{s, time.Now()})
}

// run runs one statement on a session of its own and cancels it on the server when
// ctx ends or the sink fails.
func (c *conn) run(ctx context.Context, readOnly bool, sql string, sink blockSink) error {
	if c.cfg.queryTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.cfg.queryTimeout, fmt.Errorf("query_timeout of %s is over", c.cfg.queryTimeout))
		defer cancel()
	}
	s, err := c.acquire(ctx, readOnly)
	if err != nil {
		return err
	}
	id := queryID()
	err = s.query(ctx, sql, id, sink)
	over := ctx.Err() != nil // before stop, which may take longer than ctx has left
	if err != nil && !s.usable() {
		c.stop(s, id, err, false)
	}
	c.release(s, readOnly)
	if err != nil && over {
		return context.Cause(ctx)
	}
	return statementError(sql, c.lost(err))
}

// dropIdle closes the sessions that nobody uses.
func (c *conn) dropIdle() {
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, sessions := range idle {
		for _, s := range sessions {
			s.session.close()
		}
	}
}

// lost says of which server a connection broke off.
func (c *conn) lost(err error) error {
	if connectors.Broken(err) {
		c.dropIdle() // what broke this session has broken them too
		return &connectors.LostError{Where: c.cfg.where(), Err: err}
	}
	return err
}

// stop makes sure that a statement which failed with cause ends on the server.
func (c *conn) stop(s session, id string, cause error, inData bool) {
	var e *exception
	if errors.As(cause, &e) || s.abort(inData) {
		return // it has ended
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	k, err := c.acquire(ctx, false)
	if err == nil {
		err = k.query(ctx, killSQL(id), queryID(), nil)
		c.release(k, false)
	}
	if err != nil {
		c.log.Warn("could not cancel a statement on the server", "query_id", id, "error", err)
	}
}

// text runs a query of text columns on a session of its own.
func (c *conn) text(ctx context.Context, sql string) (rows [][]string, err error) {
	err = besideDrops(ctx, sql, func() error {
		t := &textSink{}
		err := c.run(ctx, false, sql, t)
		rows = t.rows
		return err
	})
	return rows, err
}

// besideDrops asks the catalog again when a table went while it was read: old servers
// walk over all tables of a database and say of any of them, and so of the query, that it
// does not exist.
func besideDrops(ctx context.Context, sql string, ask func() error) error {
	for pause := time.Millisecond; ; pause *= 2 {
		err := ask()
		if !isCode(err, codeUnknownTable, codeTableDropped) && !fileGone(err) || !strings.Contains(sql, " FROM system.") || pause > time.Second {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fileGone: the file with a table's definition went while its time was asked for.
func fileGone(err error) bool {
	return isCode(err, codePoco, codeCannotOpen, codeNoSuchFile) && (strings.Contains(err.Error(), "not found") || strings.Contains(err.Error(), "No such file") || strings.Contains(err.Error(), "doesn't exist"))
}

// queryText runs a query of text columns.
func queryText(ctx context.Context, s session, sql string) (rows [][]string, err error) {
	err = besideDrops(ctx, sql, func() error {
		t := &textSink{}
		err := statementError(sql, s.query(ctx, sql, queryID(), t))
		rows = t.rows
		return err
	})
	return rows, err
}

func queryID() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return "dvt-" + hex.EncodeToString(b[:])
}

// textSink gathers a small result whose columns are all String.
type textSink struct {
	rows [][]string
	at   int
}

func (t *textSink) begin(cols, rows int) error {
	t.at = len(t.rows)
	for range rows {
		t.rows = append(t.rows, make([]string, cols))
	}
	return nil
}

func (t *textSink) column(in *input, i, rows int, _, typ string) (err error) {
	switch {
	case rows == 0 || typ == "String":
	case typ == "Nullable(String)": // what a scalar subquery gives; NULL counts as ''
		_, err = in.more(nil, rows)
	default:
		err = fmt.Errorf("a catalog column of type %s", typ)
	}
	for r := 0; r < rows && err == nil; r++ {
		t.rows[t.at+r][i], err = in.text()
	}
	return err
}

func (t *textSink) end() error { return nil }
