package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var _ connectors.StateKeeper = (*conn)(nil)

// LoadState returns the record, nil if there is none, or no table, or no file.
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
	rel := c.d.stateTable(schema)
	if err := c.knows(rel); err != nil {
		return nil, err
	}
	if _, err := os.Stat(c.path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, release, err := c.reader(ctx)
	if errors.Is(err, connectors.ErrNotFound) {
		return nil, nil // no file yet
	}
	if err != nil {
		return nil, err
	}
	defer release()
	if there, err := c.there(ctx, s, rel); err != nil || !there {
		return nil, err
	}
	err = s.rows(ctx, c.d.selectState(schema, where), func(st *stmt) error {
		rec, err := scanState(st)
		if err != nil {
			return fmt.Errorf("the state record of model %q and target %q cannot be read: %w", st.text(0), st.text(1), err)
		}
		all = append(all, rec)
		return nil
	})
	return all, err
}

func (c *conn) there(ctx context.Context, s *session, rel connectors.Relation) (there bool, err error) {
	err = s.rows(ctx, c.d.findRelation(rel), func(*stmt) error {
		there = true
		return nil
	})
	return there, err
}

func scanState(st *stmt) (rec connectors.StateRecord, err error) {
	var v [7]string
	for i := range v {
		if st.null(i) {
			return rec, fmt.Errorf("column %s is NULL", st.column(i))
		}
		v[i] = st.text(i)
	}
	at, err := time.Parse(time.RFC3339Nano, v[5])
	return connectors.StateRecord{Model: v[0], Target: v[1], UpdateKey: v[2], Value: v[3], ColumnType: v[4], UpdatedAt: at.UTC(), RunID: v[6]}, err
}

// SaveState is a compare-and-set in a transaction of its own.
func (c *conn) SaveState(ctx context.Context, save connectors.StateSave) error {
	saved := false
	err := c.write(ctx, c.d.stateTable(save.Schema), func(s *session) (err error) {
		saved, err = c.saveState(ctx, s, save)
		return err
	})
	if err == nil && !saved {
		err = connectors.ErrStateMoved
	}
	return err
}

// saveState reports false when the record is not at Previous any more. The caller holds
// the file's write transaction.
func (c *conn) saveState(ctx context.Context, s *session, save connectors.StateSave) (bool, error) {
	sql := c.d.insertState(save.Schema, save.Record)
	if save.Previous != nil {
		sql = c.d.updateState(save.Schema, save.Record, *save.Previous)
	}
	if err := s.exec(ctx, c.d.createState(save.Schema)); err != nil {
		return false, err
	}
	n, err := s.change(ctx, sql)
	return n == 1, err
}

// DeleteState removes a record, if there is one.
func (c *conn) DeleteState(ctx context.Context, schema, model, target string) error {
	rel := c.d.stateTable(schema)
	if _, err := os.Stat(c.fileOf(rel).path); errors.Is(err, fs.ErrNotExist) {
		return nil // and no reason to create the file
	}
	return c.write(ctx, rel, func(s *session) error {
		if there, err := c.there(ctx, s, rel); err != nil || !there {
			return err
		}
		return s.exec(ctx, c.d.deleteState(schema, model, target))
	})
}

// write runs f in a write transaction on the file of rel.
func (c *conn) write(ctx context.Context, rel connectors.Relation, f func(*session) error) error {
	if err := c.knows(rel); err != nil {
		return err
	}
	s, err := c.writer(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	unlock, err := c.fileOf(rel).write(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err = s.exec(ctx, beginWrite); err != nil {
		return err
	}
	if err = f(s); err == nil {
		err = s.exec(ctx, commit)
	}
	if s.inTransaction() {
		_ = s.exec(context.WithoutCancel(ctx), rollback)
	}
	return err
}
