package duck

/*
#include <stdlib.h>
extern void dvtRowsBind(void *info);
extern void dvtRowsInit(void *info);
extern void dvtRowsNext(void *info, void *chunk);
*/
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/connectors/duckdb/ducksql"
)

// rowsFunction is the table function that gives an INSERT the rows of a Stream. Its
// argument names the stream.
const rowsFunction = "__dvt_rows"

// streams are those that DuckDB may ask for rows, by their names.
var streams sync.Map // int64 → *Stream

// Stream fills one table by one INSERT, which asks for rows as it goes. An Appender
// gathers rows first and inserts them a few hundred thousand at a time, on all threads:
// each row is copied once more, twice where a thread's share is less than a row group.
type Stream struct {
	*Appender
	into    string
	name    int64
	batches chan arrow.RecordBatch // from Append to the INSERT
	ended   chan struct{}          // closed when the INSERT has returned; nil before the first batch

	// Of the INSERT:
	begun bool
	batch arrow.RecordBatch // being inserted, owned
	from  int               // its next row
	pins  pinned            // what the chunk before points into
	wrong error             // why no more rows are given
}

// Stream opens a stream into an existing table whose columns are cols, in order. Its
// rows become visible when Close returns nil. The session is busy until then.
func (c *Conn) Stream(ctx context.Context, catalog, schema, table string, cols []connectors.Column) (connectors.Appender, error) {
	rows, err := c.Appender(ctx, catalog, schema, table, cols)
	if err != nil {
		return nil, err
	}
	var name [8]byte
	_, _ = rand.Read(name[:])
	s := &Stream{
		Appender: rows.(*Appender), name: int64(binary.LittleEndian.Uint64(name[:]) >> 1),
		into: ducksql.Quote(catalog) + "." + ducksql.Quote(schema) + "." + ducksql.Quote(table), batches: make(chan arrow.RecordBatch),
	}
	return s, nil
}

// Append hands rec over; an error may be that of an earlier batch. After one the table is
// as it was before.
func (s *Stream) Append(rec arrow.RecordBatch) error {
	if s.closed {
		return errors.New("appending: the stream has ended")
	}
	if err := s.check(rec); err != nil {
		return err
	}
	if s.ended == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	rec.Retain()
	select {
	case s.batches <- rec:
		return nil
	case <-s.ended: // by a failure
		rec.Release()
		return s.err
	}
}

// begin starts the INSERT.
func (s *Stream) begin() error {
	end, err := s.conn.begin(s.ctx, "")
	if err != nil {
		return err
	}
	s.ended = make(chan struct{})
	streams.Store(s.name, s)
	go func() {
		defer close(s.ended)
		sql := "INSERT INTO " + s.into + " SELECT * FROM " + rowsFunction + "(" + strconv.FormatInt(s.name, 10) + ")"
		err := s.insert(sql)
		streams.Delete(s.name)
		s.drop()
		if err != nil && s.wrong != nil {
			err = s.wrong // DuckDB's error only quotes it
		}
		s.err = end(err)
	}()
	return nil
}

func (s *Stream) insert(sql string) error {
	var stmt bindings.PreparedStatement
	defer bindings.DestroyPrepare(&stmt)
	if bindings.Prepare(s.conn.handle, sql, &stmt) == bindings.StateError {
		return statementError(sql, bindings.PrepareError(stmt))
	}
	var res bindings.Result
	defer bindings.DestroyResult(&res)
	return complete(sql, stmt, &res)
}

// Close ends the rows and completes the INSERT; the rows are there only if it returns nil.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	if s.ended == nil {
		return s.Appender.Close()
	}
	s.closed = true
	close(s.batches)
	<-s.ended
	s.free()
	if s.err != nil {
		return fmt.Errorf("appending: %w", s.err)
	}
	return nil
}

// drop gives back what the rows given last were taken from.
func (s *Stream) drop() {
	s.pins.release()
	if s.batch != nil {
		s.batch.Release()
		s.batch = nil
	}
}

// next puts rows into chunk, none at the end. DuckDB has taken in those of the call before.
func (s *Stream) next(chunk bindings.DataChunk) error {
	s.pins.release()
	for s.batch == nil || s.from >= int(s.batch.NumRows()) {
		s.drop()
		select {
		case rec, more := <-s.batches:
			if !more {
				return nil
			}
			s.batch, s.from = rec, 0
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	n := min(vectorSize, int(s.batch.NumRows())-s.from)
	if err := s.fill(chunk, s.batch, s.from, n, &s.pins); err != nil {
		return err
	}
	s.from += n
	return nil
}

// registerRows makes the table function known to an instance.
func (c *Conn) registerRows() error {
	f := bindings.CreateTableFunction()
	defer bindings.DestroyTableFunction(&f)
	id := bindings.CreateLogicalType(bindings.TypeBigInt)
	defer bindings.DestroyLogicalType(&id)
	bindings.TableFunctionSetName(f, rowsFunction)
	bindings.TableFunctionAddParameter(f, id)
	bindings.TableFunctionSetBind(f, C.dvtRowsBind)
	bindings.TableFunctionSetInit(f, C.dvtRowsInit)
	bindings.TableFunctionSetFunction(f, C.dvtRowsNext)
	if bindings.RegisterTableFunction(c.handle, f) == bindings.StateError {
		return errors.New("duckdb does not take a table function")
	}
	return nil
}

//export dvtRowsBind
func dvtRowsBind(p unsafe.Pointer) {
	info := bindings.BindInfo{Ptr: p}
	v := bindings.BindGetParameter(info, 0)
	name := bindings.GetInt64(v)
	bindings.DestroyValue(&v)
	s, ok := streams.Load(name)
	if !ok {
		bindings.BindSetError(info, "there is no such stream of rows")
		return
	}
	for i, t := range s.(*Stream).types {
		bindings.BindAddResultColumn(info, "c"+strconv.Itoa(i), t)
	}
	data := (*int64)(C.malloc(8))
	*data = name
	bindings.BindSetBindData(info, unsafe.Pointer(data), C.free)
}

// dvtRowsInit: rows are given to one thread, in their order.
//
//export dvtRowsInit
func dvtRowsInit(p unsafe.Pointer) {
	info := bindings.InitInfo{Ptr: p}
	s, ok := streams.Load(*(*int64)(bindings.InitGetBindData(info)))
	if !ok || s.(*Stream).begun {
		bindings.InitSetError(info, "the stream of rows is being read")
		return
	}
	s.(*Stream).begun = true
	bindings.InitSetMaxThreads(info, 1)
}

//export dvtRowsNext
func dvtRowsNext(p, chunk unsafe.Pointer) {
	info, out := bindings.FunctionInfo{Ptr: p}, bindings.DataChunk{Ptr: chunk}
	v, ok := streams.Load(*(*int64)(bindings.FunctionGetBindData(info)))
	if !ok {
		bindings.FunctionSetError(info, "there is no such stream of rows")
		return
	}
	s := v.(*Stream)
	if s.wrong = s.next(out); s.wrong != nil {
		bindings.FunctionSetError(info, s.wrong.Error())
	}
}
