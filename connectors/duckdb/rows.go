package duckdb

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// queryTexts gathers a catalog query whose columns are all VARCHAR; NULL is "".
func queryTexts(ctx context.Context, s connectors.Session, sql string) (rows [][]string, err error) {
	err = s.Query(ctx, sql, func(rec arrow.RecordBatch) error {
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for j := range row {
				if col := rec.Column(j).(*array.String); col.IsValid(i) {
					row[j] = string([]byte(col.Value(i)))
				}
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

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
			values := make([]*string, rec.NumCols())
			for j := range values {
				if col := rec.Column(j).(*array.String); col.IsValid(i) {
					text := strings.Clone(col.Value(i))
					values[j] = &text
				}
			}
			if err := sink.Row(values); err != nil {
				return err
			}
		}
		return nil
	})
}
