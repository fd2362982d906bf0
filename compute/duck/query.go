package duck

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// Columns describes what a SELECT returns without running it.
func (c *Conn) Columns(ctx context.Context, sql string) (cols []connectors.Column, err error) {
	end, err := c.begin(ctx, sql)
	if err != nil {
		return nil, err
	}
	stmt, err := c.prepare(sql)
	if err != nil {
		return nil, end(err)
	}
	defer bindings.DestroyPrepare(&stmt)
	cols, _, err = describe(stmt)
	return cols, end(err)
}

// Explain is DuckDB's plan of a SELECT, in JSON, without running it.
func (c *Conn) Explain(ctx context.Context, sql string) (plan string, err error) {
	sql = "EXPLAIN (FORMAT json) " + sql
	err = c.run(ctx, sql, func(res *bindings.Result) error {
		if bindings.ColumnCount(res) != 2 {
			return fmt.Errorf("explaining: %d columns", bindings.ColumnCount(res))
		}
		chunk := bindings.FetchChunk(*res)
		if chunk.Ptr == nil {
			return errors.New("explaining: no row")
		}
		defer bindings.DestroyDataChunk(&chunk)
		v := vectorOf(bindings.DataChunkGetVector(chunk, 1))
		plan = string(slots[stringT](v, 0, 1)[0].bytes())
		return nil
	})
	return plan, err
}

// prepare compiles a SELECT. DuckDB turns a PIVOT without a list of values into a
// CREATE TYPE and a SELECT: the former is run here, for the latter binds to it.
func (c *Conn) prepare(sql string) (stmt bindings.PreparedStatement, err error) {
	var parts bindings.ExtractedStatements
	n := bindings.ExtractStatements(c.handle, sql, &parts)
	defer bindings.DestroyExtracted(&parts)
	if n == 0 {
		if msg := bindings.ExtractStatementsError(parts); msg != "" {
			return stmt, statementError(sql, msg)
		}
		return stmt, &connectors.StatementError{SQL: sql, Position: -1, Err: errors.New("there is no statement")}
	}
	for i := range n {
		if bindings.PrepareExtractedStatement(c.handle, parts, i, &stmt) == bindings.StateError {
			err = statementError(sql, bindings.PrepareError(stmt))
		} else if i+1 < n {
			err = runPivotType(sql, stmt)
		} else if bindings.PreparedStatementType(stmt) != bindings.StatementTypeSelect || bindings.NParams(stmt) > 0 {
			err = &connectors.StatementError{SQL: sql, Position: -1, Err: errors.New("it is not one SELECT without parameters")}
		}
		if err != nil || i+1 < n {
			bindings.DestroyPrepare(&stmt)
		}
		if err != nil {
			return stmt, err
		}
	}
	return stmt, nil
}

