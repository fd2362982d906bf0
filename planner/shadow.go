package planner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	duckdb "github.com/duckdb/duckdb-go/v2"

	"github.com/dvt-dev/dvt/connectors"
)

// keepOptimizers is a whitelist: each other optimizer that the running DuckDB has is
// switched off, so that one added by a new version cannot change plans. Those left out
// rewrite predicates into weaker or stranger ones (long IN lists into joins, LIKE into
// ranges with invalid UTF-8), scan a relation twice, or wrap columns.
// statistics_propagation has no statistics to act on over table functions; it is here
// because it resolves the operators' types again, which json_serialize_plan omits.
var keepOptimizers = []string{
	"expression_rewriter", "cte_inlining", "filter_pullup", "filter_pushdown", "cte_filter_pusher",
	"deliminator", "unnest_rewriter", "empty_result_pullup", "unused_columns", "limit_pushdown", "top_n",
	"statistics_propagation",
	"build_side_probe_side", // the binder turns RIGHT joins into LEFT ones only when it is on
}

// scanFunction is the table function that every shown relation is a view of. It
// supports no filters and has no statistics, so DuckDB leaves each predicate whole in a
// FILTER above it.
const scanFunction = "dvt_relation"

// shadow is one in-memory DuckDB with names and types and no rows. It is used by one
// goroutine at a time. Nothing of a model is ever executed in it.
type shadow struct {
	db         *sql.DB
	conn       *sql.Conn
	optimizers []string // all that this DuckDB has
	disabled   string   // the setting in force
	clock      string
	schemas    map[string]bool // "catalog" and "catalog.schema", quoted, that exist
	types      map[string]duckdb.TypeInfo
	views      []view            // that exist, the one used last at the end
	lastID     int               // of a view
	scanned    map[int]*Relation // what the model that is planned sees, by its view's id
	statements map[string]*sql.Stmt
	parsed     *parsed // nil: none are kept
	broken     bool    // not to be used again

	mu    sync.Mutex                  // scanFunction's bind reads shown from DuckDB's side
	shown map[int][]duckdb.ColumnInfo // by view
}

func openShadow(ctx context.Context) (*shadow, error) {
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, fmt.Errorf("opening the planner's DuckDB: %w", err)
	}
	s := &shadow{db: sql.OpenDB(connector), schemas: map[string]bool{}, types: map[string]duckdb.TypeInfo{}, statements: map[string]*sql.Stmt{}, shown: map[int][]duckdb.ColumnInfo{}}
	if err := s.setUp(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the planner's DuckDB: %w", err), s.close())
	}
	return s, nil
}

func (s *shadow) setUp(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	for _, q := range []string{
		"SET autoinstall_known_extensions = false",
		"SET autoload_known_extensions = false",
		"SET threads = 1",
		"SET TimeZone = 'UTC'",
		"SET storage_compatibility_version = 'latest'", // else lambdas serialize in a syntax of old
		"SET enable_external_access = false",
	} {
		if err := s.exec(ctx, q); err != nil {
			return err
		}
	}
	varchar, err := duckdb.NewTypeInfo(duckdb.TYPE_VARCHAR)
	if err != nil {
		return err
	}
	err = duckdb.RegisterTableUDF(s.conn, scanFunction, duckdb.ChunkTableFunction{
		Config:        duckdb.TableFunctionConfig{Arguments: []duckdb.TypeInfo{varchar}},
		BindArguments: s.bindScan,
	})
	if err != nil {
		return err
	}
	rows, err := s.conn.QueryContext(ctx, "SELECT name FROM duckdb_optimizers()")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		s.optimizers = append(s.optimizers, name)
	}
	return rows.Err()
}

func (s *shadow) close() error {
	var errs []error
	for _, st := range s.statements {
		errs = append(errs, st.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

func (s *shadow) exec(ctx context.Context, q string) error {
	if _, err := s.conn.ExecContext(ctx, q); err != nil {
		return fmt.Errorf("%s: %w", unmark(q), err)
	}
	return nil
}

// optimize lets only the optimizers in keep run.
func (s *shadow) optimize(ctx context.Context, keep []string) error {
	var off []string
	for _, o := range s.optimizers {
		if !slices.Contains(keep, o) {
			off = append(off, o)
		}
	}
	setting := strings.Join(off, ",")
	if setting == s.disabled {
		return nil
	}
	s.disabled = setting
	return s.exec(ctx, "SET disabled_optimizers = "+literal(setting))
}

func (s *shadow) freeze(ctx context.Context, now time.Time) error {
	stamp := now.UTC().Format(time.RFC3339Nano)
	if stamp == s.clock {
		return nil
	}
	s.clock = "" // while the macros are mixed
	for _, q := range ClockMacros(now) {
		if err := s.exec(ctx, q); err != nil {
			return err
		}
	}
	s.clock = stamp
	return nil
}

// serialize runs one of the json_serialize functions. The cast to VARCHAR keeps the
// driver from decoding JSON itself, into floats.
func (s *shadow) serialize(ctx context.Context, function, sql, options string) (obj, error) {
	st, err := s.statement(ctx, "SELECT "+function+"(?::VARCHAR"+options+")::VARCHAR") //nolint:sqlclosecheck // kept for the shadow's life
	var text string
	if err == nil {
		err = st.QueryRowContext(ctx, sql).Scan(&text)
	}
	if err != nil {
		return nil, fmt.Errorf("analysing the model's SQL: %w", err)
	}
	root, err := decodeJSON(text)
	if err != nil { // it gives the empty text where it cannot say a constant
		return nil, &Error{Msg: err.Error()}
	}
	return root, nil
}

// statement prepares q once.
func (s *shadow) statement(ctx context.Context, q string) (*sql.Stmt, error) {
	if st := s.statements[q]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, q)
	if err == nil {
		s.statements[q] = st
	}
	return st, err
}

// emptyScan is the table function's source: columns and no rows.
type emptyScan struct{ columns []duckdb.ColumnInfo }

func (e emptyScan) ColumnInfos() []duckdb.ColumnInfo     { return e.columns }
func (e emptyScan) Cardinality() *duckdb.CardinalityInfo { return nil }
func (e emptyScan) Init()                                {}
func (e emptyScan) FillChunk(c duckdb.DataChunk) error   { return c.SetSize(0) }

func (s *shadow) bindScan(_ map[string]any, args ...any) (duckdb.ChunkTableSource, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := strconv.Atoi(fmt.Sprint(args...))
	columns, ok := s.shown[i]
	if err != nil || !ok {
		return nil, fmt.Errorf("no relation %v", args)
	}
	return emptyScan{columns}, nil
}

// shadowType is how DuckDB is told of a column whose type dvt does not know: one that
// cannot be carried is text, for it may be bound as long as nothing reads it; a decimal
// to be probed is wide, for the caller plans again when it knows.
func shadowType(t connectors.Type) connectors.Type {
	switch {
	case t.Kind == connectors.Invalid:
		return connectors.T(connectors.Varchar)
	case t.Kind == connectors.Decimal && t.Precision == 0:
		return connectors.Dec(38, 10)
	}
	return t
}
