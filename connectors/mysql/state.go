package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.StateKeeper = (*Conn)(nil)

// LoadState implements connectors.StateKeeper.
func (c *Conn) LoadState(ctx context.Context, schema, model, target string) (*connectors.StateRecord, error) {
	all, err := c.states(ctx, schema, whereState(model, target))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// ListState implements connectors.StateKeeper.
func (c *Conn) ListState(ctx context.Context, schema string) ([]connectors.StateRecord, error) {
	return c.states(ctx, schema, "")
}

func (c *Conn) states(ctx context.Context, schema, where string) (all []connectors.StateRecord, err error) {
	err = c.anywhere(ctx, func(s *session) error {
		rows, err := s.rows(ctx, selectStateSQL(c.stateSchema(schema), where))
		if isMissing(err) {
			return nil
		}
		for _, r := range rows {
			rec, err := stateRecord(r)
			if err != nil {
				return err
			}
			all = append(all, rec)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	return all, nil
}

func stateRecord(r []cell) (rec connectors.StateRecord, err error) {
	for i, v := range r {
		if v.null {
			return rec, fmt.Errorf("the record of model %q and %q is unreadable: its column number %d is NULL", r[0].s, r[1].s, i+1)
		}
	}
	rec = connectors.StateRecord{Model: r[0].s, Target: r[1].s, UpdateKey: r[2].s, Value: r[3].s, ColumnType: r[4].s, RunID: r[6].s}
	if rec.UpdatedAt, err = time.Parse(time.RFC3339Nano, r[5].s); err != nil {
		return rec, fmt.Errorf("the record of model %q and %q is unreadable: updated_at is %s", r[0].s, r[1].s, r[5].s)
	}
	return rec, nil
}

// SaveState implements connectors.StateKeeper.
func (c *Conn) SaveState(ctx context.Context, save connectors.StateSave) error {
	return c.anywhere(ctx, func(s *session) error {
		if err := s.ensureState(ctx, save.Schema); err != nil {
			return err
		}
		saved, err := s.saveState(ctx, save)
		if err == nil && !saved {
			err = connectors.ErrStateMoved
		}
		return err
	})
}

// DeleteState implements connectors.StateKeeper.
func (c *Conn) DeleteState(ctx context.Context, schema, model, target string) error {
	return c.anywhere(ctx, func(s *session) error {
		_, err := s.exec(ctx, deleteStateSQL(c.stateSchema(schema), model, target))
		if isMissing(err) {
			return nil
		}
		return err
	})
}

func (c *Conn) stateSchema(schema string) string {
	if schema == "" {
		return c.schema
	}
	return schema
}

// anywhere runs f on a session, also where the connection's own database does not exist
// yet.
func (c *Conn) anywhere(ctx context.Context, f func(s *session) error) error {
	s, err := c.acquire(ctx)
	if isCode(err, errUnknownDatabase) {
		if s, err = c.open(ctx, "", false); err == nil {
			defer s.close()
			return f(s)
		}
	}
	if err != nil {
		return err
	}
	defer c.release(s)
	return f(s)
}

// ensureState makes the table of state records. It commits.
func (s *session) ensureState(ctx context.Context, schema string) error {
	schema = s.c.stateSchema(schema)
	kind, err := s.kind(ctx, stateRelation(schema))
	if err != nil || kind != "" {
		return err
	}
	if err := s.ensureDatabase(ctx, schema); err != nil {
		return err
	}
	if _, err := s.exec(ctx, dialect{s.c}.createStateSQL(schema)); err != nil {
		return fmt.Errorf("creating the table of state records: %w", err)
	}
	return nil
}

// saveState is a compare-and-set: false when the record is not at Previous any more. The
// row's lock makes it one, inside a transaction and outside.
func (s *session) saveState(ctx context.Context, save connectors.StateSave) (bool, error) {
	schema := s.c.stateSchema(save.Schema)
	if save.Previous != nil {
		n, err := s.exec(ctx, updateStateSQL(schema, save.Record, *save.Previous))
		return n == 1, err
	}
	_, err := s.exec(ctx, insertStateSQL(schema, save.Record))
	if isCode(err, errDuplicate) {
		return false, nil
	}
	return err == nil, err
}
