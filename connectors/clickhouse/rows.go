package clickhouse

import (
	"context"

	"github.com/dvt-dev/dvt/connectors"
)

// Rows implements connectors.Builder.
func (c *conn) Rows(ctx context.Context, sql string, sink connectors.TextSink) error {
	cols, err := c.ResultColumns(ctx, sql)
	if err == nil {
		err = sink.Columns(cols)
	}
	if err != nil {
		return err
	}
	return c.run(ctx, false, textRowsSQL(sql, cols), &rowSink{sink: sink})
}

// rowSink hands on the rows of textRowsSQL.
type rowSink struct {
	sink connectors.TextSink
	textSink
}

func (t *rowSink) begin(cols, rows int) error {
	t.rows = t.rows[:0]
	return t.textSink.begin(cols, rows)
}

func (t *rowSink) end() error {
	for _, row := range t.rows {
		values := make([]*string, len(row))
		for i, text := range row {
			if text != "" {
				text = text[1:]
				values[i] = &text
			}
		}
		if err := t.sink.Row(values); err != nil {
			return err
		}
	}
	t.rows = nil
	return nil
}
