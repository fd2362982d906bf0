package duck

/*
#include <stdlib.h>
extern void dvtRowsBind(void *info);
extern void dvtRowsInit(void *info);
extern void dvtRowsThread(void *info);
extern void dvtRowsNext(void *info, void *chunk);
*/
import "C"

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// rowsFunction is the table function that gives a statement the rows of a feed. Its
// argument names the feed.
const rowsFunction = "__dvt_rows"

// feeds are those that DuckDB may ask for rows, by their names.
var feeds sync.Map // int64 → *feed

// feed is batches that a statement asks for as it goes, each row once. They are given in
// their order, but several threads may work on them at once.
type feed struct {
	*Appender // of a table with the rows' types
	name      int64
	rows      int64 // about how many there will be, 0 where nothing is known
	threads   int   // that may ask at once
	batches   chan arrow.RecordBatch

	mu     sync.Mutex
	begun  bool
	twice  bool              // it was to be read once more
	batch  arrow.RecordBatch // being given, owned
	from   int               // its next row
	given  int64             // rows
	hands  []*hand
	wrong  error // why no more rows are given
	failed error // set before batches is closed: the rows are not all there
}

// hand is what one thread was given last.
type hand struct {
	writers []*writer
	batch   arrow.RecordBatch // owned
	pins    pinned            // what the chunk points into
}

// feed makes a feed of rows as those of a table whose columns are cols, in order.
func (c *Conn) feed(ctx context.Context, catalog, schema, table string, cols []connectors.Column) (*feed, error) {
	a, err := c.Appender(ctx, catalog, schema, table, cols)
	if err != nil {
		return nil, err
	}
	var name [8]byte
	_, _ = rand.Read(name[:])
	return &feed{Appender: a.(*Appender), name: int64(binary.LittleEndian.Uint64(name[:]) >> 1), threads: 1, batches: make(chan arrow.RecordBatch)}, nil
}

// From is what stands behind FROM to read the feed.
func (f *feed) From() string { return rowsFunction + "(" + strconv.FormatInt(f.name, 10) + ")" }

// offer lets statements ask for rows.
func (f *feed) offer() { feeds.Store(f.name, f) }

// withdraw ends that and gives back what the rows given last were taken from. The
// statement that asked has ended.
func (f *feed) withdraw() {
	feeds.Delete(f.name)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.hands {
		h.drop()
	}
	if f.batch != nil {
		f.batch.Release()
		f.batch = nil
	}
}

func (h *hand) drop() {
	h.pins.release()
	if h.batch != nil {
		h.batch.Release()
		h.batch = nil
	}
}

// next puts rows into chunk, none at the end. DuckDB has taken in those that this thread
// was given before.
func (f *feed) next(h *hand, chunk bindings.DataChunk) error {
	h.drop()
	from, n, at, err := f.take(h)
	if err != nil || n == 0 {
		return err
	}
	return fillChunk(h.writers, chunk, h.batch, from, n, at, &h.pins)
}

// take gives h the next rows: n of h.batch, beginning with from; at rows were given before.
func (f *feed) take(h *hand) (from, n int, at int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.batch == nil || f.from >= int(f.batch.NumRows()) {
		if f.batch != nil {
			f.batch.Release()
			f.batch = nil
		}
		select {
		case rec, more := <-f.batches:
			if !more {
				return 0, 0, 0, f.failed
			}
			f.batch, f.from = rec, 0
		case <-f.ctx.Done():
			return 0, 0, 0, f.ctx.Err()
		}
	}
	h.batch, from, at = f.batch, f.from, f.given
	h.batch.Retain()
	n = min(vectorSize, int(f.batch.NumRows())-f.from)
	f.from += n
	f.given += int64(n)
	return from, n, at, nil
}

// fault notes why no more rows are given; the first reason counts.
func (f *feed) fault(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.wrong == nil {
		f.wrong = err
	}
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
	bindings.TableFunctionSetLocalInit(f, C.dvtRowsThread)
	bindings.TableFunctionSetFunction(f, C.dvtRowsNext)
	if bindings.RegisterTableFunction(c.handle, f) == bindings.StateError {
		return errors.New("duckdb does not take a table function")
	}
	return nil
}

// number is an integer in C's memory, which DuckDB frees.
func number(n int64) unsafe.Pointer {
	p := (*int64)(C.malloc(8))
	*p = n
	return unsafe.Pointer(p)
}

func feedOf(bound unsafe.Pointer) *feed {
	v, ok := feeds.Load(*(*int64)(bound))
	if !ok {
		return nil
	}
	return v.(*feed)
}

const noFeed = "there is no such stream of rows"

//export dvtRowsBind
func dvtRowsBind(p unsafe.Pointer) {
	info := bindings.BindInfo{Ptr: p}
	v := bindings.BindGetParameter(info, 0)
	name := bindings.GetInt64(v)
	bindings.DestroyValue(&v)
	found, ok := feeds.Load(name)
	if !ok {
		bindings.BindSetError(info, noFeed)
		return
	}
	f := found.(*feed)
	for i, t := range f.types {
		bindings.BindAddResultColumn(info, "c"+strconv.Itoa(i), t)
	}
	if f.rows > 0 {
		bindings.BindSetCardinality(info, bindings.IdxT(f.rows), false)
	}
	bindings.BindSetBindData(info, number(name), C.free)
}

//export dvtRowsInit
func dvtRowsInit(p unsafe.Pointer) {
	info := bindings.InitInfo{Ptr: p}
	f := feedOf(bindings.InitGetBindData(info))
	if f == nil {
		bindings.InitSetError(info, noFeed)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begun {
		f.twice = true
		bindings.InitSetError(info, "the stream of rows is being read")
		return
	}
	f.begun = true
	bindings.InitSetMaxThreads(info, bindings.IdxT(f.threads))
}

//export dvtRowsThread
func dvtRowsThread(p unsafe.Pointer) {
	info := bindings.InitInfo{Ptr: p}
	f := feedOf(bindings.InitGetBindData(info))
	if f == nil {
		bindings.InitSetError(info, noFeed)
		return
	}
	h := &hand{}
	for _, w := range f.cols {
		h.writers = append(h.writers, newWriter(w.name, w.layout))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	bindings.InitSetInitData(info, number(int64(len(f.hands))), C.free)
	f.hands = append(f.hands, h)
}

//export dvtRowsNext
func dvtRowsNext(p, chunk unsafe.Pointer) {
	info, out := bindings.FunctionInfo{Ptr: p}, bindings.DataChunk{Ptr: chunk}
	f := feedOf(bindings.FunctionGetBindData(info))
	if f == nil {
		bindings.FunctionSetError(info, noFeed)
		return
	}
	at := *(*int64)(bindings.FunctionGetLocalInitData(info))
	f.mu.Lock()
	h := f.hands[at]
	f.mu.Unlock()
	if err := f.next(h, out); err != nil {
		f.fault(err)
		bindings.FunctionSetError(info, err.Error())
	}
}