func runPivotType(sql string, stmt bindings.PreparedStatement) error {
	if bindings.PreparedStatementType(stmt) != bindings.StatementTypeCreate {
		return &connectors.StatementError{SQL: sql, Position: -1, Err: errors.New("there is more than one statement")}
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	if bindings.ExecutePrepared(stmt, &res) == bindings.StateError {
		return statementError(sql, bindings.ResultError(&res))
	}
	return nil
}

func describe(stmt bindings.PreparedStatement) ([]connectors.Column, []layout, error) {
	n := int(bindings.PreparedStatementColumnCount(stmt))
	cols, layouts := make([]connectors.Column, n), make([]layout, n)
	for i := range n {
		name := bindings.PreparedStatementColumnName(stmt, bindings.IdxT(i))
		l, err := own(name, bindings.PreparedStatementColumnLogicalType(stmt, bindings.IdxT(i)))
		if err != nil {
			return nil, nil, err
		}
		layouts[i] = l
		cols[i] = connectors.Column{Name: name, Type: l.typ, Nullable: true}
	}
	return cols, layouts, nil
}

// Query streams the rows of a SELECT in batches of at most connectors.BatchRows rows and
// about connectors.BatchBytes bytes. A result without rows emits nothing.
func (c *Conn) Query(ctx context.Context, sql string, emit func(arrow.RecordBatch) error) error {
	end, err := c.begin(ctx, sql)
	if err != nil {
		return err
	}
	err = c.query(ctx, sql, emit)
	return end(told(ctx, err, func() error {
		return c.query(ctx, sql, func(arrow.RecordBatch) error { return nil })
	}))
}

func (c *Conn) query(ctx context.Context, sql string, emit func(arrow.RecordBatch) error) error {
	stmt, err := c.prepare(sql)
	if err != nil {
		return err
	}
	defer bindings.DestroyPrepare(&stmt)
	cols, layouts, err := describe(stmt)
	if err != nil {
		return err
	}
	res, err := execute(sql, stmt)
	if err != nil {
		return err
	}
	defer bindings.DestroyResult(&res)
	b := newBatcher(c.mem, cols, layouts)
	defer b.release()
	for {
		var chunk bindings.DataChunk
		if bindings.StreamFetchChunk(res, &chunk) == bindings.StateError {
			if msg := bindings.ResultError(&res); msg != "" {
				return statementError(sql, msg)
			}
			return b.flush(emit)
		}
		err := b.add(chunk, func(rec arrow.RecordBatch) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return emit(rec)
		})
		bindings.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
}

// execute starts stmt such that its rows are computed as they are fetched. The call for
// it is deprecated in the C API without a successor: the others gather the result.
func execute(sql string, stmt bindings.PreparedStatement) (res bindings.Result, err error) {
	var pending bindings.PendingResult
	defer bindings.DestroyPending(&pending)
	if bindings.PendingPreparedStreaming(stmt, &pending) == bindings.StateError {
		return res, statementError(sql, bindings.PendingError(pending))
	}
	finish(pending)
	if bindings.ExecutePending(pending, &res) == bindings.StateError {
		defer bindings.DestroyResult(&res)
		return res, statementError(sql, bindings.ResultError(&res))
	}
	if !bindings.ResultIsStreaming(res) {
		defer bindings.DestroyResult(&res)
		return res, fmt.Errorf("reading rows: duckdb gathered the result instead of streaming it")
	}
	return res, nil
}

// batcher gathers chunks into record batches.
type batcher struct {
	schema *arrow.Schema
	cols   []*column
	rows   int
}

func newBatcher(mem allocator, cols []connectors.Column, layouts []layout) *batcher {
	b := &batcher{schema: connectors.ArrowSchema(cols)}
	for i, l := range layouts {
		b.cols = append(b.cols, newColumn(mem, cols[i].Name, l))
	}
	return b
}

// add takes the rows of one chunk, in parts where they are large, and emits each batch
// that is full.
func (b *batcher) add(chunk bindings.DataChunk, emit func(arrow.RecordBatch) error) error {
	n := int(bindings.DataChunkGetSize(chunk))
	vecs := make([]vector, len(b.cols))
	for i := range vecs {
		vecs[i] = vectorOf(bindings.DataChunkGetVector(chunk, bindings.IdxT(i)))
	}
	for from := 0; from < n; {
		part, size := b.fit(vecs, from, n-from)
		if b.rows > 0 && (b.rows+part > connectors.BatchRows || b.bytes()+size > connectors.BatchBytes) {
			if err := b.flush(emit); err != nil {
				return err
			}
		}
		for i, c := range b.cols {
			if err := c.append(vecs[i], from, part); err != nil {
				return err
			}
		}
		b.rows += part
		from += part
	}
	return nil
}

// fit halves the rows from a chunk until they are no more than a batch holds.
func (b *batcher) fit(vecs []vector, from, n int) (rows, size int) {
	for {
		size = 0
		for i, c := range b.cols {
			size += c.size(vecs[i], from, n)
		}
		if size <= connectors.BatchBytes || n == 1 {
			return n, size
		}
		n = (n + 1) / 2
	}
}

func (b *batcher) bytes() int {
	n := 0
	for _, c := range b.cols {
		n += c.held()
	}
	return n
}

// flush emits what has been gathered, if anything.
func (b *batcher) flush(emit func(arrow.RecordBatch) error) error {
	if b.rows == 0 {
		return nil
	}
	arrs := make([]arrow.Array, len(b.cols))
	for i, c := range b.cols {
		data := c.take()
		arrs[i] = array.MakeFromData(data)
		data.Release()
	}
	rec := array.NewRecordBatch(b.schema, arrs, int64(b.rows))
	b.rows = 0
	for _, a := range arrs {
		a.Release()
	}
	defer rec.Release()
	return emit(rec)
}

func (b *batcher) release() {
	for _, c := range b.cols {
		c.release()
	}
}
