package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/dvt-dev/dvt/connectors"
)

// snapshot is one REPEATABLE READ transaction: the server has no way to share it
// between sessions, so its reads run one after another.
type snapshot struct {
	c  *Conn
	mu sync.Mutex
	s  *session
}

// Snapshot begins a read-only transaction whose view is fixed now.
func (c *Conn) Snapshot(ctx context.Context) (connectors.Snapshot, error) {
	s, err := c.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.exec(ctx, snapshotSQL); err != nil {
		s.close()
		return nil, err
	}
	return &snapshot{c: c, s: s}, nil
}

func (*snapshot) Parallel() bool { return false }

func (sn *snapshot) Close() error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	s := sn.s
	if s == nil {
		return nil
	}
	sn.s = nil
	defer sn.c.release(s)
	if s.bad {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	if _, err := s.exec(ctx, "ROLLBACK"); err != nil {
		s.bad = true
		return fmt.Errorf("ending a snapshot: %w", err)
	}
	return nil
}

func (sn *snapshot) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	sn.mu.Lock()
	defer sn.mu.Unlock()
	if sn.s == nil || sn.s.bad {
		return fmt.Errorf("%s: the snapshot has ended", sn.c.where)
	}
	return sn.s.read(ctx, q, emit)
}

// read streams q. Whatever keeps the stream from its end (a cancelled ctx, an error of
// emit, a value that does not fit) ends the statement on the server and the session
// with it: reading the rest of a large result only to throw it away could take hours.
func (s *session) read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	ctx, cancel := s.c.limit(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	run, end := s.guard(ctx)
	whole, err := s.stream(ctx, run, q, emit)
	cerr := end()
	if err == nil {
		return nil
	}
	if !whole {
		if !s.bad {
			s.c.kill(s.id)
		}
		s.close()
	}
	if cerr != nil {
		return cerr
	}
	return err
}

// stream reports whether the server has nothing more to send, besides the error.
func (s *session) stream(ctx, run context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) (whole bool, err error) {
	stmt, err := s.conn.(driver.ConnPrepareContext).PrepareContext(run, q.SQL)
	if err != nil {
		return true, s.fail(q.SQL, err)
	}
	defer func() {
		if whole {
			_ = stmt.Close() // only frees the server's memory; the session lives on without it
		}
	}()
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(run, nil)
	if err != nil {
		return true, s.fail(q.SQL, err)
	}
	r, err := s.c.reader(q, rows)
	if err != nil {
		return false, err
	}
	defer r.release()
	if cols, ok := wireColumns(rows); ok && s.tap.canRows() && !s.c.noTap {
		whole, err = r.runWire(ctx, rows, s.tap, cols, emit)
	} else {
		whole, err = r.run(ctx, rows, emit)
	}
	if whole {
		_ = rows.Close() // at the end of the stream it has nothing to read
	}
	var asEmit *emitError
	switch {
	case err == nil:
		r.report()
	case errors.As(err, &asEmit):
		err = asEmit.error
	case whole:
		err = s.fail(q.SQL, err)
	}
	return whole, err
}

// emitError marks an error as the consumer's own.
type emitError struct{ error }

// reader turns rows into batches.
type reader struct {
	c       *Conn
	schema  *arrow.Schema
	cols    []*decoder
	builder *array.RecordBuilder
	rows    int // in the batch
	room    int // rows that fit into the batch's columns
	like    connectors.Room
	seen    int64 // in the stream
}

func (c *Conn) reader(q connectors.Query, rows driver.Rows) (*reader, error) {
	n := len(rows.Columns())
	if n != len(q.Columns) && !(len(q.Columns) == 0 && n == 1) {
		return nil, fmt.Errorf("%s: the query returns %d columns, %d were expected", c.where, n, len(q.Columns))
	}
	r := &reader{c: c, schema: connectors.ArrowSchema(q.Columns)}
	r.builder = array.NewRecordBuilder(c.allocator(), r.schema)
	for i := range q.Columns {
		d, err := newDecoder(c, &q.Columns[i], r.builder.Field(i), rows, i)
		if err != nil {
			r.release()
			return nil, err
		}
		r.cols = append(r.cols, d)
	}
	return r, nil
}

func (r *reader) release() { r.builder.Release() }

// run reads to the end through the driver: over TLS, or where a type on the wire is not
// known. An error that is not marked and comes with whole is the
// server's.
func (r *reader) run(ctx context.Context, rows driver.Rows, emit func(arrow.RecordBatch) error) (whole bool, err error) {
	dest := make([]driver.Value, len(rows.Columns()))
	size := 0
	for {
		if err := rows.Next(dest); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return true, err
		}
		r.seen++
		r.rows++
		for i, d := range r.cols {
			v := dest[i]
			if v == nil {
				d.null()
				continue
			}
			if b, ok := v.([]byte); ok {
				size += len(b)
			}
			if reason := d.put(v); reason != "" {
				return false, d.fault(v, r.seen, reason)
			}
		}
		size += 8 * len(r.cols)
		if r.rows >= connectors.BatchRows || size >= connectors.BatchBytes {
			if err := r.flush(ctx, emit); err != nil {
				return false, err
			}
			size = 0
		}
	}
	if r.rows > 0 {
		return true, r.flush(ctx, emit)
	}
	return true, nil
}

func (r *reader) flush(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	if err := ctx.Err(); err != nil {
		return &emitError{context.Cause(ctx)}
	}
	var rec arrow.RecordBatch
	if len(r.cols) == 0 {
		rec = array.NewRecordBatch(r.schema, nil, int64(r.rows))
	} else {
		rec = r.builder.NewRecordBatch()
		r.like.Note(rec)
		r.like.Reserve(r.builder)
	}
	r.rows = 0
	defer rec.Release()
	if err := emit(rec); err != nil {
		return &emitError{err}
	}
	return nil
}

// report warns of zero and partial dates that became NULL.
func (r *reader) report() {
	for _, d := range r.cols {
		if d.zeros > 0 {
			r.c.zeros.Add(d.zeros)
			r.c.log.Warn("zero or partial dates are read as NULL; zero_dates: error refuses them", "column", d.col.Name, "values", d.zeros)
		}
	}
}
