package duckdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.StateKeeper = (*conn)(nil)

// LoadState returns the record, nil if there is none.
func (c *conn) LoadState(ctx context.Context, schema, model, target string) (*connectors.StateRecord, error) {
	all, err := c.states(ctx, schema, whereState(model, target))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// ListState returns all records of a schema.
func (c *conn) ListState(ctx context.Context, schema string) ([]connectors.StateRecord, error) {
	return c.states(ctx, schema, "")
}

func (c *conn) states(ctx context.Context, schema, where string) (all []connectors.StateRecord, err error) {
	s, err := c.session(ctx, reading)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := c.find(ctx, s, c.dialect.stateTable(schema)); err != nil {
		if errors.Is(err, connectors.ErrNotFound) {
			err = nil
		}
		return nil, err
	}
	rows, err := queryTexts(ctx, s, c.dialect.selectState(schema, where))
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		at, err := time.Parse(time.RFC3339Nano, r[5])
		if err != nil && r[5] != "" {
			return nil, fmt.Errorf("reading the state of %s: %w", r[0], err)
		}
		all = append(all, connectors.StateRecord{Model: r[0], Target: r[1], UpdateKey: r[2], Value: r[3], ColumnType: r[4], UpdatedAt: at, RunID: r[6]})
	}
	return all, nil
}

// SaveState is a compare-and-set in a transaction of its own.
func (c *conn) SaveState(ctx context.Context, st connectors.StateSave) (err error) {
	if err := c.ensureState(ctx, st.Schema); err != nil {
		return err
	}
	s, err := c.session(ctx, writing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c.file.swap.Lock()
	defer c.file.swap.Unlock()
	saved, err := c.saveState(ctx, s, st)
	if err == nil && !saved {
		err = connectors.ErrStateMoved
	}
	return err
}

// saveState reports false when the record is not at Previous any more.
func (c *conn) saveState(ctx context.Context, s connectors.Session, st connectors.StateSave) (bool, error) {
	sql := c.dialect.insertState(st.Schema, st.Record)
	if st.Previous != nil {
		sql = c.dialect.updateState(st.Schema, st.Record, *st.Previous)
	}
	n, err := s.Count(ctx, sql)
	return n == 1, err
}

// DeleteState removes a record.
func (c *conn) DeleteState(ctx context.Context, schema, model, target string) (err error) {
	have, err := c.LoadState(ctx, schema, model, target)
	if err != nil || have == nil {
		return err
	}
	return c.Exec(ctx, c.dialect.deleteState(schema, model, target))
}
