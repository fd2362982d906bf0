// Package extract moves what a plan reads from its sources into the compute engine:
// one query per extract, streamed as record batches, several at once. It knows no
// engine and builds no SQL.
package extract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/retry"
	"github.com/dvt-dev/dvt/planner"
)

// Stat is what one extract moved.
type Stat struct {
	Rows    int64 // rows that left the source
	Bytes   int64 // their size in record batches; 0 where the compute engine read the source itself
	Elapsed time.Duration
	// Streamed is how many of the rows the query read as they came, without staging.
	Streamed int64
}

// Limits bounds how many reads run at once on each connection, over all models of a
// run.
type Limits struct {
	perConnection int
	mu            sync.Mutex
	slots         map[string]chan struct{}
}

// NewLimits allows n reads at once on each connection.
func NewLimits(n int) *Limits {
	return &Limits{perConnection: max(n, 1), slots: map[string]chan struct{}{}}
}

// Acquire takes one place of a connection.
func (l *Limits) Acquire(ctx context.Context, connection string) (release func(), err error) {
	l.mu.Lock()
	slots := l.slots[connection]
	if slots == nil {
		slots = make(chan struct{}, l.perConnection)
		l.slots[connection] = slots
	}
	l.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Progress counts what has been moved so far; safe to read while Run runs.
type Progress struct{ Rows, Bytes atomic.Int64 }

// Error says which extract failed.
type Error struct {
	Extract *planner.Extract
	Err     error
}

func (e *Error) Error() string {
	return fmt.Sprintf("extracting %s from %s: %v", e.Extract.Relation.Title(), e.Extract.Relation.Connection, e.Err)
}
func (e *Error) Unwrap() error { return e.Err }

// Run stages every extract of plan in m. It returns the plan as it was carried out, with
// the predicates that join keys added, and one Stat per extract, in order. conn gives the
// open connection of an output. The extracts of one connection see one snapshot where
// the engine has them. The first failure cancels the others.
func Run(ctx context.Context, plan *planner.Plan, m *compute.Model, conn func(string) (connectors.Conn, error), limits *Limits, progress *Progress) (*planner.Plan, []Stat, error) {
	return RunChunked(ctx, plan, m, conn, limits, progress, nil)
}

// RunChunked is Run where one extract is read in pieces; chunks may be nil.
func RunChunked(ctx context.Context, plan *planner.Plan, m *compute.Model, conn func(string) (connectors.Conn, error), limits *Limits, progress *Progress, chunks *Chunks) (*planner.Plan, []Stat, error) {
	r, err := start(ctx, plan, m, conn, limits, progress, chunks, nil)
	if err != nil {
		return nil, nil, err
	}
	stats, err := r.Wait()
	return r.Plan, stats, err
}

// Start is RunChunked that returns when the query over the extracts may run: all are
// staged, or one is left whose rows the query reads as they come. The caller calls Wait
// of what is returned; if there is none, no extract was begun. An error of the
// extracts is that of Wait.
func Start(ctx context.Context, plan *planner.Plan, m *compute.Model, conn func(string) (connectors.Conn, error), limits *Limits, progress *Progress, chunks *Chunks) (*Running, error) {
	g := newGate(ctx, len(plan.Extracts))
	r, err := start(ctx, plan, m, conn, limits, progress, chunks, g)
	if err != nil {
		return nil, err
	}
	select {
	case <-g.live:
	case <-r.done:
	}
	return r, nil
}

// start begins the extracts. gate may be nil: all are staged.
func start(ctx context.Context, plan *planner.Plan, m *compute.Model, conn func(string) (connectors.Conn, error), limits *Limits, progress *Progress, chunks *Chunks, gate *gate) (*Running, error) {
	done := *plan
	done.Extracts = slices.Clone(plan.Extracts)
	stats := make([]Stat, len(done.Extracts))
	staged := make([]chan struct{}, len(done.Extracts))
	byConnection := map[string][]int{}
	var names []string
	for _, i := range order(&done) {
		staged[i] = make(chan struct{})
		name := done.Extracts[i].Relation.Connection
		if byConnection[name] == nil {
			names = append(names, name)
		}
		byConnection[name] = append(byConnection[name], i)
	}
	var jobs []*job
	for _, name := range names {
		c, err := conn(name)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, &job{plan: &done, model: m, connection: name, conn: c, limits: limits, progress: progress, stats: stats, staged: staged, chunks: chunks, gate: gate})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, j := range jobs {
		group.Go(func() error { return j.run(ctx, byConnection[j.connection]) })
	}
	r := &Running{Plan: &done, stats: stats, gate: gate, done: make(chan struct{})}
	go func() {
		r.err = group.Wait()
		close(r.done)
	}()
	return r, nil
}

// job is the extracts of one plan from one connection.
type job struct {
	plan       *planner.Plan
	model      *compute.Model
	connection string
	conn       connectors.Conn
	limits     *Limits
	progress   *Progress
	stats      []Stat
	staged     []chan struct{} // closed when the extract is staged
	chunks     *Chunks
	gate       *gate // nil: everything is staged before the query runs
}

type reader interface {
	Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error
}

func (j *job) run(ctx context.Context, which []int) (err error) {
	var source reader = j.conn
	parallel := true
	if s, ok := j.conn.(connectors.Snapshotter); ok && j.reads(which) > 1 {
		var snapshot connectors.Snapshot
		err := retry.Lost(ctx, nil, func() (err error) {
			snapshot, err = s.Snapshot(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("opening a snapshot on %s: %w", j.connection, err)
		}
		defer func() {
			if e := snapshot.Close(); e != nil && err == nil {
				err = fmt.Errorf("closing the snapshot on %s: %w", j.connection, e)
			}
		}()
		source, parallel = snapshot, snapshot.Parallel()
	}
	group, ctx := errgroup.WithContext(ctx)
	turns := [][]int{which}
	if parallel {
		turns = j.turns(which)
	}
	for _, turn := range turns {
		group.Go(func() error { return j.inTurn(ctx, turn, source) })
	}
	return group.Wait()
}

// turns divides extracts into those that are made one after another: those of one
// relation.
func (j *job) turns(which []int) [][]int {
	var out [][]int
	at := map[string]int{}
	for _, i := range which {
		rel := &j.plan.Extracts[i].Relation
		key := fmt.Sprintf("%q", []string{rel.Schema, rel.Name})
		k, ok := at[key]
		if !ok || rel.Use == 0 {
			k = len(out)
			at[key] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// inTurn makes extracts one after another. Several of one relation are read in one
// session of a snapshot that has sessions of its own for its reads; see SerialSnapshot.
func (j *job) inTurn(ctx context.Context, turn []int, source reader) (err error) {
	if s, ok := source.(connectors.SerialSnapshot); ok && len(turn) > 1 {
		one, e := s.Serial(ctx)
		if e != nil {
			return fmt.Errorf("opening a session on %s: %w", j.connection, e)
		}
		defer func() {
			if e := one.Close(); e != nil && err == nil {
				err = fmt.Errorf("closing a session on %s: %w", j.connection, e)
			}
		}()
		source = one
	}
	for _, i := range turn {
		if err := j.one(ctx, i, source); err != nil {
			return &Error{Extract: &j.plan.Extracts[i], Err: err}
		}
	}
	return nil
}

// reads counts the extracts that are sent to the source.
func (j *job) reads(which []int) int {
	n := 0
	for _, i := range which {
		if x := &j.plan.Extracts[i]; !x.Pruned && x.Index == "" {
			n++
		}
		if j.chunks.cuts(i, &j.plan.Extracts[i]) {
			n += 2 // it is counted, then read piece by piece
		}
	}
	return n
}

func (j *job) one(ctx context.Context, i int, source reader) error {
	x, err := j.reduced(ctx, i)
	if err != nil {
		return err
	}
	start := time.Now()
	err = j.stage(ctx, i, x, source)
	j.stats[i].Elapsed = time.Since(start)
	if err == nil {
		close(j.staged[i])
		j.gate.ended(i)
	}
	return err
}

func (j *job) stage(ctx context.Context, i int, x *planner.Extract, source reader) error {
	rel := x.Relation
	if x.Index != "" {
		return nil // staged by the caller
	}
	if j.chunks.cuts(i, x) {
		return j.chunked(ctx, i, x, source)
	}
	if in, ok := j.conn.(connectors.Inliner); ok && !x.Pruned {
		return j.inline(ctx, i, in)
	}
	if j.gate != nil && x.Streams && !x.Pruned {
		return j.grow(ctx, i, x, source)
	}
	if !x.Pruned {
		release, err := j.limits.Acquire(ctx, j.connection)
		if err != nil {
			return err
		}
		defer release()
	}
	staged, err := j.model.Stage(ctx, rel.Catalog, rel.Schema, rel.Name, rel.Table.Columns, x.Columns)
	if err != nil {
		return err
	}
	if x.Pruned {
		return staged.Close()
	}
	return j.read(ctx, i, x, source, staged)
}

// read makes extract x and appends its rows.
func (j *job) read(ctx context.Context, i int, x *planner.Extract, source reader, to connectors.Appender) error {
	rows := appendAhead(ctx, to)
	return rows.close(begin(ctx, source, x.Query, func(rec arrow.RecordBatch) error {
		size := RecordBytes(rec)
		j.stats[i].Rows += rec.NumRows()
		j.stats[i].Bytes += size
		j.progress.Rows.Add(rec.NumRows())
		j.progress.Bytes.Add(size)
		return rows.add(rec)
	}))
}

// begin is Read that starts again when the connection is lost before the first row. A
// snapshot is gone with its connection.
func begin(ctx context.Context, source reader, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	if _, gone := source.(connectors.Snapshot); gone {
		return source.Read(ctx, q, emit)
	}
	return Begin(ctx, source, q, emit)
}

// Begin reads q and starts again when the connection is lost before the first row.
func Begin(ctx context.Context, source interface {
	Read(ctx context.Context, q connectors.Query, emit func(arrow.RecordBatch) error) error
}, q connectors.Query, emit func(arrow.RecordBatch) error) error {
	return retry.Lost(ctx, nil, func() error {
		started := false
		err := source.Read(ctx, q, func(rec arrow.RecordBatch) error {
			started = true
			return emit(rec)
		})
		if started {
			return retry.Stop(err)
		}
		return err
	})
}

// inline stages a relation that the compute engine reads itself.
func (j *job) inline(ctx context.Context, i int, in connectors.Inliner) error {
	x := &j.plan.Extracts[i]
	sql, release, err := in.Inline(ctx, x.Query)
	if err != nil {
		return err
	}
	defer release()
	rel := x.Relation
	rows, err := j.model.StageSQL(ctx, rel.Catalog, rel.Schema, rel.Name, rel.Table.Columns, x.Columns, sql)
	j.stats[i].Rows = rows
	j.progress.Rows.Add(rows)
	return err
}

// RecordBytes is the size of a batch's used buffers, in bytes. Buffers that builders
// allocated beyond the last row do not count.
func RecordBytes(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += dataBytes(c.Data())
	}
	return n
}

func dataBytes(d arrow.ArrayData) int64 {
	var n int64
	for _, b := range d.Buffers() {
		if b != nil {
			n += int64(b.Len())
		}
	}
	for _, child := range d.Children() {
		n += dataBytes(child)
	}
	return n
}
