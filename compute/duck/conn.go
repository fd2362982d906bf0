package duck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/dvt-dev/dvt/connectors"
)

// Conn is one session. It is used by one goroutine; a statement that is started while
// the rows of another are still being read is refused, for DuckDB would end the first
// one's rows without an error.
type Conn struct {
	db     *DB
	handle bindings.Connection
	mem    memory.Allocator
	busy   sync.Mutex
	closed bool
}

var _ connectors.Session = (*Conn)(nil)

// Exec runs one or several statements and drops what they return.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	return c.run(ctx, sql, func(*bindings.Result) error { return nil })
}

// Count runs a statement and returns its one integer.
func (c *Conn) Count(ctx context.Context, sql string) (n int64, err error) {
	err = c.run(ctx, sql, func(res *bindings.Result) error {
		n, err = resultCount(res, sql)
		return err
	})
	return n, err
}

// run is for statements with small results: the library gathers them.
func (c *Conn) run(ctx context.Context, sql string, use func(*bindings.Result) error) error {
	end, err := c.begin(ctx, sql)
	if err != nil {
		return err
	}
	var res bindings.Result
	state := bindings.Query(c.handle, sql, &res)
	defer bindings.DestroyResult(&res)
	if state == bindings.StateError {
		err = statementError(sql, bindings.ResultError(&res))
	} else {
		err = use(&res)
	}
	return end(err)
}

func resultCount(res *bindings.Result, sql string) (int64, error) {
	if bindings.ColumnCount(res) != 1 || bindings.ColumnType(res, 0) != bindings.TypeBigInt {
		return 0, fmt.Errorf("reading one number: the statement returns something else: %s", connectors.Shorten(sql))
	}
	chunk := bindings.FetchChunk(*res)
	if chunk.Ptr == nil {
		return 0, fmt.Errorf("reading one number: no row")
	}
	defer bindings.DestroyDataChunk(&chunk)
	v := vectorOf(bindings.DataChunkGetVector(chunk, 0))
	if bindings.DataChunkGetSize(chunk) != 1 || !v.isValid(0) {
		return 0, fmt.Errorf("reading one number: it is NULL or there is more than one row")
	}
	return *(*int64)(v.data), nil
}

// begin reserves the session for one statement and lets ctx interrupt it. The returned
// function ends both and turns err into ctx's when ctx was the cause.
func (c *Conn) begin(ctx context.Context, sql string) (end func(error) error, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if strings.IndexByte(sql, 0) >= 0 {
		// The library takes C strings: the rest of the text would be dropped.
		return nil, &connectors.StatementError{SQL: sql, Position: strings.IndexByte(sql, 0), Err: errors.New("the statement has a NUL byte")}
	}
	if !c.busy.TryLock() {
		return nil, errors.New("the duckdb session is busy: rows of another statement are being read")
	}
	if c.closed {
		c.busy.Unlock()
		return nil, errors.New("the duckdb session is closed")
	}
	stop := c.watch(ctx)
	return func(err error) error {
		stop()
		c.busy.Unlock()
		var e *Error
		if errors.As(err, &e) && e.ends() {
			c.db.faulty.Store(true)
		}
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}, nil
}

// watch interrupts the session's statement when ctx ends. One interrupt is not enough:
// the library clears the flag when it starts a statement, so one that comes just before
// would be lost.
func (c *Conn) watch(ctx context.Context) (stop func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		defer close(gone)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			bindings.Interrupt(c.handle)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() {
		close(done)
		if !cancel() {
			<-gone
		}
	}
}

// Close ends the session.
func (c *Conn) Close() error {
	if !c.busy.TryLock() {
		return errors.New("closing a duckdb session: rows of a statement are being read")
	}
	defer c.busy.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	bindings.Disconnect(&c.handle)
	c.db.mu.Lock()
	c.db.open--
	c.db.mu.Unlock()
	return nil
}

// vectorSize is the number of rows of a full DuckDB vector.
const vectorSize = 2048

// vector is the memory of one flat DuckDB vector.
type vector struct {
	handle bindings.Vector
	data   unsafe.Pointer
	valid  unsafe.Pointer // *uint64 words, nil when no value is NULL
}

func vectorOf(h bindings.Vector) vector {
	return vector{handle: h, data: bindings.VectorGetData(h), valid: bindings.VectorGetValidity(h)}
}

func (v vector) isValid(row int) bool {
	return v.valid == nil || *(*uint64)(unsafe.Add(v.valid, row/64*8))&(1<<(row%64)) != 0
}
