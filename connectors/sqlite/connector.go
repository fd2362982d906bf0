package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// lockWait is how long a lock of another process is waited for.
const lockWait = 60 * time.Second

// maxIdle is how many read sessions are kept: opening one reads the whole catalog, and
// closing the last one of a WAL file writes the log back.
const maxIdle = 2

// conn is one output of type sqlite: one file, or several attached to the first.
type conn struct {
	name     string
	path     string // of main
	attached []attachment
	d        dialect
	env      connectors.Env
	alloc    memory.Allocator

	mu     sync.Mutex
	idle   []*session
	closed bool
}

func (c *conn) Dialect() connectors.Dialect { return c.d }

// Ping reports SQLite's version. A missing file in an existing folder is not an error
// yet: as a target it is created.
func (c *conn) Ping(ctx context.Context) (connectors.Info, error) {
	info := connectors.Info{Version: "SQLite " + libVersion()}
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(c.path)); err != nil {
			return info, c.cannot(err)
		}
		info.Version += " (" + c.path + " does not exist yet)"
		return info, nil
	}
	_, release, err := c.reader(ctx)
	if err != nil {
		return info, err
	}
	release()
	return info, nil
}

func (c *conn) cannot(err error) error {
	return &connectors.ConnectError{Where: "sqlite " + c.path, Err: err}
}

// open opens main and attaches the other files.
func (c *conn) open(ctx context.Context, create bool) (*session, error) {
	if !create {
		for _, a := range c.attached {
			if _, err := os.Stat(a.path); errors.Is(err, fs.ErrNotExist) {
				return nil, connectors.NotFound("there is no database file " + a.path)
			}
		}
	}
	s, err := openSession(c.path, create, lockWait)
	if err != nil {
		return nil, c.cannot(err)
	}
	for _, a := range c.attached {
		if err == nil && a.schema != "main" {
			err = s.exec(ctx, attach(a.path, a.schema))
		}
		if err == nil {
			// The first look at the file: what is no database is found here.
			err = s.rows(ctx, journalMode(a.schema), func(st *stmt) error {
				a.file.wal.Store(st.text(0) == "wal")
				return nil
			})
		}
	}
	if err != nil {
		s.close()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, c.cannot(err)
	}
	return s, nil
}

// reader is a read-only session and the read side of its files, until release.
func (c *conn) reader(ctx context.Context) (s *session, release func(), err error) {
	if s, err = c.take(ctx); err != nil {
		return nil, nil, err
	}
	unlock, err := readAll(ctx, c.files())
	if err != nil {
		c.keep(s)
		return nil, nil, err
	}
	return s, func() {
		c.leave(s)
		unlock()
	}, nil
}

// take is an idle session or a new one, which only reads.
func (c *conn) take(ctx context.Context) (s *session, err error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		s = c.idle[n-1]
		c.idle = c.idle[:n-1]
	}
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, c.cannot(errors.New("the connection is closed"))
	}
	if s == nil {
		if s, err = c.open(ctx, false); err != nil {
			return nil, err
		}
		// Opened for writing all the same where the file allows it: a journal that a
		// crashed writer left must be rolled back before anything can be read.
		if err = s.exec(ctx, readOnly); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

// leave ends the transaction that s may be in and keeps it.
func (c *conn) leave(s *session) {
	if s.inTransaction() {
		_ = s.exec(context.Background(), rollback)
	}
	c.keep(s)
}

// keep makes an idle session available, or closes it.
func (c *conn) keep(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= maxIdle {
		s.close()
		return
	}
	c.idle = append(c.idle, s)
}

// files are those whose commits a read would block: the ones not in WAL mode.
func (c *conn) files() []*file {
	var all []*file
	for _, a := range c.attached {
		if !a.file.wal.Load() {
			all = append(all, a.file)
		}
	}
	return all
}

// writer is a session that may write, creating the file. It holds no lock yet.
func (c *conn) writer(ctx context.Context) (*session, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return nil, c.cannot(errors.New("the connection is closed"))
	}
	s, err := c.open(ctx, true)
	if err != nil {
		return nil, err
	}
	if err := s.exec(ctx, legacyAlter); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// fileOf is the file that rel lives in.
func (c *conn) fileOf(rel connectors.Relation) *file {
	for _, a := range c.attached {
		if strings.EqualFold(a.schema, c.d.schemaOf(rel)) {
			return a.file
		}
	}
	return c.attached[0].file
}

// Exec runs statements in the write queue of every file of the connection. What they
// leave open is rolled back: a hook cannot keep a transaction.
func (c *conn) Exec(ctx context.Context, sql string) error {
	s, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	var all []*file
	for _, a := range c.attached {
		all = append(all, a.file)
	}
	for _, f := range inOrder(all) {
		release, err := f.write(ctx)
		if err != nil {
			return err
		}
		defer release()
	}
	err = s.exec(ctx, sql)
	if s.inTransaction() {
		_ = s.exec(context.WithoutCancel(ctx), rollback)
		if err == nil {
			err = errors.New("the statements left a transaction open: it was rolled back")
		}
	}
	return err
}

func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, s := range c.idle {
		s.close()
	}
	c.idle = nil
	return nil
}

func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	s, release, err := c.reader(ctx)
	if err != nil {
		return err
	}
	defer release()
	return c.read(ctx, s, q, emit)
}

// Snapshot opens one read transaction; its reads run one after another.
func (c *conn) Snapshot(ctx context.Context) (connectors.Snapshot, error) {
	s, release, err := c.reader(ctx)
	if err != nil {
		return nil, err
	}
	sn := &snapshot{c: c, s: s, release: release}
	err = s.exec(ctx, beginRead)
	for _, a := range c.attached {
		if err == nil {
			err = s.exec(ctx, touch(a.schema))
		}
	}
	if err != nil {
		return nil, errors.Join(err, sn.Close())
	}
	return sn, nil
}

// snapshot is one read transaction over all attached files.
type snapshot struct {
	c       *conn
	mu      sync.Mutex
	s       *session
	release func()
}

func (sn *snapshot) Parallel() bool { return false }

func (sn *snapshot) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.s == nil {
		return errors.New("the snapshot is closed")
	}
	return sn.c.read(ctx, sn.s, q, emit)
}

func (sn *snapshot) Close() error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.s != nil {
		sn.release()
		sn.s = nil
	}
	return nil
}
