package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// hiddenSchema holds the tables behind views, out of the way of the relations' names.
const hiddenSchema = "__dvt_stored"

// Model is the staging area of one model: in-memory catalogs of its own, named as in the
// model's SQL but for a suffix. They spill to the temporary folder like all of DuckDB.
// All methods may be called from several goroutines, Close after all others returned.
type Model struct {
	engine *Engine
	db     *duck.DB // the instance that was there when the model began
	name   string
	suffix string

	mu      sync.Mutex
	session *duck.Conn      // for DDL
	made    map[string]bool // catalogs, and schemas in them, that exist
	hidden  int
	drops   map[string]string // by relation, what drops it
	growing []*Growing
}

// Model opens the staging area of a model. The caller closes it.
func (e *Engine) Model(name string) (*Model, error) {
	ctx := context.Background()
	db, err := e.instance(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the staging of model %s: %w", name, err)
	}
	session, err := db.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the staging of model %s: %w", name, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.models++
	return &Model{engine: e, db: db, name: name, suffix: fmt.Sprintf("%s_%d", planner.Marker, e.models), session: session, made: map[string]bool{}, drops: map[string]string{}}, nil
}

// Stage makes the relation catalog.schema.name, where catalog is without the planner's
// marker, with all columns, and returns what fills those that are extracted (indexes
// into all); the others are NULL. Batches have the extracted columns in that order.
// Without extracted columns only the batches' numbers of rows count, whatever they hold.
// The relation is complete when Close returns nil; it stays empty if nothing is appended.
func (m *Model) Stage(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int) (connectors.Appender, error) {
	t, err := m.create(ctx, catalog, schema, name, all, extracted)
	if err != nil {
		return nil, m.failed("staging", name, err)
	}
	session, err := m.db.Connect(ctx)
	if err != nil {
		return nil, m.failed("staging", name, err)
	}
	a := &stageAppender{ctx: ctx, model: m, table: t, session: session}
	if len(extracted) == 0 {
		return a, nil
	}
	a.rows, err = session.Stream(ctx, t.catalog, t.schema, t.name, t.cols)
	if err != nil {
		return nil, errors.Join(m.failed("staging", name, err), session.Close())
	}
	return a, nil
}

// StageSQL makes a relation like Stage and fills it from a SELECT that DuckDB runs
// itself, whose columns are the extracted ones (any one column if there are none). It
// returns the rows.
func (m *Model) StageSQL(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int, sql string) (rows int64, err error) {
	t, err := m.create(ctx, catalog, schema, name, all, extracted)
	if err != nil {
		return 0, m.failed("staging", name, err)
	}
	session, err := m.db.Connect(ctx)
	if err != nil {
		return 0, m.failed("staging", name, err)
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	insert := insertRowsOf(t.String(), sql)
	if len(extracted) > 0 {
		if err := sameTypes(ctx, session, sql, t.cols); err != nil {
			return 0, m.failed("staging", name, err)
		}
		insert = insertSelect(t.String(), sql)
	}
	if rows, err = session.Count(ctx, insert); err != nil {
		return 0, m.failed("staging", name, err)
	}
	return rows, nil
}

// sameTypes keeps INSERT from casting in silence.
func sameTypes(ctx context.Context, s *duck.Conn, sql string, want []connectors.Column) error {
	got, err := s.Columns(ctx, sql)
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("the query has %d columns, not %d", len(got), len(want))
	}
	for i, c := range got {
		if !c.Type.Equal(want[i].Type) {
			return fmt.Errorf("column %q comes as %s, not as %s", want[i].Name, c.Type, want[i].Type)
		}
	}
	return nil
}

// Columns describes what the model's SQL returns; all its relations must be staged.
func (m *Model) Columns(ctx context.Context, sql string) ([]connectors.Column, error) {
	session, err := m.db.Connect(ctx)
	if err != nil {
		return nil, m.failed("describing", m.name, err)
	}
	cols, err := session.Columns(ctx, marked(sql, m.suffix))
	return cols, errors.Join(m.unmark(err), session.Close())
}

// Query runs the model's SQL over what is staged and streams its rows as
// connectors.Session does. Rows come in the order of an outermost ORDER BY, and
// in no order without one, whatever ordered says; it is there for callers to state
// what they rely on.
func (m *Model) Query(ctx context.Context, sql string, ordered bool, emit func(arrow.RecordBatch) error) error {
	session, err := m.db.Connect(ctx)
	if err != nil {
		return m.failed("querying", m.name, err)
	}
	err = session.Query(ctx, marked(sql, m.suffix), emit)
	return errors.Join(m.cause(m.unmark(err)), session.Close())
}

// Fill runs the model's SQL straight into a staging relation that the engine reaches
// itself and returns the rows.
func (m *Model) Fill(ctx context.Context, to connectors.Filler, sql string) (int64, error) {
	rows, err := to.Fill(ctx, marked(sql, m.suffix))
	return rows, m.cause(m.unmark(err))
}

// Close drops everything that was staged.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil {
		return nil
	}
	for _, g := range m.growing {
		g.free()
	}
	var drop []string
	for catalog := range m.made {
		if !strings.Contains(catalog, "\x00") { // a schema goes with its catalog
			drop = append(drop, detach(catalog))
		}
	}
	var errs []error
	if m.session.Exec(context.Background(), strings.Join(drop, "; ")) != nil && m.db.Usable() {
		for _, q := range drop { // the first failure left those after it
			errs = append(errs, m.session.Exec(context.Background(), q))
		}
	}
	errs = append(errs, m.session.Close())
	m.session = nil
	trimAllocators()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("dropping the staging of model %s: %w", m.name, err)
	}
	return nil
}

func (m *Model) failed(doing, what string, err error) error {
	return fmt.Errorf("%s %s: %w", doing, what, m.unmark(err))
}

// unmark removes the suffix from an error of DuckDB, so that SQL and names are those
// that the user knows.
func (m *Model) unmark(err error) error {
	var se *connectors.StatementError
	if !errors.As(err, &se) {
		return err
	}
	sql, pos := unmarked(se.SQL, m.suffix, se.Position)
	out := &connectors.StatementError{SQL: sql, Position: pos, Err: se.Err}
	var de *duck.Error
	if errors.As(se.Err, &de) {
		clean := *de
		clean.Message = strings.ReplaceAll(de.Message, m.suffix, "")
		out.Err = m.engine.starved(&clean)
	}
	return out
}
