package sqlite

/*
#include <stdlib.h>
#include "lite.h"
*/
import "C"

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

// read runs q on s and emits its rows, in no order of their own. Values are judged one by one by the class they
// are stored in: plain ones in C (lite_read.c), the others in decode.go.
func (c *conn) read(ctx context.Context, s *session, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	if c.env.QueryTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.env.QueryTimeout)
		defer cancel()
	}
	if done, err := c.readRanges(ctx, s, q, emit); done || err != nil {
		return err
	}
	return c.readAlone(ctx, s, q, emit)
}

// readAlone reads q by one session.
func (c *conn) readAlone(ctx context.Context, s *session, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	st, err := s.prepare(q.SQL)
	if err != nil {
		return err
	}
	defer st.close()
	if !st.readonly() {
		return &connectors.StatementError{SQL: q.SQL, Position: -1, Err: fmt.Errorf("a read may not change the database")}
	}
	r, err := newReader(st, q.Columns, c.d.policy, c.alloc)
	if err != nil {
		return err
	}
	defer r.free()
	for done := false; !done; {
		err := s.guard(ctx, func() (err error) {
			done, err = r.fill()
			return err
		})
		if err != nil {
			return err
		}
		for _, a := range c.attached {
			a.file.moved.Add(1)
		}
		if r.batch.row == 0 {
			break
		}
		rec := r.record()
		err = emit(rec)
		rec.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// reader fills C buffers with batches of one statement's rows.
type reader struct {
	st     *stmt
	cols   []connectors.Column
	schema *arrow.Schema
	policy mismatch
	alloc  memory.Allocator
	batch  *C.lite_batch
	c      []C.lite_col // batch.cols
	key    int          // the column that holds the rowid, -1 without one
	before int64        // rows of earlier batches
}

func newReader(st *stmt, cols []connectors.Column, policy mismatch, alloc memory.Allocator) (*reader, error) {
	r := &reader{st: st, cols: cols, schema: connectors.ArrowSchema(cols), policy: policy, alloc: alloc, key: -1}
	n := st.columns()
	switch {
	case len(cols) == 0: // only the number of rows matters
		n = 0
	case n == len(cols)+1 && st.column(len(cols)) == rowKeyColumn:
		r.key = len(cols)
	case n != len(cols):
		return nil, &connectors.StatementError{SQL: st.sql, Position: -1, Err: fmt.Errorf("it returns %d columns, %d are expected", n, len(cols))}
	}
	r.batch = (*C.lite_batch)(C.calloc(1, C.sizeof_lite_batch))
	r.batch.ncols = C.int(n)
	r.batch.cols = (*C.lite_col)(C.calloc(C.size_t(max(n, 1)), C.sizeof_lite_col))
	r.c = unsafe.Slice(r.batch.cols, n)
	width := 0
	for i := range r.c {
		col := connectors.Column{Type: connectors.T(connectors.BigInt)}
		if i < len(cols) {
			col = cols[i]
		}
		if err := setMode(&r.c[i], col); err != nil {
			r.free()
			return nil, err
		}
		width += int(r.c[i].width) + 4
	}
	// Many columns make shorter batches: the buffers are bounded by bytes as well.
	rows := min(connectors.BatchRows, max(64, connectors.BatchBytes/max(width, 1))) &^ 7
	r.batch.max_rows, r.batch.max_bytes = C.int(rows), connectors.BatchBytes
	for i := range r.c {
		c := &r.c[i]
		c.valid = (*C.uint8_t)(C.malloc(C.size_t(rows / 8)))
		if c.width > 0 {
			c.data = C.calloc(C.size_t(rows), C.size_t(c.width))
		} else {
			c.offsets = (*C.int32_t)(C.calloc(C.size_t(rows+1), 4))
		}
	}
	return r, nil
}

func (r *reader) free() {
	for i := range r.c {
		c := &r.c[i]
		C.free(unsafe.Pointer(c.valid))
		C.free(c.data)
		C.free(unsafe.Pointer(c.offsets))
		C.free(unsafe.Pointer(c.bytes))
	}
	C.free(unsafe.Pointer(r.batch.cols))
	C.free(unsafe.Pointer(r.batch))
}

// setMode chooses how a column is decoded.
func setMode(c *C.lite_col, col connectors.Column) error {
	integer := func(width int, lo, hi int64) {
		c.mode, c.width, c.lo, c.hi = C.READ_INT, C.int(width), C.int64_t(lo), C.int64_t(hi)
	}
	fixed := func(mode, width int) { c.mode, c.width = C.int(mode), C.int(width) }
	const maxInt = 1<<63 - 1
	switch col.Type.Kind {
	case connectors.TinyInt:
		integer(1, -1<<7, 1<<7-1)
	case connectors.SmallInt:
		integer(2, -1<<15, 1<<15-1)
	case connectors.Integer:
		integer(4, -1<<31, 1<<31-1)
	case connectors.BigInt:
		integer(8, -1<<63, maxInt)
	case connectors.UTinyInt:
		integer(1, 0, 1<<8-1)
	case connectors.USmallInt:
		integer(2, 0, 1<<16-1)
	case connectors.UInteger:
		integer(4, 0, 1<<32-1)
	case connectors.UBigInt:
		integer(8, 0, maxInt)
	case connectors.Boolean:
		fixed(C.READ_BOOL, 1)
	case connectors.Float:
		fixed(C.READ_ASK, 4)
	case connectors.Double:
		fixed(C.READ_DOUBLE, 8)
	case connectors.Decimal, connectors.HugeInt:
		return setDecimal(c, col)
	case connectors.Date:
		fixed(C.READ_DATE, 4)
	case connectors.Time:
		fixed(C.READ_TIME, 8)
	case connectors.Timestamp:
		fixed(C.READ_TS, 8)
		if us, ok := unixFactor(col.Native); ok {
			c.mode, c.factor = C.READ_UNIX, C.int64_t(us)
			c.lo, c.hi = minStamp, maxStamp
		}
	case connectors.TimestampNS:
		fixed(C.READ_ASK, 8)
	case connectors.TimestampTZ:
		fixed(C.READ_TSTZ, 8)
	case connectors.UUID:
		fixed(C.READ_UUID, 16)
	case connectors.JSON:
		fixed(C.READ_JSON, 0)
	case connectors.Blob:
		fixed(C.READ_BLOB, 0)
	case connectors.Bit:
		fixed(C.READ_ASK, 0)
	case connectors.Varchar:
		fixed(C.READ_ANY, 0)
		if affinityOf(col.Native) == affText {
			c.mode = C.READ_TEXT
		}
	default:
		return &connectors.TypeError{Column: col.Name, Native: col.Native, Reason: "sqlite values cannot be read as " + col.Type.String()}
	}
	return nil
}

func setDecimal(c *C.lite_col, col connectors.Column) error {
	precision, scale := col.Type.Precision, col.Type.Scale
	if col.Type.Kind == connectors.HugeInt {
		precision, scale = 38, 0 // one more digit is for decode.go
	}
	if precision < 1 || precision > 38 || scale > precision {
		return &connectors.TypeError{Column: col.Name, Native: col.Native, Reason: "its precision is not known: set data_type: decimal(p,s) for the column of the source"}
	}
	limit := tenTo(precision)
	c.mode, c.width, c.scale = C.READ_DEC, 16, C.int(scale)
	c.limit[0] = C.uint64_t(new(big.Int).And(limit, maxUint64).Uint64())
	c.limit[1] = C.uint64_t(new(big.Int).Rsh(limit, 64).Uint64())
	return nil
}

// fill steps to the end of one batch; done tells that it is the last.
func (r *reader) fill() (done bool, err error) {
	if r.batch.row > 0 {
		r.before += int64(r.batch.row)
		r.shrink()
	}
	C.lite_begin_batch(r.batch)
	for {
		switch rc := C.lite_fill(r.st.c, r.batch); rc {
		case C.LITE_FULL:
			return false, nil
		case C.LITE_DONE:
			return true, nil
		case C.LITE_ASK:
			if err := r.ask(int(r.batch.col)); err != nil {
				return false, err
			}
			r.batch.col++
		default:
			return false, r.st.s.fail(r.st.sql, -int(rc))
		}
	}
}

// shrink frees what one long value made a buffer grow to.
func (r *reader) shrink() {
	for i := range r.c {
		if c := &r.c[i]; c.cap > connectors.BatchBytes {
			C.free(unsafe.Pointer(c.bytes))
			c.bytes, c.cap = nil, 0
		}
	}
}

// row names the current row for people.
func (r *reader) row() string {
	if r.key >= 0 {
		return "rowid " + strconv.FormatInt(r.st.integer(r.key), 10)
	}
	return "number " + strconv.FormatInt(r.before+int64(r.batch.row)+1, 10)
}

// record copies the batch into Arrow arrays.
func (r *reader) record() arrow.RecordBatch {
	rows := int(r.batch.row)
	arrays := make([]arrow.Array, len(r.cols))
	for i := range r.cols {
		arrays[i] = r.array(i, rows)
	}
	rec := array.NewRecordBatch(r.schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return rec
}

func (r *reader) array(i, rows int) arrow.Array {
	c := &r.c[i]
	buffers := []*memory.Buffer{nil}
	if c.nulls > 0 {
		buffers[0] = r.copy(unsafe.Pointer(c.valid), (rows+7)/8)
	}
	switch {
	case c.mode == C.READ_BOOL:
		buffers = append(buffers, r.copy(c.data, (rows+7)/8))
	case c.width > 0:
		buffers = append(buffers, r.copy(c.data, rows*int(c.width)))
	default:
		buffers = append(buffers, r.copy(unsafe.Pointer(c.offsets), 4*(rows+1)), r.copy(unsafe.Pointer(c.bytes), int(c.nbytes)))
	}
	data := array.NewData(r.schema.Field(i).Type, rows, buffers, nil, int(c.nulls), 0)
	defer data.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(data)
}

func (r *reader) copy(p unsafe.Pointer, n int) *memory.Buffer {
	b := memory.NewResizableBuffer(r.alloc)
	b.Resize(n)
	copy(b.Bytes(), unsafe.Slice((*byte)(p), n))
	return b
}
