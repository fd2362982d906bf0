package run

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/load"
)

// stream is the direct, streamed lane: the source's query is the result, and its rows go
// to the target's staging without a stop in the compute engine.
func (r *Runner) stream(ctx context.Context, p *Prepared, target connectors.Conn, res *Result) error {
	src, err := r.streamed(p, res)
	if err != nil {
		return err
	}
	progress, end := r.begin(p.Node.Name)
	defer end()
	src.progress = progress
	spec, err := r.stageSpec(p, target, p.Plan.Columns)
	if err != nil {
		return err
	}
	start := time.Now()
	res.Loaded, err = load.Replace(ctx, target, spec, withoutNull(p.Node, target, spec, src))
	res.Timings.Load += time.Since(start) - src.stat.Elapsed
	res.Timings.Extract += src.stat.Elapsed
	res.addExtracts([]extract.Stat{src.stat})
	res.PeakMemory = max(res.PeakMemory, peakMemory())
	r.Conns.Forget(p.Node.Connection, p.Target)
	return res.landed(err)
}

func (r *Runner) streamed(p *Prepared, res *Result) (*streamed, error) {
	name := p.Plan.Extracts[0].Relation.Connection
	conn, err := r.Conns.Get(name)
	return &streamed{name: name, conn: conn, query: *p.Plan.Streamed, limits: r.limits, res: res}, err
}

// streamed is the result of a source's query.
type streamed struct {
	name     string
	conn     connectors.Conn
	query    connectors.Query
	limits   *extract.Limits
	res      *Result
	stat     extract.Stat
	progress *extract.Progress
}

func (s *streamed) Rows(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	release, err := s.limits.Acquire(ctx, s.name)
	if err != nil {
		return err
	}
	defer release()
	start := time.Now()
	var handing time.Duration
	err = extract.Begin(ctx, s.conn, s.query, func(rec arrow.RecordBatch) error {
		t := time.Now()
		defer func() { handing += time.Since(t) }()
		s.stat.Rows += rec.NumRows()
		size := extract.RecordBytes(rec)
		s.stat.Bytes += size
		s.progress.Rows.Add(rec.NumRows())
		s.progress.Bytes.Add(size)
		s.res.RowsOut += rec.NumRows()
		return emit(rec)
	})
	s.stat.Elapsed = time.Since(start) - handing
	return err
}

func (s *streamed) Fill(context.Context, connectors.Filler) (int64, bool, error) {
	return 0, false, nil
}
