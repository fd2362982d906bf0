package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.StateKeeper = (*conn)(nil)

// stateWait is longer than the lock of a dead run lasts.
const stateWait = (lockVoid + 15) * time.Second

// version is a record and its place among those that were kept for it.
type version struct {
	connectors.StateRecord
	number  uint64
	deleted bool
}

func (c *conn) stateRelation(schema string) connectors.Relation {
	return c.inDatabase(connectors.Relation{Schema: schema, Name: stateTable})
}

// LoadState implements connectors.StateKeeper.
func (c *conn) LoadState(ctx context.Context, schema, model, target string) (*connectors.StateRecord, error) {
	v, err := c.latest(ctx, schema, model, target)
	if err != nil || v == nil || v.deleted {
		return nil, err
	}
	return &v.StateRecord, nil
}

// ListState implements connectors.StateKeeper.
func (c *conn) ListState(ctx context.Context, schema string) (all []connectors.StateRecord, err error) {
	versions, err := c.versions(ctx, schema, "")
	for _, v := range versions {
		if !v.deleted {
			all = append(all, v.StateRecord)
		}
	}
	return all, err
}

// SaveState implements connectors.StateKeeper. The server compares and sets nothing by
// itself: the lock of the state's table makes the two one.
func (c *conn) SaveState(ctx context.Context, s connectors.StateSave) error {
	return c.lockedState(ctx, s.Schema, s.Record.Model, s.Record.Target, func(now *version) (*version, error) {
		switch {
		case s.Previous == nil && now != nil && !now.deleted,
			s.Previous != nil && (now == nil || now.deleted || now.Value != *s.Previous):
			return nil, connectors.ErrStateMoved
		}
		return &version{StateRecord: s.Record}, nil
	})
}

// DeleteState implements connectors.StateKeeper.
func (c *conn) DeleteState(ctx context.Context, schema, model, target string) error {
	v, err := c.latest(ctx, schema, model, target)
	if err != nil || v == nil || v.deleted {
		return err
	}
	return c.lockedState(ctx, schema, model, target, func(now *version) (*version, error) {
		if now == nil || now.deleted {
			return nil, nil
		}
		gone := *now
		gone.deleted = true
		return &gone, nil
	})
}

// lockedState writes what change makes of the latest version.
func (c *conn) lockedState(ctx context.Context, schema, model, target string, change func(now *version) (*version, error)) error {
	rel := c.stateRelation(schema)
	release, err := c.Lock(ctx, rel, stateWait, nil)
	if err != nil {
		return err
	}
	defer release()
	if err := c.run(ctx, false, createStateSQL(relation(rel, "")), nil); err != nil {
		return fmt.Errorf("creating the table of state records: %w", err)
	}
	now, err := c.latest(ctx, schema, model, target)
	if err != nil {
		return err
	}
	next, err := change(now)
	if err != nil || next == nil {
		return err
	}
	if now != nil {
		next.number = now.number
	}
	return c.run(ctx, false, insertStateSQL(relation(rel, ""), next.StateRecord, next.number+1, next.deleted), nil)
}

func (c *conn) latest(ctx context.Context, schema, model, target string) (*version, error) {
	all, err := c.versions(ctx, schema, whereState(model, target))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func (c *conn) versions(ctx context.Context, schema, where string) ([]version, error) {
	rows, err := c.text(ctx, selectStateSQL(relation(c.stateRelation(schema), ""), where))
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	all := make([]version, len(rows))
	for i, r := range rows {
		v := version{StateRecord: connectors.StateRecord{Model: r[0], Target: r[1], UpdateKey: r[2], Value: r[3], ColumnType: r[4], RunID: r[6]}, deleted: r[8] != "0"}
		if v.UpdatedAt, err = time.Parse(time.RFC3339Nano, r[5]); err != nil {
			return nil, fmt.Errorf("reading the state: the record of model %q and %q is unreadable: updated_at is %q", r[0], r[1], r[5])
		}
		if v.number, err = strconv.ParseUint(r[7], 10, 64); err != nil {
			return nil, fmt.Errorf("reading the state: the record of model %q and %q is unreadable: version is %q", r[0], r[1], r[7])
		}
		all[i] = v
	}
	return all, nil
}
