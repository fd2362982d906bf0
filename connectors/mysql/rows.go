package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
)

// Rows implements connectors.Builder. The statement is sent as it stands: as a derived
// table it would lose its ORDER BY.
func (c *Conn) Rows(ctx context.Context, sql string, sink connectors.TextSink) error {
	return c.with(ctx, func(s *session) error {
		if _, err := s.exec(ctx, beginReadSQL); err != nil {
			return err
		}
		err := s.textRows(ctx, connectors.TrimSelect(sql), sink)
		if err != nil {
			s.bad = true // its transaction is open, and rows may be on their way
			return err
		}
		_, err = s.exec(ctx, "COMMIT")
		return err
	})
}

func (s *session) textRows(ctx context.Context, sql string, sink connectors.TextSink) error {
	ctx, cancel := s.c.limit(ctx)
	defer cancel()
	run, end := s.guard(ctx)
	run, stop := context.WithCancel(run)
	defer stop()
	err := s.rawTextRows(run, stop, sql, sink)
	if cerr := end(); cerr != nil && err != nil {
		return cerr
	}
	return err
}

func (s *session) rawTextRows(ctx context.Context, stop func(), sql string, sink connectors.TextSink) (err error) {
	rows, err := s.conn.(driver.QueryerContext).QueryContext(ctx, sql, nil)
	if err != nil {
		return s.fail(sql, err)
	}
	defer func() {
		if err != nil {
			stop() // closing would read all that is left
		}
		if cerr := rows.Close(); cerr != nil && err == nil {
			err = s.fail(sql, cerr)
		}
	}()
	typed, _ := rows.(driver.RowsColumnTypeDatabaseTypeName)
	cols := make([]connectors.Column, len(rows.Columns()))
	for i, name := range rows.Columns() {
		cols[i] = connectors.Column{Name: name, Nullable: true}
		if typed != nil {
			cols[i].Type = sourceType(driverType(typed.ColumnTypeDatabaseTypeName(i)), 0, false)
		}
	}
	if err := sink.Columns(cols); err != nil {
		return err
	}
	dest := make([]driver.Value, len(cols))
	for {
		if err := rows.Next(dest); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return s.fail(sql, err)
		}
		values := make([]*string, len(dest))
		for i, v := range dest {
			if v == nil {
				continue
			}
			text := fmt.Sprint(v)
			if b, ok := v.([]byte); ok {
				text = string(b)
			}
			values[i] = &text
		}
		if err := sink.Row(values); err != nil {
			return err
		}
	}
}

// driverType is the driver's name of a type as MySQL writes it.
func driverType(name string) string {
	name, unsigned := strings.CutPrefix(strings.ToLower(name), "unsigned ")
	if unsigned {
		name += " unsigned"
	}
	return name
}
