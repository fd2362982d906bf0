package mysql

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// Conn is one output of the profile: a pool of sessions to one server.
type Conn struct {
	settings
	env          connectors.Env
	log          *slog.Logger
	queryTimeout time.Duration
	alloc        memory.Allocator // nil: Go's own; tests count with it

	guess version // until the server has told
	facts atomic.Pointer[version]

	mu        sync.Mutex
	idle      []*session
	idleLocks []*session // without a database
	closed    bool

	locks      sync.Map // of relations, to the sessions that hold them
	zeros      atomic.Int64
	warnInsert sync.Once
	noInfile   bool // tests: load as if the server had local_infile off
	noTap      bool // tests: read as over TLS
}

var (
	_ connectors.Conn        = (*Conn)(nil)
	_ connectors.Snapshotter = (*Conn)(nil)
	_ connectors.Prober      = (*Conn)(nil)
	_ connectors.Stager      = (*Conn)(nil)
	_ connectors.Swapper     = (*Conn)(nil)
	_ connectors.Locker      = (*Conn)(nil)
	_ connectors.LockHolder  = (*Conn)(nil)
)

// Ping connects and reports the server's name and version.
func (c *Conn) Ping(ctx context.Context) (connectors.Info, error) {
	s, err := c.acquire(ctx)
	if err != nil {
		return connectors.Info{}, err
	}
	c.release(s)
	return connectors.Info{Version: c.server().String()}, nil
}

// Exec runs sql, which may hold several statements, on a session of its own: SET, USE
// or LOCK TABLES in it must not reach other statements.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	s, err := c.open(ctx, c.schema, true)
	if err != nil {
		return err
	}
	defer s.close()
	_, err = s.exec(ctx, sql)
	return err
}

// Read runs q in a read-only transaction of its own.
func (c *Conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	snap, err := c.Snapshot(ctx)
	if err != nil {
		return err
	}
	err = snap.Read(ctx, q, emit)
	if cerr := snap.Close(); err == nil {
		err = cerr
	}
	return err
}

// Dialect builds and judges SQL text for this server.
func (c *Conn) Dialect() connectors.Dialect { return dialect{c} }

// ZeroDates is the number of zero and partial dates that were read as NULL so far.
func (c *Conn) ZeroDates() int64 { return c.zeros.Load() }

// Close closes the idle sessions; those in use are closed when they come back.
func (c *Conn) Close() error {
	c.mu.Lock()
	idle := append(c.idle, c.idleLocks...)
	c.idle, c.idleLocks, c.closed = nil, nil, true
	c.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
	return nil
}

func (c *Conn) allocator() memory.Allocator {
	if c.alloc != nil {
		return c.alloc
	}
	return c.env.Allocator()
}

// at fills in the connection's default database.
func (c *Conn) at(rel connectors.Relation) connectors.Relation {
	if rel.Schema == "" {
		rel.Schema = c.schema
	}
	return rel
}
