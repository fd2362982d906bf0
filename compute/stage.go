package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
)

// stored is the table that holds the extracted columns of a relation.
type stored struct {
	catalog, schema, name string
	cols                  []connectors.Column
}

func (t stored) String() string { return relationName(t.catalog, t.schema, t.name) }

// create makes the relation: one table when all columns are extracted in their order,
// else a table of those that are and a view over it with all.
func (m *Model) create(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int) (stored, error) {
	return m.make(ctx, catalog, schema, name, all, extracted, false)
}

// createView is create where the relation is a view over a table in any case.
func (m *Model) createView(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int) (stored, error) {
	return m.make(ctx, catalog, schema, name, all, extracted, true)
}

func (m *Model) make(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int, viewed bool) (stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil {
		return stored{}, errors.New("the model's staging is closed")
	}
	if len(all) == 0 {
		return stored{}, errors.New("the relation has no columns")
	}
	t := stored{catalog: catalog + m.suffix, schema: schema, name: name}
	whole := len(extracted) == len(all) && !viewed
	for i, at := range extracted {
		if at < 0 || at >= len(all) {
			return stored{}, fmt.Errorf("there is no column %d", at)
		}
		t.cols = append(t.cols, all[at])
		whole = whole && at == i
	}
	if whole {
		m.drops[relationName(t.catalog, schema, name)] = "DROP TABLE " + t.String()
		return t, m.define(ctx, t.catalog, []string{schema}, createTable(t.String(), t.cols))
	}
	m.hidden++
	t.schema, t.name = hiddenSchema, fmt.Sprintf("t%d", m.hidden)
	ddl := createTable(t.String(), t.cols)
	if len(t.cols) == 0 {
		ddl = createRowsTable(t.String())
	}
	as := relationName(t.catalog, schema, name)
	m.drops[as] = "DROP VIEW " + as + "; DROP TABLE " + t.String()
	view := createView(as, t.String(), all, extracted)
	return t, m.define(ctx, t.catalog, []string{schema, hiddenSchema}, ddl, view)
}

// Unstage drops a staged relation that nothing will read any more, so that its memory is
// free and the relation can be staged again.
func (m *Model) Unstage(ctx context.Context, catalog, schema, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := relationName(catalog+m.suffix, schema, name)
	drop := m.drops[at]
	if drop == "" || m.session == nil {
		return nil
	}
	delete(m.drops, at)
	return m.unmark(m.session.Exec(ctx, drop))
}

// ensure attaches a catalog and creates a schema once.
func (m *Model) ensure(ctx context.Context, catalog, schema string) error {
	return m.define(ctx, catalog, []string{schema})
}

// define makes what is missing of a catalog and schemas, then runs ddl. All of it is one
// call of DuckDB: each costs more than a small statement.
func (m *Model) define(ctx context.Context, catalog string, schemas []string, ddl ...string) error {
	var do []string
	if !m.made[catalog] {
		do = append(do, attachMemory(catalog))
		m.made[catalog] = true // Close detaches it if it is there
	}
	var missing []string
	for _, s := range schemas {
		if key := catalog + "\x00" + s; !m.made[key] {
			missing = append(missing, key)
			do = append(do, createSchema(catalog, s))
		}
	}
	if do = append(do, ddl...); len(do) == 0 {
		return nil
	}
	err := m.session.Exec(ctx, strings.Join(do, "; "))
	for _, key := range missing {
		m.made[key] = err == nil
	}
	return err
}

// stageAppender fills a stored table, or only counts.
type stageAppender struct {
	ctx     context.Context
	model   *Model
	table   stored
	session *duck.Conn
	rows    connectors.Appender // nil when no column is extracted
	count   int64
	closed  bool
}

func (a *stageAppender) Append(rec arrow.RecordBatch) error {
	if a.rows == nil {
		a.count += rec.NumRows()
		return a.ctx.Err()
	}
	return a.model.unmark(a.rows.Append(rec))
}

func (a *stageAppender) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	var err error
	switch {
	case a.rows != nil:
		err = a.rows.Close()
	case a.count > 0:
		err = a.session.Exec(a.ctx, insertRows(a.table.String(), a.count))
	}
	return errors.Join(a.model.unmark(err), a.session.Close())
}
