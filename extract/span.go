package extract

import (
	"context"
	"fmt"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/chunker"
	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// span counts the rows of x and bounds the chunk column: by one query on the source, or,
// where the source counts or orders differently from DuckDB, over the column itself.
func (j *job) span(ctx context.Context, x *planner.Extract, source reader) (chunker.Span, error) {
	col := x.Relation.Table.Columns[j.chunks.Column]
	s := chunker.Span{Type: col.Type}
	one := connectors.Extract{Table: x.Relation.Table, Columns: []int{j.chunks.Column}, Where: x.Where, Limit: -1}
	q := connectors.Query{SQL: x.Relation.Dialect.Select(one), Columns: []connectors.Column{col}}
	rows := 0
	read := func(rec arrow.RecordBatch) (err error) {
		rows += int(rec.NumRows())
		if rows != 1 || rec.NumCols() != 4 {
			return fmt.Errorf("the probe gave %d rows of %d columns", rows, rec.NumCols())
		}
		s.Rows, s.Nulls = rec.Column(0).(*array.Int64).Value(0), rec.Column(1).(*array.Int64).Value(0)
		if s.Min, err = valueAt(rec.Column(2), col.Type); err == nil {
			s.Max, err = valueAt(rec.Column(3), col.Type)
		}
		return err
	}
	var err error
	in, inline := j.conn.(connectors.Inliner)
	d, spans := x.Relation.Dialect.(connectors.Spanner)
	var native connectors.Query
	if spans && !inline {
		native, spans = d.SelectSpan(one, j.chunks.Column)
	}
	switch {
	case inline:
		var sql string
		var release func()
		if sql, release, err = in.Inline(ctx, q); err == nil {
			err = j.model.Query(ctx, compute.Span(sql, col.Name), false, read)
			release()
		}
	case spans:
		err = source.Read(ctx, native, read)
	default:
		err = j.spanOfRows(ctx, q, source, col, read)
	}
	if err != nil {
		return s, fmt.Errorf("counting the rows and bounding %s: %w", col.Name, err)
	}
	return s, nil
}

// spanOfRows reads the column into the compute engine.
func (j *job) spanOfRows(ctx context.Context, q connectors.Query, source reader, col connectors.Column, read func(arrow.RecordBatch) error) error {
	t, err := j.model.Collect(ctx, "chunk_span", q.Columns)
	if err != nil {
		return err
	}
	err = source.Read(ctx, q, t.Append)
	if e := t.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return j.model.Query(ctx, compute.Span(compute.Selected(compute.Kept("chunk_span")), col.Name), false, read)
}

// valueAt is the first value of a column of a batch.
func valueAt(a arrow.Array, t connectors.Type) (connectors.Value, error) {
	v := connectors.Value{Type: t}
	if a.IsNull(0) {
		v.Null = true
		return v, nil
	}
	whole := func(n int64) { v.Int = big.NewInt(n) }
	switch a := a.(type) {
	case *array.Int8:
		whole(int64(a.Value(0)))
	case *array.Int16:
		whole(int64(a.Value(0)))
	case *array.Int32:
		whole(int64(a.Value(0)))
	case *array.Int64:
		whole(a.Value(0))
	case *array.Uint8:
		whole(int64(a.Value(0)))
	case *array.Uint16:
		whole(int64(a.Value(0)))
	case *array.Uint32:
		whole(int64(a.Value(0)))
	case *array.Uint64:
		v.Int = new(big.Int).SetUint64(a.Value(0))
	case *array.Decimal128:
		v.Int = a.Value(0).BigInt()
	case *array.Date32:
		whole(int64(a.Value(0)))
	case *array.Time64:
		whole(int64(a.Value(0)))
	case *array.Timestamp:
		whole(int64(a.Value(0)))
	case *array.Float32:
		v.Float = float64(a.Value(0))
	case *array.Float64:
		v.Float = a.Value(0)
	default:
		return v, fmt.Errorf("a value of type %s cannot be divided", t)
	}
	return v, nil
}
