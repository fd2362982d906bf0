package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dvt-dev/dvt/connectors"
)

// Read implements connectors.Conn.
func (c *conn) Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	return c.transaction(ctx, modeRead, func(pc *pgconn.PgConn) error { return c.copyTo(ctx, pc, planSQL(q.SQL), q, emit) })
}

// copyTo streams q in the open transaction of pc. The statement is described first:
// the types that the server is going to send then choose the decoders, and a relation
// altered since it was described is an error instead of bytes read as something else. plan
// is planSQL, or "" in a snapshot that has been taken.
func (c *conn) copyTo(ctx context.Context, pc *pgconn.PgConn, plan string, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	desc, err := pc.Prepare(ctx, "", q.SQL, nil)
	if err != nil {
		return c.statementError(q.SQL, 0, err)
	}
	// Only SQL_ASCII lets bytes through that are no text in any encoding.
	checkUTF8 := pc.ParameterStatus("server_encoding") == "SQL_ASCII"
	dec, err := newDecoder(c.mem, q.Columns, desc.Fields, checkUTF8, emit)
	if err != nil {
		return err
	}
	defer dec.release()

	// The stream is stopped from inside by cancelling the statement: returning an
	// error from Write would make the driver drop the connection while the server
	// still works.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dec.stop = cancel
	tag, err := pc.CopyTo(ctx, dec, plan+copyToSQL(q.SQL))
	switch {
	case dec.err != nil:
		return dec.err
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return c.statementError(q.SQL, utf8.RuneCountInString(plan)+len(copyToPrefix), err)
	}
	return dec.finish(tag.RowsAffected())
}

// decoder is the io.Writer that a COPY runs into: it turns binary tuples into batches.
type decoder struct {
	cols    []columnDecoder
	names   []string
	builder *array.RecordBuilder
	schema  *arrow.Schema
	emit    func(arrow.RecordBatch) error
	stop    func()

	carry   []byte // the head of a tuple that has not arrived whole
	started bool   // the header has been read
	ended   bool   // the trailer has been read
	rows    int64  // rows decoded
	batch   int    // rows of them in the builder
	bytes   int    // their size on the wire
	room    connectors.Room
	err     error
}

// columnDecoder appends values of one column to its builder.
type columnDecoder struct {
	value func([]byte) error
	null  func()
}

// copyHeader opens every binary COPY; flags and the extension's length follow.
var copyHeader = []byte("PGCOPY\n\xff\r\n\x00")

func newDecoder(mem memory.Allocator, cols []connectors.Column, fields []pgconn.FieldDescription, checkUTF8 bool,
	emit func(arrow.RecordBatch) error) (*decoder, error) {
	d := &decoder{schema: connectors.ArrowSchema(cols), emit: emit}
	if len(cols) != len(fields) && len(cols) != 0 {
		return nil, fmt.Errorf("reading: the statement returns %d columns, expected are %d", len(fields), len(cols))
	}
	d.builder = array.NewRecordBuilder(mem, d.schema)
	for i, f := range fields {
		if len(cols) == 0 { // only the number of rows matters
			d.cols = append(d.cols, columnDecoder{func([]byte) error { return nil }, func() {}})
			d.names = append(d.names, f.Name)
			continue
		}
		b := d.builder.Field(i)
		value, err := valueDecoder(b, cols[i].Type, f.DataTypeOID, checkUTF8)
		if err != nil {
			d.builder.Release()
			return nil, &connectors.TypeError{Column: cols[i].Name, Native: cols[i].Native, Reason: err.Error()}
		}
		d.cols = append(d.cols, columnDecoder{value, b.AppendNull})
		d.names = append(d.names, cols[i].Name)
	}
	return d, nil
}

func (d *decoder) release() { d.builder.Release() }

// Write implements io.Writer. A failure is kept in err and stops the statement; what
// the server has sent by then is thrown away.
func (d *decoder) Write(p []byte) (int, error) {
	if d.err != nil {
		return len(p), nil
	}
	b := p
	if len(d.carry) > 0 {
		d.carry = append(d.carry, p...)
		b = d.carry
	}
	n, err := d.consume(b)
	if err != nil {
		d.err = err
		d.stop()
		return len(p), nil
	}
	d.carry = append(d.carry[:0], b[n:]...)
	return len(p), nil
}

