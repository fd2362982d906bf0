package extract

import (
	"context"
	"sync"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/planner"
)

// Running is extracts all of which but one are staged, so that the query over them can
// run: it reads the rows of the last one as they come.
type Running struct {
	Plan  *planner.Plan // as it is carried out
	stats []Stat
	gate  *gate
	done  chan struct{} // closed when all extracts have ended
	err   error         // of the first that failed
}

// Failed reports whether an extract has failed, so that the query cannot run.
func (r *Running) Failed() bool {
	select {
	case <-r.done:
		return r.err != nil
	default:
		return false
	}
}

// Wait ends what the query did not ask for and waits for all extracts. It is called when
// the query has ended, and if it is not to run; again, it says the same.
func (r *Running) Wait() ([]Stat, error) {
	if r.gate != nil {
		r.gate.end()
	}
	<-r.done
	return r.stats, r.err
}

// gate knows when the query may run: when one extract is left whose rows it may read as
// they come.
type gate struct {
	ctx  context.Context // of the query
	live chan struct{}   // closed when the last extract's rows go to the query

	mu    sync.Mutex
	left  int
	grown map[int]grown // extracts that are being made
}

type grown struct {
	rows *compute.Growing
	stop context.CancelFunc // ends the read
}

func newGate(ctx context.Context, extracts int) *gate {
	return &gate{ctx: ctx, live: make(chan struct{}), left: extracts, grown: map[int]grown{}}
}

// begun says that extract i is being made, whose rows may go to the query.
func (g *gate) begun(i int, x grown) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grown[i] = x
	g.look()
}

// ended says that extract i is staged.
func (g *gate) ended(i int) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.grown, i)
	g.left--
	g.look()
}

func (g *gate) look() {
	if g.left != 1 {
		return
	}
	for _, last := range g.grown {
		last.rows.Want()
	}
}

func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, last := range g.grown {
		last.rows.End()
		last.stop()
	}
}

// grow stages extract x until the query may run, and gives it the rest.
func (j *job) grow(ctx context.Context, i int, x *planner.Extract, source reader) error {
	rel := x.Relation
	release, err := j.limits.Acquire(ctx, j.connection)
	if err != nil {
		return err
	}
	defer release()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	staged, err := j.model.StageGrowing(ctx, rel.Catalog, rel.Schema, rel.Name, rel.Table.Columns, x.Columns, compute.Growth{
		Query: j.plan.SQL, Context: j.gate.ctx, Rows: x.Estimate(), Staged: x.StreamAfter, Live: func() { close(j.gate.live) },
	})
	if err != nil {
		return err
	}
	j.gate.begun(i, grown{staged, stop})
	err = j.read(reading, i, x, source, staged)
	j.stats[i].Streamed = staged.Passed()
	return err
}
