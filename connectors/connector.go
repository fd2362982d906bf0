// Package connectors is the contract between dvt and the engines it reads and
// writes. It holds no engine: each lives in a folder of its own below, registers
// itself by the type name that profiles.yml uses, and is reached only through the
// interfaces here.
//
// A connector is a Conn plus abilities. An ability is a small interface that callers
// ask for by type assertion; the comment of each says what dvt does without it.
package connectors

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// Conn is one connection of the profile: a pool of sessions to one server, or one
// file or folder. All methods may be called from several goroutines. Cancelling ctx
// cancels the statement on the server before the method returns.
type Conn interface {
	// Ping connects and reports what answered.
	Ping(ctx context.Context) (Info, error)
	// Describe reads the columns of rel from the engine's catalog. It returns an
	// error that Is ErrNotFound when there is no such relation, and a *TypeError for
	// a column whose type dvt cannot carry only when that column is used (see
	// Column.Type.Kind == Invalid: Native names the type).
	Describe(ctx context.Context, rel Relation) (*Table, error)
	// Read runs q read-only and hands its rows to emit in batches of at most
	// BatchRows rows and about BatchBytes bytes. emit must not keep a batch after it
	// returns unless it retains it; Read releases its own reference. A stream that
	// the server ends early is an error.
	Read(ctx context.Context, q Query, emit func(arrow.RecordBatch) error) error
	// Exec runs one statement, or several where the engine's own client allows it.
	Exec(ctx context.Context, sql string) error
	// Dialect builds and judges SQL text for this connection.
	Dialect() Dialect
	Close() error
}

// Bounds of one record batch between connectors and compute.
const (
	BatchRows  = 16384
	BatchBytes = 8 << 20
)

// Info is what Ping learned.
type Info struct {
	Version string // the engine's name and version for people: "PostgreSQL 15.18"
}

// Query is one read of an engine.
type Query struct {
	SQL string // complete, built by the connection's dialect
	// Columns are the columns that SQL returns, in order, with the logical types
	// that the batches must have. A value that does not fit its type is an error
	// (*ValueError), never changed. Empty: SQL returns one constant column, and only
	// the batches' numbers of rows count, whatever they hold.
	Columns []Column
}

