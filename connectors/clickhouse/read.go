package clickhouse

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// Read runs q in a session that cannot write. ClickHouse gives no snapshot over
// several reads: each sees the parts that existed at its own start.
func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	s := &batchSink{cols: q.Columns, schema: connectors.ArrowSchema(q.Columns), emit: emit}
	s.dec.alloc = c.alloc
	defer s.drop()
	return c.run(ctx, true, q.SQL, s)
}

// batchSink turns blocks into record batches.
type batchSink struct {
	cols   []connectors.Column
	schema *arrow.Schema
	emit   func(arrow.RecordBatch) error
	dec    decoder
	rows   int
	arrays []arrow.Array
	types  []*chType // of the result's columns, parsed once
	texts  []string
}

func (s *batchSink) begin(cols, rows int) error {
	s.rows = rows
	if cols == 0 && rows == 0 {
		return nil
	}
	if cols != len(s.cols) && (len(s.cols) > 0 || cols != 1) {
		return fmt.Errorf("the server returned %d columns where %d were asked for", cols, len(s.cols))
	}
	return nil
}

func (s *batchSink) column(in *input, i, rows int, name, typ string) error {
	if len(s.cols) == 0 { // only the number of rows matters
		return (&discard{}).column(in, i, rows, name, typ)
	}
	if i >= len(s.types) {
		t, err := parseType(typ)
		if err != nil {
			return err
		}
		s.types, s.texts = append(s.types, t), append(s.texts, typ)
	}
	if s.texts[i] != typ {
		return fmt.Errorf("column %q changed its type from %s to %s in the middle of the result", s.cols[i].Name, s.texts[i], typ)
	}
	s.dec.in, s.dec.name = in, s.cols[i].Name
	a, err := s.dec.column(s.types[i], rows, s.cols[i].Type)
	if err == nil {
		s.arrays = append(s.arrays, a)
	}
	return err
}

func (s *batchSink) drop() {
	for _, a := range s.arrays {
		a.Release()
	}
	s.arrays = s.arrays[:0]
}

func (s *batchSink) end() error {
	defer s.drop()
	if s.rows == 0 {
		return nil
	}
	rec := array.NewRecordBatch(s.schema, s.arrays, int64(s.rows))
	defer rec.Release()
	s.dec.first += int64(s.rows)
	step := s.step()
	if step >= int64(s.rows) {
		return s.emit(rec)
	}
	for at := int64(0); at < int64(s.rows); at += step {
		part := rec.NewSlice(at, min(at+step, int64(s.rows)))
		err := s.emit(part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// step is how many rows of this block go into one batch.
func (s *batchSink) step() int64 {
	var bytes int64
	for _, a := range s.arrays {
		bytes += int64(a.Data().SizeInBytes())
	}
	step := min(int64(s.rows), connectors.BatchRows)
	if bytes > connectors.BatchBytes {
		step = min(step, max(1, int64(s.rows)*connectors.BatchBytes/bytes))
	}
	return step
}
