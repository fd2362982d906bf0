// Package duck is a thin layer over the DuckDB library: sessions, statements, results
// that stream as Arrow batches, and an appender that takes such batches. It knows
// nothing of models, runs or memory budgets (package compute does), and it never
// gathers a result: rows are fetched a chunk at a time, when the caller asks.
package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// Options say how an instance is opened.
type Options struct {
	// Settings are DuckDB settings given at open, by name.
	Settings map[string]string
	// SetUp is run once, statement by statement: settings of all sessions, functions
	// in memory.main.
	SetUp []string
	// Allocator holds the batches of results; nil is Arrow's default.
	Allocator memory.Allocator
}

// DB is one in-memory DuckDB instance. It implements connectors.Engine.
type DB struct {
	handle bindings.Database
	mem    memory.Allocator

	mu     sync.Mutex
	open   int // sessions not closed yet
	closed bool

	faulty atomic.Bool // an internal error was met
}

var _ connectors.Engine = (*DB)(nil)

// Open makes an instance without a database file.
func Open(o Options) (*DB, error) {
	if bindings.VectorSize() != vectorSize {
		return nil, fmt.Errorf("opening duckdb: vectors of %d rows, not %d", bindings.VectorSize(), vectorSize)
	}
	var cfg bindings.Config
	if bindings.CreateConfig(&cfg) == bindings.StateError {
		return nil, fmt.Errorf("opening duckdb: no memory for the configuration")
	}
	defer bindings.DestroyConfig(&cfg)
	for name, value := range o.Settings {
		if strings.ContainsRune(name+value, 0) || bindings.SetConfig(cfg, name, value) == bindings.StateError {
			return nil, fmt.Errorf("opening duckdb: no setting %q", name)
		}
	}
	db := &DB{mem: o.Allocator}
	if db.mem == nil {
		db.mem = memory.DefaultAllocator
	}
	var msg string
	if bindings.OpenExt(":memory:", &db.handle, cfg, &msg) == bindings.StateError {
		return nil, fmt.Errorf("opening duckdb: %s", msg)
	}
	if err := db.setUp(o.SetUp); err != nil {
		return nil, errors.Join(fmt.Errorf("opening duckdb: %w", err), db.Close())
	}
	return db, nil
}

func (db *DB) setUp(statements []string) error {
	ctx := context.Background()
	c, err := db.Connect(ctx)
	if err != nil {
		return err
	}
	if err := c.registerRows(); err != nil {
		return errors.Join(err, c.Close())
	}
	// Errors as JSON carry the place of the fault.
	for _, sql := range append([]string{"SET GLOBAL errors_as_json = true"}, statements...) {
		if err := c.Exec(ctx, sql); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	return c.Close()
}

// Version is the library's version, for people.
func Version() string { return "DuckDB " + strings.TrimPrefix(bindings.LibraryVersion(), "v") }

// Session opens a session; see Connect.
func (db *DB) Session(ctx context.Context) (connectors.Session, error) { return db.Connect(ctx) }

// Connect opens a session. It costs a tenth of a millisecond as long as no statement is
// run in each new one.
func (db *DB) Connect(ctx context.Context) (*Conn, error) {
	if !db.Usable() {
		return nil, fmt.Errorf("opening a duckdb session after a failure of DuckDB in itself: %w", connectors.ErrEngineGone)
	}
	return db.connect(ctx)
}

func (db *DB) connect(ctx context.Context) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil, fmt.Errorf("opening a duckdb session: %w", connectors.ErrEngineGone)
	}
	c := &Conn{db: db, mem: db.mem}
	if bindings.Connect(db.handle, &c.handle) == bindings.StateError {
		return nil, fmt.Errorf("opening a duckdb session: refused")
	}
	db.open++
	return c, nil
}

// Usable reports whether statements still run. After an internal error DuckDB refuses
// every statement of an instance.
func (db *DB) Usable() bool {
	if !db.faulty.Load() {
		return true
	}
	c, err := db.connect(context.Background())
	if err != nil {
		return false
	}
	err = errors.Join(c.Exec(context.Background(), "SELECT 1"), c.Close())
	if err == nil {
		db.faulty.Store(false)
	}
	return err == nil
}

// Sessions is how many are open.
func (db *DB) Sessions() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.open
}

// Close frees the instance. All its sessions must be closed before.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return nil
	}
	db.closed = true
	if db.open > 0 {
		return fmt.Errorf("closing duckdb: %d sessions are still open", db.open)
	}
	bindings.Close(&db.handle)
	return nil
}