// consume decodes the whole tuples at the head of b and returns how many bytes those
// were.
func (d *decoder) consume(b []byte) (used int, err error) {
	if !d.started {
		n := len(copyHeader) + 8
		if len(b) < n {
			return 0, nil
		}
		if string(b[:len(copyHeader)]) != string(copyHeader) {
			return 0, errors.New("reading: the stream is no binary COPY")
		}
		n += int(binary.BigEndian.Uint32(b[n-4:]))
		if len(b) < n {
			return 0, nil
		}
		d.started, used = true, n
	}
	for used < len(b) {
		size, err := d.tupleSize(b[used:])
		if err != nil {
			return 0, err
		}
		if size < 0 {
			return used, nil
		}
		if !d.ended {
			if err := d.tuple(b[used:used+size], size); err != nil {
				return 0, err
			}
		}
		used += size
	}
	return used, nil
}

var errBroken = errors.New("reading: the COPY stream is broken")

// tupleSize is the length of the tuple at the head of b, -1 if it has not arrived
// whole. Decoding starts only then, so that no half row is ever in the builder.
func (d *decoder) tupleSize(b []byte) (int, error) {
	if d.ended {
		return 0, errBroken // nothing may follow the trailer
	}
	if len(b) < 2 {
		return -1, nil
	}
	fields := int16(binary.BigEndian.Uint16(b))
	if fields == -1 {
		d.ended = true
		return 2, nil
	}
	if int(fields) != len(d.cols) {
		return 0, errBroken
	}
	at := 2
	for range d.cols {
		if len(b) < at+4 {
			return -1, nil
		}
		n := int(int32(binary.BigEndian.Uint32(b[at:])))
		at += 4
		if n < -1 {
			return 0, errBroken
		}
		at += max(n, 0)
		if at > len(b) {
			return -1, nil
		}
	}
	return at, nil
}

func (d *decoder) tuple(b []byte, size int) error {
	if d.batch == connectors.BatchRows || d.batch > 0 && d.bytes+size > connectors.BatchBytes {
		if err := d.flush(); err != nil {
			return err
		}
	}
	d.rows++
	at := 2
	for i := range d.cols {
		n := int(int32(binary.BigEndian.Uint32(b[at:])))
		at += 4
		if n < 0 {
			d.cols[i].null()
			continue
		}
		if err := d.cols[i].value(b[at : at+n]); err != nil {
			return d.valueError(i, err)
		}
		at += n
	}
	d.batch++
	d.bytes += size
	return nil
}

func (d *decoder) valueError(i int, err error) error {
	var bad *badValue
	if !errors.As(err, &bad) {
		return fmt.Errorf("reading column %q in row %d of the result: %w", d.names[i], d.rows, err)
	}
	return &connectors.ValueError{Column: d.names[i], Value: connectors.Shorten(bad.value),
		Row: fmt.Sprintf("%d of the result", d.rows), Reason: bad.reason}
}

// flush hands the batch over.
func (d *decoder) flush() error {
	if d.batch == 0 {
		return nil
	}
	var rec arrow.RecordBatch
	if len(d.schema.Fields()) == 0 {
		rec = array.NewRecordBatch(d.schema, nil, int64(d.batch))
	} else {
		rec = d.builder.NewRecordBatch()
		d.room.Note(rec)
		d.room.Reserve(d.builder)
	}
	d.batch, d.bytes = 0, 0
	defer rec.Release()
	return d.emit(rec)
}

// finish checks that the stream came to its proper end.
func (d *decoder) finish(rows int64) error {
	if !d.ended || len(d.carry) > 0 || rows != d.rows {
		return fmt.Errorf("reading: the server ended the stream early, after %d of %d rows", d.rows, rows)
	}
	return d.flush()
}

// badValue is a value that its type cannot hold.
type badValue struct{ value, reason string }

func (e *badValue) Error() string { return e.value + ": " + e.reason }
