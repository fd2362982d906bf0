package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// Appender fills one table. Rows become visible in steps while it runs, unless the
// session is in a transaction.
type Appender struct {
	ctx    context.Context
	conn   *Conn
	handle bindings.Appender
	types  []bindings.LogicalType
	chunk  bindings.DataChunk
	cols   []*writer
	schema *arrow.Schema // the one checked last
	rows   int64
	err    error // what ended it
	closed bool
}

// Appender opens an appender on an existing table whose columns are cols, in order.
// The session can be used for other statements between its calls.
func (c *Conn) Appender(ctx context.Context, catalog, schema, table string, cols []connectors.Column) (connectors.Appender, error) {
	where := catalog + schema + table
	if strings.IndexByte(where, 0) >= 0 {
		return nil, errors.New("appending: the table's name has a NUL byte")
	}
	end, err := c.begin(ctx, where)
	if err != nil {
		return nil, err
	}
	a := &Appender{ctx: ctx, conn: c}
	if err := a.open(catalog, schema, table, cols); err != nil {
		a.free()
		return nil, end(fmt.Errorf("appending to %s.%s: %w", schema, table, err))
	}
	return a, end(nil)
}

func (a *Appender) open(catalog, schema, table string, cols []connectors.Column) error {
	if bindings.AppenderCreateExt(a.conn.handle, catalog, schema, table, &a.handle) == bindings.StateError {
		return statementError("", bindings.AppenderError(a.handle))
	}
	n := int(bindings.AppenderColumnCount(a.handle))
	if n != len(cols) {
		return fmt.Errorf("the table has %d columns, not %d", n, len(cols))
	}
	for i, col := range cols {
		lt := bindings.AppenderColumnType(a.handle, bindings.IdxT(i))
		a.types = append(a.types, lt)
		l, err := layoutOf(col.Name, lt)
		if err != nil {
			return err
		}
		if !l.typ.Equal(col.Type) || l.id == bindings.TypeEnum || l.id == bindings.TypeTimestampS || l.id == bindings.TypeTimestampMS {
			return fmt.Errorf("column %q of the table is no %s", col.Name, col.Type)
		}
		a.cols = append(a.cols, newWriter(col.Name, l))
	}
	a.chunk = bindings.CreateDataChunk(a.types)
	return nil
}

// Append adds the rows of rec. After an error the table's content is undefined.
func (a *Appender) Append(rec arrow.RecordBatch) error {
	if a.closed || a.err != nil {
		return errors.Join(errors.New("appending: the appender has ended"), a.err)
	}
	if err := a.check(rec); err != nil {
		return err
	}
	end, err := a.conn.begin(a.ctx, "")
	if err != nil {
		return err
	}
	a.err = end(a.append(rec))
	return a.err
}

func (a *Appender) check(rec arrow.RecordBatch) error {
	if rec.Schema() == a.schema {
		return nil
	}
	if int(rec.NumCols()) != len(a.cols) {
		return fmt.Errorf("appending: the batch has %d columns, the table %d", rec.NumCols(), len(a.cols))
	}
	for i, w := range a.cols {
		if got := rec.Column(i).DataType(); !sameLayout(got, w.typ.Arrow()) {
			return fmt.Errorf("appending: column %q comes as %s, not as %s", w.name, got, w.typ.Arrow())
		}
	}
	a.schema = rec.Schema()
	return nil
}

// sameLayout compares Arrow types without the names and nullability of nested fields.
func sameLayout(a, b arrow.DataType) bool {
	if a.ID() != b.ID() {
		return false
	}
	switch a := a.(type) {
	case *arrow.MapType:
		b := b.(*arrow.MapType)
		return sameLayout(a.KeyType(), b.KeyType()) && sameLayout(a.ItemType(), b.ItemType())
	case *arrow.ListType:
		return sameLayout(a.Elem(), b.(*arrow.ListType).Elem())
	case *arrow.StructType:
		b := b.(*arrow.StructType)
		if a.NumFields() != b.NumFields() {
			return false
		}
		for i, f := range a.Fields() {
			if f.Name != b.Field(i).Name || !sameLayout(f.Type, b.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return arrow.TypeEqual(a, b)
}

func (a *Appender) append(rec arrow.RecordBatch) error {
	for from := 0; from < int(rec.NumRows()); from += vectorSize {
		n := min(vectorSize, int(rec.NumRows())-from)
		if err := a.ctx.Err(); err != nil {
			return err
		}
		if err := a.appendChunk(rec, from, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *Appender) appendChunk(rec arrow.RecordBatch, from, n int) error {
	bindings.DataChunkReset(a.chunk)
	var pins pinned
	defer pins.release()
	if err := fillChunk(a.cols, a.chunk, rec, from, n, a.rows, &pins); err != nil {
		return err
	}
	a.rows += int64(n)
	if bindings.AppendDataChunk(a.handle, a.chunk) == bindings.StateError {
		return statementError("", bindings.AppenderError(a.handle))
	}
	return nil
}

// fillChunk puts n rows of rec into an empty chunk, whose values may point into rec. Errors name
// a row by its place among all, of which before came first.
func fillChunk(writers []*writer, chunk bindings.DataChunk, rec arrow.RecordBatch, from, n int, before int64, pins *pinned) error {
	for i, w := range writers {
		v := bindings.DataChunkGetVector(chunk, bindings.IdxT(i))
		if err := w.write(v, rec.Column(i), from, n, pins); err != nil {
			var bad *connectors.ValueError
			if errors.As(err, &bad) {
				bad.Row = fmt.Sprint(before + int64(w.row-from) + 1)
			}
			return err
		}
	}
	bindings.DataChunkSetSize(chunk, bindings.IdxT(n))
	return nil
}

// Close flushes what Append took; the rows are there only if it returns nil.
func (a *Appender) Close() error {
	if a.closed {
		return nil
	}
	a.closed = true
	if a.err != nil {
		a.free()
		return fmt.Errorf("appending: %w", a.err)
	}
	end, err := a.conn.begin(a.ctx, "")
	if err != nil {
		a.err = err
		a.free()
		return err
	}
	if bindings.AppenderFlush(a.handle) == bindings.StateError {
		err = statementError("", bindings.AppenderError(a.handle))
	}
	a.err = end(err)
	a.free()
	return a.err
}

// free drops the appender; rows not flushed yet are dropped with it when something went
// wrong, for DuckDB would otherwise flush them here.
func (a *Appender) free() {
	if a.err != nil {
		bindings.AppenderClear(a.handle)
	}
	if a.chunk.Ptr != nil {
		bindings.DestroyDataChunk(&a.chunk)
	}
	for i := range a.types {
		bindings.DestroyLogicalType(&a.types[i])
	}
	a.types = nil
	bindings.AppenderDestroy(&a.handle)
}