// Snapshotter is a source that can give several reads one consistent view.
// Without it each read sees the data as of its own start.
type Snapshotter interface {
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is one consistent view. Close ends it.
type Snapshot interface {
	Read(ctx context.Context, q Query, emit func(arrow.RecordBatch) error) error
	// Parallel reports whether several Reads may run at once.
	Parallel() bool
	Close() error
}

// SerialSnapshot is a Snapshot with Parallel reads that can also make some of them one
// after another in one session, in which no other can empty or replace, between two
// reads, a relation that the first one read. Several extracts of one relation are read so.
// Without it they are reads of the Snapshot like all others, and a Table is Stable only
// where these are as good.
type SerialSnapshot interface {
	// Serial opens such a session. Its reads are not parallel; Close leaves the snapshot
	// open.
	Serial(ctx context.Context) (Snapshot, error)
}

// Inliner is a source that the compute engine can open itself (a DuckDB file,
// Parquet, CSV, JSON). Without it rows go through Read.
type Inliner interface {
	// Inline returns a DuckDB SELECT that yields q in the compute engine given to
	// the factory in Env.Engine. release must be called when it has run.
	Inline(ctx context.Context, q Query) (sql string, release func(), err error)
}

// Prober finds the type of columns that the catalog leaves open (Decimal with
// Precision 0). Without it such a column is a *TypeError.
type Prober interface {
	// Probe reads over the rows of t that satisfy where ("" = all) what type holds
	// each of the columns cols (indexes into t.Columns) exactly.
	Probe(ctx context.Context, t *Table, cols []int, where string) ([]Type, error)
}

// Stager is a target: it bulk-loads a staging table beside the target relation.
// Without it the connection is a source only.
type Stager interface {
	// Stage creates an empty staging relation for s. The caller must call Discard
	// on it, whatever happens.
	Stage(ctx context.Context, s StageSpec) (Staging, error)
	// CleanStaging drops what dead runs left beside target. The caller holds the
	// lock of target.
	CleanStaging(ctx context.Context, target Relation) error
}

// StageSpec says what is going to be loaded.
type StageSpec struct {
	RunID   string // identifies the run; part of the staging name
	Target  Relation
	Columns []Column // result columns, in order; Native and Engine as in Column
	Options TargetOptions
	Append  bool // the rows are for AppendOnly.Append, not for Swapper.Replace
}

// TargetOptions are the model's settings that only targets understand.
type TargetOptions struct {
	ColumnTypes map[string]string // output column → the target's own type
	Indexes     []Index
	UniqueKey   []string
	NamedBy     []string // columns that name a row in errors; empty: UniqueKey
	Watermark   string
	Engine      string   // ClickHouse
	OrderBy     []string // ClickHouse, files
	PartitionBy []string
	Format      string // file: parquet, csv, json
	Path        string // file
	Ordered     bool   // the model orders its rows and the target should keep that order
	// NullsRead is a column by whose NULLs few of many rows are read back: an index on it
	// pays where a scan is dear.
	NullsRead string
	// Contract says that the table gets Constraints and no other ones: those of the table
	// that it replaces are not kept. It is set for Swapper.Replace alone.
	Contract    bool
	Constraints []Constraint
	// DataTypes are types with lengths or precisions that the contract of a native model
	// declares, in the engine's own words, by column. They are given to a table that was
	// made from a SELECT as an INSERT into such a column would do.
	DataTypes map[string]string
	// PointedFrom are relations that models with foreign keys to this one make: their rows
	// may point to rows that go, for they are made anew after it.
	PointedFrom []Relation
}

// Index is an index that the model asks for.
type Index struct {
	Columns []string
	Unique  bool
	Type    string // the engine's access method, "" = its default
}

// Staging is one staging relation being filled. It is used by one goroutine.
type Staging interface {
	// Write appends a batch whose schema is ArrowSchema(StageSpec.Columns). A value
	// that the target cannot hold exactly is a *ValueError.
	Write(ctx context.Context, rec arrow.RecordBatch) error
	// Seal ends the bulk load and returns the rows that the server says it holds.
	Seal(ctx context.Context) (rows int64, err error)
	// Discard drops the staging relation unless it has been swapped in. It may be
	// called more than once, works after ctx of the other calls was cancelled, and
	// ends any open transaction.
	Discard(ctx context.Context) error
}

// Filler is a Staging that the compute engine can fill itself. Without it rows go through
// Write.
type Filler interface {
	// Fill puts the rows of a SELECT of the compute engine (Env.Engine) into the
	// staging relation, in place of all calls of Write, and returns how many. Its
	// columns are StageSpec.Columns. Seal follows as usual.
	Fill(ctx context.Context, sql string) (rows int64, err error)
}

// Swapper replaces a relation by a staged one so that a reader sees the old or the
// new content as a whole. Without it the connection is refused as an f_table target.
type Swapper interface {
	// Replace makes st, sealed before, the content of its target: creates the
	// target if missing, replaces a table or view of that name, keeps dependent
	// views, grants, comments and indexes. On error the old content is in place.
	Replace(ctx context.Context, st Staging) error
}

// Locker guards a relation against a second dvt. Without it one process may still
// run models of one target only once at a time.
type Locker interface {
	// Lock waits up to wait for the lock of rel, calling waiting once if it has to
	// wait, and returns what releases it. *LockedError after wait.
	Lock(ctx context.Context, rel Relation, wait time.Duration, waiting func()) (release func(), err error)
}

// LockHolder is a Locker whose locks end with a connection, so that one may be lost while
// a run goes on. Without it a lock that was taken is held until it is released.
type LockHolder interface {
	// HoldsLock fails unless the lock of rel that Lock gave is still held.
	HoldsLock(ctx context.Context, rel Relation) error
}

// Engine is the compute engine (DuckDB) as connectors may use it: those whose data
// DuckDB opens itself work through it, so that one memory limit holds.
type Engine interface {
	// Session opens one. The functions that all sessions share are in memory.main, so
	// one that changes its search path keeps that in it.
	Session(ctx context.Context) (Session, error)
}

// Session is one connection to the compute engine. It is used by one goroutine.
type Session interface {
	Exec(ctx context.Context, sql string) error
	// Columns describes what a SELECT returns without running it.
	Columns(ctx context.Context, sql string) ([]Column, error)
	// Query streams a SELECT; emit as in Conn.Read.
	Query(ctx context.Context, sql string, emit func(arrow.RecordBatch) error) error
	// Count runs a statement and returns its one integer: a SELECT of one BIGINT, or
	// the changed rows of an INSERT, UPDATE, DELETE, CREATE TABLE AS.
	Count(ctx context.Context, sql string) (int64, error)
	// Appender loads batches into an existing table (column order = cols).
	Appender(ctx context.Context, catalog, schema, table string, cols []Column) (Appender, error)
	Close() error
}

// Appender fills one table of the compute engine.
type Appender interface {
	Append(rec arrow.RecordBatch) error
	Close() error // flushes; the rows are there only if it returns nil
}
