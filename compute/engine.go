// Package compute is the DuckDB of one run: its memory and spill limits, the staging of
// extracts under the names that a model's SQL uses, and the model's query. It reads no
// source and writes no target, and it decides nothing about plans.
package compute

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// Config says how much a run may use.
type Config struct {
	// MemoryLimit is what the run may use in bytes, for all models at once; 0 is
	// DefaultMemoryLimit. The process's resident memory stays within it plus a fixed
	// overhead of 300 MB.
	MemoryLimit int64
	// EngineShare is the part of MemoryLimit, less InFlight, that is DuckDB's own
	// limit; 0 is DefaultEngineShare. The rest is for what DuckDB does not account:
	// strings in aggregate states, allocator slack.
	EngineShare float64
	Threads     int // 0: one for each core
	// TempDirectory is the folder below which the run owns one of its own; "" is the
	// system's folder for temporary files.
	TempDirectory        string
	MaxTempDirectorySize string // "" = 90 % of the free disk
	RunID                string
	Mem                  memory.Allocator // of result batches; nil: Go's own memory
	Now                  time.Time        // what now() is in SQL; zero: the time of Open
}

// InFlight is the memory set aside for record batches between connectors and DuckDB.
const InFlight = 64 << 20

// DefaultEngineShare leaves a quarter to what DuckDB does not account. Measured at a limit
// of 350 MB: joins and sorts stay within 110 MB above DuckDB's own limit; min and max
// of text over millions of groups take up to 300 MB above it.
const DefaultEngineShare = 0.75

// leastMemory is what DuckDB needs to do anything with several threads.
const leastMemory = 64 << 20

// Engine is the DuckDB of a run. All methods may be called from several goroutines.
type Engine struct {
	cfg  Config
	temp *tempDir
	stat *sampler

	opening sync.Mutex // guards db
	db      *duck.DB

	mu     sync.Mutex
	models int
}

var _ connectors.Engine = (*Engine)(nil)

// Open starts the DuckDB of a run and removes what dead runs left in TempDirectory.
func Open(cfg Config) (*Engine, error) {
	temp, err := newTempDir(cfg.TempDirectory, cfg.RunID)
	if err != nil {
		return nil, fmt.Errorf("starting the compute engine: %w", err)
	}
	if cfg.Now.IsZero() {
		cfg.Now = time.Now()
	}
	e := &Engine{cfg: cfg, temp: temp, stat: newSampler()}
	if err := e.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the compute engine: %w", err), e.Close())
	}
	return e, nil
}

// start opens an instance; e.opening is held, or nobody else knows e yet.
func (e *Engine) start() (err error) {
	cfg := e.cfg
	threads := e.threads()
	tuneAllocators(threads)
	tuneCollector()
	e.db, err = duck.Open(duck.Options{
		Settings: settings(engineMemory(cfg), threads, e.temp.spill(), cfg.MaxTempDirectorySize),
		SetUp:    append(planner.ExecutionSettings(), planner.ClockMacros(cfg.Now)...), Allocator: cfg.Mem,
	})
	if err != nil {
		return err
	}
	session, err := e.db.Connect(context.Background())
	if err != nil {
		return err
	}
	return e.stat.use(session)
}

// threads is how many threads DuckDB has.
func (e *Engine) threads() int {
	if e.cfg.Threads > 0 {
		return e.cfg.Threads
	}
	return runtime.NumCPU()
}

// drainTime is how long the sessions of an instance that ended are waited for.
const drainTime = 3 * time.Second

// instance is the run's DuckDB. After an internal error DuckDB refuses every statement of
// an instance: those who use it fail, and for those who come after them there is a new
// one. It is opened when the old one is gone, for both would have the same files open.
func (e *Engine) instance(ctx context.Context) (*duck.DB, error) {
	e.opening.Lock()
	defer e.opening.Unlock()
	if e.db == nil {
		return nil, fmt.Errorf("the compute engine: %w", connectors.ErrEngineGone)
	}
	if e.db.Usable() {
		return e.db, nil
	}
	if err := e.stat.use(nil); err != nil {
		return nil, err
	}
	for end := time.Now().Add(drainTime); e.db.Sessions() > 0; {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("DuckDB failed in itself and is still in use by what failed: %w", connectors.ErrEngineGone)
		}
	}
	if err := e.db.Close(); err != nil {
		return nil, err
	}
	if err := e.start(); err != nil {
		return nil, fmt.Errorf("starting the compute engine again: %w", err)
	}
	return e.db, nil
}

// Instance is the engine as one that ends with its DuckDB, for those who keep state in
// it: see connectors.ErrEngineGone.
func (e *Engine) Instance(ctx context.Context) (connectors.Engine, error) { return e.instance(ctx) }

// collectAt is the growth of Go's heap, in percent, after which it is collected while the
// engine is open: batches come and go, and what lives between them is small (10 to 30 MB),
// so that Go's own 100 would walk it for every few batches. It takes about 40 MB more and
// a tenth of a read's CPU less.
const collectAt = 300

// tuneCollector leaves a GOGC of the user alone.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
}

// engineMemory is DuckDB's memory_limit in bytes.
func engineMemory(cfg Config) int64 {
	limit, share := cfg.MemoryLimit, cfg.EngineShare
	if limit <= 0 {
		limit = DefaultMemoryLimit()
	}
	if share <= 0 || share > 1 {
		share = DefaultEngineShare
	}
	return max(leastMemory, int64(float64(limit-InFlight)*share))
}

// Session opens a session for a connector.
func (e *Engine) Session(ctx context.Context) (connectors.Session, error) {
	db, err := e.instance(ctx)
	if err != nil {
		return nil, err
	}
	return db.Session(ctx)
}

// Close ends the engine and removes its files. Models and sessions must be closed before.
func (e *Engine) Close() error {
	e.opening.Lock()
	defer e.opening.Unlock()
	errs := []error{e.stat.close()}
	if e.db != nil {
		errs = append(errs, e.db.Close())
	}
	return errors.Join(append(errs, e.temp.close())...)
}

// Version is the engine's name and version, for people.
func Version() string { return duck.Version() }
