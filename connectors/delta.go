package connectors

import (
	"context"
	"errors"
	"time"
)

// Merger is a target that applies a delta so that a reader sees the table before or
// after it, never between. Without it the connection takes no f_incremental or
// f_snapshot model but, where it is an Appender target, appends; it is refused before
// anything is read.
type Merger interface {
	// Apply brings the rows of st, sealed before, into its target, all or nothing,
	// and returns what changed. The target exists and is a table.
	Apply(ctx context.Context, st Staging, d Delta) (Applied, error)
}

// DeltaChecker is a Merger that can tell from the description of a target that it takes
// no delta (no transactions, a server too old). It is asked before anything is read;
// without it Apply is what refuses.
type DeltaChecker interface {
	CheckDelta(ctx context.Context, t *Table, d Delta) error
}

// AppendOnly is a target that can add rows to a relation atomically but not change or
// delete them (files). A Merger needs it not.
type AppendOnly interface {
	Append(ctx context.Context, st Staging) (Applied, error)
}

// Strategy is how a delta meets the rows that are there.
type Strategy uint8

// The strategies.
const (
	// StrategyAppend inserts every staged row.
	StrategyAppend Strategy = iota
	// StrategyMerge updates the target rows whose key is staged and inserts the rest.
	// Staged keys are unique.
	StrategyMerge
	// StrategyDeleteInsert deletes the target rows whose key is staged and inserts
	// every staged row. Staged keys may repeat.
	StrategyDeleteInsert
)

func (s Strategy) String() string { return [...]string{"append", "merge", "delete+insert"}[s] }

// Delta says how staged rows are applied. All columns are matched by name; columns of
// the target that are not staged get NULL in inserted rows and keep their value in
// updated ones.
type Delta struct {
	Strategy Strategy
	// Key are the unique key's columns. Keys compare NULL-safe (NULL matches NULL) and
	// by bytes, whatever the columns' collations.
	Key []string
	// SkipExisting leaves out, under StrategyAppend, the staged rows whose key the
	// target has already.
	SkipExisting bool
	// Columns are the staged columns that are written; the others only travel along.
	Columns []string
	// Update are the columns that StrategyMerge sets in rows that exist; nil means
	// Columns.
	Update []string
	// Alter are changes of the table that belong to the delta: made with it or not at
	// all. They come in order.
	Alter []Alteration
	// State is written in the same transaction where the engine has one. Nil: none.
	State *StateSave
}

// Alteration is one change of a target table.
type Alteration struct {
	Kind   AlterKind
	Column Column // AddColumn, WidenColumn: the new column; DropColumn: its name
}

// AlterKind is the kind of an Alteration.
type AlterKind uint8

// The alterations.
const (
	AddColumn AlterKind = iota
	WidenColumn
	DropColumn
)

// Applied is what a delta changed.
type Applied struct {
	Inserted, Updated, Deleted int64
	// StateSaved says that Delta.State was part of the transaction. StateMoved says
	// that the record was not at Previous any more, so that it was left alone.
	StateSaved, StateMoved bool
}

// StateRecord is what is kept of one incremental model: how far it has read.
type StateRecord struct {
	Model      string    `json:"model"`
	Target     string    `json:"target"` // full table name
	UpdateKey  string    `json:"update_key"`
	Value      string    `json:"value"` // text; RFC 3339 with offset for instants
	ColumnType string    `json:"column_type"`
	UpdatedAt  time.Time `json:"updated_at"`
	RunID      string    `json:"run_id"`
}

// StateSave is one compare-and-set of a record: it replaces the record of the same
// Model and Target whose Value is *Previous, or creates it if Previous is nil.
type StateSave struct {
	Schema   string // where the table _sling_state lives
	Record   StateRecord
	Previous *string
}

// ErrStateMoved says that another run changed a state record first.
var ErrStateMoved = errors.New("another run moved the state first")

// StateKeeper is a connection that keeps state records in a table _sling_state of one
// of its schemas, made when first written. Without it the connection cannot be named
// by SLING_STATE.
type StateKeeper interface {
	// LoadState returns the record, nil if there is none or no table yet.
	LoadState(ctx context.Context, schema, model, target string) (*StateRecord, error)
	// SaveState is a compare-and-set; ErrStateMoved when another run was first.
	SaveState(ctx context.Context, s StateSave) error
	// ListState returns all records of a schema, ordered by model and target.
	ListState(ctx context.Context, schema string) ([]StateRecord, error)
	// DeleteState removes the record, if there is one.
	DeleteState(ctx context.Context, schema, model, target string) error
}

// Extremes is a Dialect that lets a source answer MIN and MAX alone, so that a plan
// which reads nothing else of a relation moves one row.
type Extremes interface {
	// Extreme is the SQL text of max(column) or min(column) whose value equals
	// DuckDB's over the rows that Read would give; ok is false where the engine orders
	// or skips differently (text by a collation, zero dates, ...).
	Extreme(t *Table, col int, max bool) (sql string, ok bool)
	// SelectExtremes is the extract's SQL with one row: exprs, from Extreme, each
	// under the name of its column, in the form that Read decodes.
	SelectExtremes(e Extract, exprs []string) string
}

// LocalFolder is a connection that is a folder of this machine (files). State records
// may be kept below it.
type LocalFolder interface {
	// Folder is the absolute path.
	Folder() string
}

// FileKeeper is a connection that keeps small files with conditional writes (object
// storage). State records may be kept in it.
type FileKeeper interface {
	// GetFile returns a file and a version that names this content; ErrNotFound.
	GetFile(ctx context.Context, path string) (data []byte, version string, err error)
	// PutFile writes a file if it still has version ("" = does not exist yet), else
	// ErrStateMoved.
	PutFile(ctx context.Context, path string, data []byte, version string) error
	// ListFiles returns the paths below prefix.
	ListFiles(ctx context.Context, prefix string) ([]string, error)
	DeleteFile(ctx context.Context, path string) error
}

// Clocked is a target whose timestamps keep fewer digits of a second's fraction than
// six. Without it they keep six.
type Clocked interface {
	TimestampDigits(ctx context.Context) (int, error)
}

// OneWriter is a connection whose data cannot be written while it is read. Rows are
// never streamed between two connections of one resource; they are staged first. Without
// it reads and writes do not wait for each other.
type OneWriter interface {
	// Resource names what is shared: two connections of one resource give equal names.
	Resource() string
}
