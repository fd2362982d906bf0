package duck

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

var streamColumns = []connectors.Column{{Name: "n", Type: connectors.T(connectors.BigInt)}, {Name: "s", Type: connectors.T(connectors.Varchar)}}

// numbers is a batch of n rows from first on; text is of every row.
func numbers(mem memory.Allocator, first, n int64, text string) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, connectors.ArrowSchema(streamColumns))
	defer b.Release()
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(first + i)
		b.Field(1).(*array.StringBuilder).Append(text)
	}
	return b.NewRecordBatch()
}

func openStream(t *testing.T, ctx context.Context) (*Conn, connectors.Appender, *memory.CheckedAllocator) {
	t.Helper()
	c := open(t)
	exec(t, c, "CREATE TABLE numbers (n BIGINT, s VARCHAR)")
	s, err := c.Stream(ctx, "memory", "main", "numbers", streamColumns)
	if err != nil {
		t.Fatal(err)
	}
	return c, s, memory.NewCheckedAllocator(memory.NewGoAllocator())
}

// Rows keep their order, whatever the sizes of batches, and none is there before Close.
func TestStreamOrder(t *testing.T) {
	c, s, mem := openStream(t, bg)
	defer mem.AssertSize(t, 0)
	other, err := c.db.Connect(bg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	at := int64(0)
	for _, n := range []int64{1, 0, 2047, 2048, 2049, 130_000, 3} {
		rec := numbers(mem, at, n, strings.Repeat("long", 5))
		if err := s.Append(rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		at += n
	}
	if got := texts(t, other, "SELECT count(*)::VARCHAR FROM numbers")[0]; got != "0" {
		t.Errorf("%s rows before the end", got)
	}
	if err := c.Exec(bg, "SELECT 1"); err == nil {
		t.Error("the session runs two statements at once")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := texts(t, c, "SELECT (count(*) FILTER (n = rowid AND s = repeat('long', 5)))::VARCHAR FROM numbers")[0]
	if want := "136148"; got != want {
		t.Errorf("%s of %s rows are in their place", got, want)
	}
	if err := s.Append(numbers(memory.NewGoAllocator(), 0, 1, "")); err == nil {
		t.Error("a stream that was closed takes rows")
	}
}

// A value that is refused undoes the whole, and the error names its row.
func TestStreamRefuses(t *testing.T) {
	c, s, mem := openStream(t, bg)
	defer mem.AssertSize(t, 0)
	var err error
	for i := int64(0); i < 4 && err == nil; i++ {
		rec := numbers(mem, 5000*i, 5000, []string{"good", "bad\xff"}[i/2])
		err = s.Append(rec)
		rec.Release()
	}
	err = errors.Join(err, s.Close())
	var bad *connectors.ValueError
	if !errors.As(err, &bad) || bad.Row != "10001" || bad.Column != "s" {
		t.Errorf("got %v", err)
	}
	if got := texts(t, c, "SELECT count(*)::VARCHAR FROM numbers")[0]; got != "0" {
		t.Errorf("%s rows are left", got)
	}
}

// The end of the context ends a stream that waits for rows.
func TestStreamCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	c, s, mem := openStream(t, ctx)
	defer mem.AssertSize(t, 0)
	rec := numbers(mem, 0, 10, "x")
	defer rec.Release()
	if err := s.Append(rec); err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 100 {
		if err := s.Append(rec); err != nil {
			break
		}
	}
	if err := s.Close(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := texts(t, c, "SELECT count(*)::VARCHAR FROM numbers")[0]; got != "0" {
		t.Errorf("%s rows are left", got)
	}
}

// A stream without rows is a table without rows, and nobody else can ask for its rows.
func TestStreamEmpty(t *testing.T) {
	c, s, mem := openStream(t, bg)
	defer mem.AssertSize(t, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(bg, "SELECT * FROM "+rowsFunction+"(1)"); err == nil {
		t.Error("a stream that is not there gives rows")
	}
}
