package duckdb

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// queryText is the first value of a catalog query, "" if there is no row.
func queryText(ctx context.Context, s connectors.Session, sql string) (string, error) {
	rows, err := queryTexts(ctx, s, sql)
	if err != nil || len(rows) == 0 {
		return "", err
	}
	return rows[0][0], nil
}

// Rows implements connectors.Builder.
func (c *conn) Rows(ctx context.Context, sql string, sink connectors.TextSink) (err error) {
	s, err := c.session(ctx, reading)
	if errors.Is(err, connectors.ErrNotFound) { // the file does not exist yet
		s, err = c.session(ctx, writing)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	cols, err := s.Columns(ctx, sql)
	if err == nil {
		err = sink.Columns(cols)
	}
	if err != nil {
		return err
	}
	return s.Query(ctx, textRows(sql, cols), func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			if err := sink.Row(connectors.TextValues(rec, i)); err != nil {
				return err
			}
		}
		return nil
	})
}
