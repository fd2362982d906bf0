package duck

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// ErrEnough is what Live.Append returns when nobody asks for rows any more.
var ErrEnough = errors.New("no more rows are asked for")

// Live is rows that one statement reads as they come. One goroutine brings them, and
// another one runs the statement.
type Live struct {
	*feed
	over sync.Once
	gone chan struct{} // closed when nobody asks any more
}

// Live makes rows as those of a table whose columns are cols, in order. They are about
// rows, and up to threads of DuckDB's ask for them at once. The session is free.
func (c *Conn) Live(ctx context.Context, catalog, schema, table string, cols []connectors.Column, rows int64, threads int) (*Live, error) {
	f, err := c.feed(ctx, catalog, schema, table, cols)
	if err != nil {
		return nil, err
	}
	f.rows, f.threads = rows, max(1, threads)
	f.offer()
	return &Live{feed: f, gone: make(chan struct{})}, nil
}

// Append hands rec over when it is asked for. The error is ErrEnough when it is not.
func (l *Live) Append(rec arrow.RecordBatch) error {
	if err := l.check(rec); err != nil {
		return err
	}
	rec.Retain()
	select {
	case l.batches <- rec:
		return nil
	case <-l.gone:
		rec.Release()
		return ErrEnough
	case <-l.ctx.Done():
		rec.Release()
		return l.ctx.Err()
	}
}

// Close says that all rows were appended. It or Abort is the last call of whoever brings
// them.
func (l *Live) Close() error {
	close(l.batches)
	return nil
}

// Abort fails the statement that asks for rows: there are more, which do not come.
func (l *Live) Abort(err error) {
	l.failed = err
	close(l.batches)
}

// End says that nobody asks any more: the statement has ended, or there will be none.
func (l *Live) End() {
	l.over.Do(func() {
		close(l.gone)
		l.withdraw()
	})
}

// Free ends l when both sides have ended.
func (l *Live) Free() {
	l.End()
	l.free()
}

// Function is the table function's name as a plan shows it.
func (l *Live) Function() string { return rowsFunction }

// Wrong is the error of the rows for which the statement failed; DuckDB's own only quotes
// it.
func (l *Live) Wrong() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong
}

// Twice says that a statement wanted the rows a second time.
func (l *Live) Twice() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.twice
}
