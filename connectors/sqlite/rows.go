package sqlite

// #include "lite.h"
import "C"

import (
	"context"
	"errors"

	"github.com/dvt-dev/dvt/connectors"
)

// Rows implements connectors.Builder. Columns that no table declares have the type of the
// first row's values.
func (c *conn) Rows(ctx context.Context, sql string, sink connectors.TextSink) error {
	s, release, err := c.reader(ctx)
	if errors.Is(err, connectors.ErrNotFound) { // the file does not exist yet
		if s, err = c.writer(ctx); err == nil {
			release = s.close
		}
	}
	if err != nil {
		return err
	}
	defer release()
	cols, err := s.resultColumns(sql)
	if err != nil {
		return err
	}
	first := true
	err = s.rows(ctx, sql, func(r *stmt) error {
		if first {
			for i := range cols {
				if cols[i].Native == "" {
					cols[i].Type = connectors.T(map[int]connectors.Kind{C.LITE_INTEGER: connectors.BigInt, C.LITE_FLOAT: connectors.Double}[r.class(i)])
				}
			}
			if err := sink.Columns(cols); err != nil {
				return err
			}
			first = false
		}
		values := make([]*string, len(cols))
		for i := range values {
			if !r.null(i) {
				text := r.text(i)
				values[i] = &text
			}
		}
		return sink.Row(values)
	})
	if err == nil && first {
		err = sink.Columns(cols)
	}
	return err
}
