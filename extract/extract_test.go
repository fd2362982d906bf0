package extract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
)

// silent is a connection that never gives a row.
type silent struct {
	connectors.Conn
	reading chan struct{} // closed when it is read
}

func (s silent) Read(ctx context.Context, _ connectors.Query, _ func(arrow.RecordBatch) error) error {
	close(s.reading)
	<-ctx.Done()
	return context.Cause(ctx)
}

// openModel is a model's staging and a plan that reads one table of each connection.
func openModel(t *testing.T, connections ...string) (*compute.Engine, *compute.Model, *planner.Plan) {
	t.Helper()
	e, err := compute.Open(compute.Config{MemoryLimit: 256 << 20, Threads: 1, TempDirectory: t.TempDir(), RunID: "extract"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Model("m")
	if err != nil {
		t.Fatal(err)
	}
	p := &planner.Plan{}
	for _, c := range connections {
		cols := []connectors.Column{{Name: "id", Type: connectors.T(connectors.BigInt)}}
		p.Extracts = append(p.Extracts, planner.Extract{Columns: []int{0}, Limit: -1, Query: connectors.Query{Columns: cols}, Relation: planner.Relation{
			Connection: c, Catalog: c, Schema: "main", Name: "t", Table: &connectors.Table{Relation: connectors.Relation{Schema: "main", Name: "t"}, Columns: cols}}})
	}
	return e, m, p
}

// TestConnectionMissing: nothing runs on when a connection cannot be had.
func TestConnectionMissing(t *testing.T) {
	t.Parallel()
	e, m, p := openModel(t, "one", "two")
	one := silent{reading: make(chan struct{})}
	want := errors.New("no such output")
	_, _, err := Run(context.Background(), p, m, func(name string) (connectors.Conn, error) {
		if name == "one" {
			return one, nil
		}
		select {
		case <-one.reading:
			t.Error("one connection is read before all are open, and nobody will wait for it")
		case <-time.After(100 * time.Millisecond):
		}
		return nil, want
	}, NewLimits(4), &Progress{})
	if !errors.Is(err, want) {
		t.Error(err)
	}
	if err := errors.Join(m.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}

// TestCancelledInLine: an extract that is cancelled while it waits for its place on the
// connection leaves no session open.
func TestCancelledInLine(t *testing.T) {
	t.Parallel()
	e, m, p := openModel(t, "one")
	limits := NewLimits(1)
	release, err := limits.Acquire(context.Background(), "one")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, _, err = Run(ctx, p, m, func(string) (connectors.Conn, error) { return silent{}, nil }, limits, &Progress{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := errors.Join(m.Close(), e.Close()); err != nil {
		t.Error(err)
	}
}
