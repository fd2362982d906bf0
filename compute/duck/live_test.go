package duck

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func openLive(t *testing.T, threads int) (*Conn, *Live, *memory.CheckedAllocator) {
	t.Helper()
	c := open(t)
	exec(t, c, "CREATE TABLE numbers (n BIGINT, s VARCHAR)")
	l, err := c.Live(bg, "memory", "main", "numbers", streamColumns, 1000, threads)
	if err != nil {
		t.Fatal(err)
	}
	return c, l, memory.NewCheckedAllocator(memory.NewGoAllocator())
}

// bring appends batches of 5,000 rows until the end or an error, and says how many it
// brought.
func bring(l *Live, mem memory.Allocator, batches int64, text string) (brought int64, err error) {
	for i := range batches {
		rec := numbers(mem, i*5000, 5000, text)
		err := l.Append(rec)
		rec.Release()
		if err != nil {
			return i, err
		}
	}
	return batches, l.Close()
}

// Each row is read once, whatever the number of threads that ask.
func TestLiveRows(t *testing.T) {
	for _, threads := range []int{1, 4} {
		c, l, mem := openLive(t, threads)
		exec(t, c, "SET threads = 4")
		brought := make(chan error, 1)
		go func() {
			_, err := bring(l, mem, 40, strings.Repeat("text", 5))
			brought <- err
		}()
		got := texts(t, c, "SELECT (count(*), count(DISTINCT c0), sum(c0), min(c1), max(c1))::VARCHAR FROM "+l.From())[0]
		if want := "(200000, 200000, 19999900000, texttexttexttexttext, texttexttexttexttext)"; got != want {
			t.Errorf("%d threads: got %s, want %s", threads, got, want)
		}
		if err := <-brought; err != nil {
			t.Error(err)
		}
		l.Free()
		mem.AssertSize(t, 0)
	}
}

// Rows that do not come fail the statement, which never takes those that came for all.
func TestLiveAborted(t *testing.T) {
	c, l, mem := openLive(t, 2)
	lost := errors.New("the source is gone")
	brought := make(chan error, 1)
	go func() {
		rec := numbers(mem, 0, 5000, "x")
		defer rec.Release()
		err := l.Append(rec)
		l.Abort(lost)
		brought <- err
	}()
	err := c.Query(bg, "SELECT count(*) FROM "+l.From(), func(arrow.RecordBatch) error { return nil })
	if err == nil || !errors.Is(l.Wrong(), lost) {
		t.Errorf("got %v, for %v", err, l.Wrong())
	}
	if err := <-brought; err != nil {
		t.Error(err)
	}
	l.Free()
	mem.AssertSize(t, 0)
}

// A value that is refused fails the statement and is named.
func TestLiveRefuses(t *testing.T) {
	c, l, mem := openLive(t, 1)
	brought := make(chan error, 1)
	go func() {
		_, err := bring(l, mem, 3, "bad\xff")
		brought <- err
	}()
	if err := c.Query(bg, "SELECT count(c1) FROM "+l.From(), func(arrow.RecordBatch) error { return nil }); err == nil {
		t.Error("no error")
	}
	l.End()
	if err := <-brought; !errors.Is(err, ErrEnough) {
		t.Errorf("who brings the rows is told %v", err)
	}
	if err := l.Wrong(); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("got %v", err)
	}
	l.Free()
	mem.AssertSize(t, 0)
}

// A statement that has enough, or does not ask at all, lets the rows go; and one that wants
// them again fails.
func TestLiveEnough(t *testing.T) {
	c, l, mem := openLive(t, 1)
	type end struct {
		batches int64
		err     error
	}
	brought := make(chan end, 1)
	go func() {
		n, err := bring(l, mem, 1_000_000, "x")
		brought <- end{n, err}
	}()
	if got := texts(t, c, "SELECT c0::VARCHAR FROM "+l.From()+" LIMIT 1"); len(got) != 1 || got[0] != "0" {
		t.Errorf("got %v", got)
	}
	if l.Twice() {
		t.Error("it was asked twice")
	}
	if err := c.Exec(bg, "SELECT * FROM "+l.From()); err == nil || !l.Twice() {
		t.Errorf("the second time: %v", err)
	}
	l.End()
	if e := <-brought; !errors.Is(e.err, ErrEnough) {
		t.Errorf("%d batches, %v", e.batches, e.err)
	}
	l.Free()
	mem.AssertSize(t, 0)
}

// The end of the context ends a statement that waits for rows.
func TestLiveCancelled(t *testing.T) {
	c := open(t)
	exec(t, c, "CREATE TABLE numbers (n BIGINT, s VARCHAR)")
	ctx, cancel := context.WithCancel(bg)
	l, err := c.Live(ctx, "memory", "main", "numbers", streamColumns, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	go func() {
		rec := numbers(mem, 0, 10, "x")
		defer rec.Release()
		_ = l.Append(rec)
		cancel()
	}()
	if err := c.Query(ctx, "SELECT count(*) FROM "+l.From(), func(arrow.RecordBatch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	l.Free()
	mem.AssertSize(t, 0)
}
