package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.StateKeeper = (*conn)(nil)

// LoadState implements connectors.StateKeeper.
func (c *conn) LoadState(ctx context.Context, schema, model, target string) (*connectors.StateRecord, error) {
	all, err := c.states(ctx, schema, whereState, model, target)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// ListState implements connectors.StateKeeper.
func (c *conn) ListState(ctx context.Context, schema string) ([]connectors.StateRecord, error) {
	return c.states(ctx, schema, "")
}

func (c *conn) states(ctx context.Context, schema, where string, args ...string) (all []connectors.StateRecord, err error) {
	err = c.transaction(ctx, modeSnapshot, func(pc *pgconn.PgConn) error {
		there, err := c.hasState(ctx, pc, schema)
		if err != nil || !there {
			return err
		}
		rows, err := c.query(ctx, pc, c.dialect.selectStateSQL(schema, where), args...)
		if err != nil {
			return err
		}
		for _, row := range rows {
			rec, err := scanState(row)
			if err != nil {
				return fmt.Errorf("the state record of model %q and target %q cannot be read: %w", row[0].s, row[1].s, err)
			}
			all = append(all, rec)
		}
		return nil
	})
	return all, err
}

func (c *conn) hasState(ctx context.Context, pc *pgconn.PgConn, schema string) (bool, error) {
	rel := c.dialect.stateTable(schema)
	rows, err := c.query(ctx, pc, findQuery, rel.Schema, rel.Name)
	return len(rows) > 0, err
}

func scanState(row []cell) (rec connectors.StateRecord, err error) {
	for _, v := range row {
		if v.null {
			return rec, fmt.Errorf("a column is NULL")
		}
	}
	at, err := time.Parse(time.RFC3339Nano, row[5].s)
	return connectors.StateRecord{Model: row[0].s, Target: row[1].s, UpdateKey: row[2].s, Value: row[3].s, ColumnType: row[4].s,
		UpdatedAt: at, RunID: row[6].s}, err
}

// SaveState implements connectors.StateKeeper.
func (c *conn) SaveState(ctx context.Context, s connectors.StateSave) error {
	if err := c.ensureState(ctx, s.Schema); err != nil {
		return err
	}
	return c.transaction(ctx, modeWrite, func(pc *pgconn.PgConn) error {
		saved, err := c.saveState(ctx, pc, s)
		if err == nil && !saved {
			err = connectors.ErrStateMoved
		}
		return err
	})
}

// saveState reports false when the record is not at Previous any more. In a transaction
// of its isolation the statement waits for another that changes the same record and then
// looks again.
func (c *conn) saveState(ctx context.Context, pc *pgconn.PgConn, s connectors.StateSave) (bool, error) {
	r := s.Record
	args := []string{r.Model, r.Target, r.UpdateKey, r.Value, r.ColumnType, r.UpdatedAt.UTC().Format("2006-01-02 15:04:05.999999999Z07:00"), r.RunID}
	sql := c.dialect.insertStateSQL(s.Schema)
	if s.Previous != nil {
		sql, args = c.dialect.updateStateSQL(s.Schema), append(args, *s.Previous)
	}
	rows, err := c.query(ctx, pc, sql, args...)
	return len(rows) == 1, err
}

// DeleteState implements connectors.StateKeeper.
func (c *conn) DeleteState(ctx context.Context, schema, model, target string) error {
	return c.transaction(ctx, modeWrite, func(pc *pgconn.PgConn) error {
		there, err := c.hasState(ctx, pc, schema)
		if err != nil || !there {
			return err
		}
		_, err = c.query(ctx, pc, c.dialect.deleteStateSQL(schema), model, target)
		return err
	})
}

// ensureState creates the table in a transaction of its own: inside a load's it would
// make every other run that needs the table wait for that load.
func (c *conn) ensureState(ctx context.Context, schema string) error {
	rel := c.dialect.stateTable(schema)
	if err := checkIdent("schema", rel.Schema); err != nil {
		return err
	}
	if err := c.createSchema(ctx, rel.Schema); err != nil {
		return err
	}
	return c.session(ctx, func(pc *pgconn.PgConn) error {
		there, err := c.hasState(ctx, pc, schema)
		if err != nil || there {
			return err
		}
		err = c.exec(ctx, pc, c.dialect.createStateSQL(schema))
		if hasCode(err, codeDuplicateTable, codeUniqueViolation, codeDuplicateObject) {
			return nil // another session was quicker, IF NOT EXISTS notwithstanding
		}
		return err
	})
}
