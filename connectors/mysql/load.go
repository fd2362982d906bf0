package mysql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	my "github.com/go-sql-driver/mysql"
)

const (
	chunkBytes = 256 << 10 // what passes from the encoder to the sender at once
	chunkCount = 4
	// loadBytes ends one LOAD DATA and begins the next: the server reports changed
	// values only when a statement ends, and keeps its undo log until then.
	loadBytes = 256 << 20
)

var loadNumber atomic.Int64

// loader feeds LOAD DATA LOCAL. The statement runs in a goroutine of its own, so that
// rows are encoded while others are sent; it ends with finish or abort.
type loader struct {
	st   *staging
	name string

	full   chan []byte // to the sender
	free   chan []byte // and back
	cur    []byte
	sent   int64 // bytes of the running statement
	taken  int64
	stop   context.CancelFunc
	result chan loadResult // one value when the statement has ended; nil: none runs
	cut    chan struct{}   // closed by abort
	once   sync.Once
}

type loadResult struct {
	rows int64
	err  error
}

var errAborted = errors.New("the load was given up")

func newLoader(st *staging) *loader {
	l := &loader{st: st, name: fmt.Sprintf("dvt%d", loadNumber.Add(1)), free: make(chan []byte, chunkCount+1), cut: make(chan struct{})}
	for range chunkCount {
		l.free <- make([]byte, 0, chunkBytes)
	}
	return l
}

func (l *loader) put(b []byte, i int, f *field, text []byte, null bool) []byte {
	if i > 0 {
		b = append(b, '\t')
	}
	switch {
	case null:
		return append(b, `\N`...)
	case f.escape:
		return escapeField(b, text)
	}
	return append(b, text...)
}

func (l *loader) end(b []byte) []byte { return append(b, '\n') }

func (l *loader) write(ctx context.Context, row []byte) error {
	if l.cur == nil {
		if l.result == nil {
			l.start(ctx)
		}
		select {
		case l.cur = <-l.free:
		case res := <-l.result:
			return l.early(res)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	l.cur = append(l.cur, row...)
	if len(l.cur) < chunkBytes {
		return nil
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if l.sent >= loadBytes {
		return l.complete(ctx)
	}
	return nil
}

// start runs one LOAD DATA statement.
func (l *loader) start(ctx context.Context) {
	// Not ctx itself: it may be of one Write only.
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.full, l.result, l.stop, l.sent = make(chan []byte, chunkCount), make(chan loadResult, 1), stop, 0
	src := &chunkReader{l: l, full: l.full}
	my.RegisterReaderHandler(l.name, func() io.Reader { return src })
	sql, result := loadSQL(l.name, l.st.rel, l.st.fields), l.result
	go func() {
		n, err := l.st.s.exec(run, sql)
		my.DeregisterReaderHandler(l.name)
		result <- loadResult{n, err}
	}()
}

// early is a statement that ended before its stream did.
func (l *loader) early(res loadResult) error {
	l.result = nil
	l.stop()
	if res.err == nil {
		return errors.New("the server ended the load early")
	}
	return res.err
}

func (l *loader) flush(ctx context.Context) error {
	select {
	case l.full <- l.cur:
		l.sent += int64(len(l.cur))
		l.cur = nil
		return nil
	case res := <-l.result:
		return l.early(res)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// complete ends the running statement and checks what it did.
func (l *loader) complete(ctx context.Context) error {
	close(l.full)
	var res loadResult
	select {
	case res = <-l.result:
	case <-ctx.Done():
		l.stop() // KILL QUERY; the statement's goroutine ends soon after
		res = <-l.result
		if res.err != nil {
			res.err = context.Cause(ctx)
		}
	}
	l.result = nil
	l.stop()
	if res.err != nil {
		return res.err
	}
	l.taken += res.rows
	return l.st.s.warnings(ctx)
}

func (l *loader) finish(ctx context.Context) (int64, error) {
	if len(l.cur) > 0 {
		if err := l.flush(ctx); err != nil {
			return 0, err
		}
	}
	if l.result != nil {
		if err := l.complete(ctx); err != nil {
			return 0, err
		}
	}
	return l.taken, nil
}

func (l *loader) abort() {
	l.once.Do(func() { close(l.cut) })
	if l.result != nil {
		l.stop()
		<-l.result
		l.result = nil
	}
}

// chunkReader is the sending side.
type chunkReader struct {
	l    *loader
	full <-chan []byte
	cur  []byte
	at   int
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for r.at == len(r.cur) {
		if r.cur != nil {
			r.l.free <- slim(r.cur)[:0]
			r.cur = nil
		}
		select {
		case c, ok := <-r.full:
			if !ok {
				return 0, io.EOF
			}
			r.cur, r.at = c, 0
		case <-r.l.cut:
			return 0, errAborted
		}
	}
	n := copy(p, r.cur[r.at:])
	r.at += n
	return n, nil
}

// slim lets go of a buffer that one huge value has blown up.
func slim(b []byte) []byte {
	if cap(b) > 8*chunkBytes {
		return nil
	}
	return b
}
