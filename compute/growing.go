package compute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute/duck"
	"github.com/dvt-dev/dvt/connectors"
)

// ErrReadTwice says that a query wanted rows a second time that it was given as they came.
// It may run when all is staged.
var ErrReadTwice = errors.New("the query reads rows twice that are given once")

// Growing is a relation that is staged until the query may run, and from then on read by
// the query as its rows come: those that are staged and, behind them, those to come. One
// goroutine appends; another calls Want and End.
type Growing struct {
	Growth
	ctx   context.Context // of those that append
	model *Model
	table stored
	view  func(from string) string

	staged *stageAppender // nil once it is live
	count  int64
	passed int64 // of them went to the query

	mu     sync.Mutex
	wanted bool
	ended  bool
	live   *duck.Live
	failed error // why rows are missing
}

// Growth says how a relation may go to a query as it grows.
type Growth struct {
	Query   string          // the SQL that will read it; it need not be able to run yet
	Context context.Context // of the query
	Rows    int64           // about how many there will be
	Staged  int64           // so many are staged in any case
	// Live is called when the query may run over rows that are not all there. It is not
	// called for a relation of few rows, nor where the query reads it more than once.
	Live func()
}

// StageGrowing makes a relation like Stage, with at least one extracted column. When Want
// was called and enough rows are staged, the rest goes to the query.
func (m *Model) StageGrowing(ctx context.Context, catalog, schema, name string, all []connectors.Column, extracted []int, how Growth) (*Growing, error) {
	t, err := m.createView(ctx, catalog, schema, name, all, extracted)
	if err != nil {
		return nil, m.failed("staging", name, err)
	}
	as := relationName(catalog+m.suffix, schema, name)
	g := &Growing{Growth: how, ctx: ctx, model: m, table: t,
		view: func(from string) string { return replaceView(as, from, all, extracted) }}
	if err := g.stage(); err != nil {
		return nil, m.failed("staging", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.growing = append(m.growing, g)
	return g, nil
}

// stage begins to fill the table.
func (g *Growing) stage() error {
	session, err := g.model.db.Connect(g.ctx)
	if err != nil {
		return err
	}
	rows, err := session.Stream(g.ctx, g.table.catalog, g.table.schema, g.table.name, g.table.cols)
	if err != nil {
		return errors.Join(err, session.Close())
	}
	g.staged = &stageAppender{ctx: g.ctx, model: g.model, table: g.table, session: session, rows: rows}
	return nil
}

// Append stages rec, or hands it to the query when that asks for it. The error is
// duck.ErrEnough when the query has ended.
func (g *Growing) Append(rec arrow.RecordBatch) error {
	if g.staged != nil && g.count >= g.Staged && g.turn() {
		if err := g.goLive(); err != nil {
			return err
		}
	}
	g.count += rec.NumRows()
	if g.staged != nil {
		return g.staged.Append(rec)
	}
	err := g.live.Append(rec)
	if err == nil {
		g.passed += rec.NumRows()
	}
	return g.model.unmark(err)
}

// Passed is how many rows went to the query without being staged. It is called when all
// are appended.
func (g *Growing) Passed() int64 { return g.passed }

// turn reports once that the query waits for nothing else.
func (g *Growing) turn() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.wanted && !g.ended
	g.wanted = false
	return now
}

// goLive completes what is staged and lets the query read on, unless it cannot.
func (g *Growing) goLive() (err error) {
	if err := g.staged.Close(); err != nil {
		return err
	}
	session, err := g.model.db.Connect(g.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	threads := max(1, g.model.engine.threads()/2)
	live, err := session.Live(g.Context, g.table.catalog, g.table.schema, g.table.name, g.table.cols, max(g.Rows-g.count, g.count), threads)
	if err != nil {
		return err
	}
	ok, err := g.readOnce(session, live)
	if err != nil || !ok {
		live.Free()
		if err == nil {
			err = g.stage()
		}
		return err
	}
	g.mu.Lock()
	g.staged, g.live = nil, live
	if g.ended {
		live.End()
	}
	g.mu.Unlock()
	g.Live()
	return nil
}

// readOnce shows the query the rows to come, and reports whether it reads them once. If
// not, they are hidden from it again.
func (g *Growing) readOnce(session *duck.Conn, live *duck.Live) (bool, error) {
	table := g.table.String()
	both := "SELECT * FROM " + table + " UNION ALL SELECT * FROM " + live.From()
	if err := sameTypes(g.ctx, session, both, g.table.cols); err != nil {
		return false, nil
	}
	if err := session.Exec(g.ctx, g.view("("+both+") AS rows")); err != nil {
		return false, err
	}
	plan, err := session.Explain(g.ctx, marked(g.Query, g.model.suffix))
	if err == nil && strings.Count(strings.ToLower(plan), `"name": "`+strings.ToLower(live.Function())) == 1 {
		return true, nil
	}
	return false, session.Exec(g.ctx, g.view(table)) // what is wrong with the query it says when it runs
}

// Want says that the query waits for nothing but this relation.
func (g *Growing) Want() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wanted = true
}

// Close completes the relation.
func (g *Growing) Close() error {
	if g.staged != nil {
		return g.staged.Close()
	}
	return g.live.Close()
}

// Abort says that more rows are there, which do not come, for err: a query that reads them
// fails. It returns nil when the query had ended before.
func (g *Growing) Abort(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		return errors.Join(err, g.staged.Close())
	}
	g.live.Abort(err)
	if g.ended {
		return nil
	}
	g.failed = err
	return err
}

// End says that the query has ended, or is not to run: nobody asks for rows any more.
func (g *Growing) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	if g.live != nil {
		g.live.End()
	}
}

// free is called when nobody appends any more and the query has ended.
func (g *Growing) free() {
	g.End()
	if g.live != nil {
		g.live.Free()
	}
}

// cause is why a query over live relations failed, if it is for them.
func (m *Model) cause(err error) error {
	if err == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.growing {
		g.mu.Lock()
		live, failed := g.live, g.failed
		g.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case live == nil:
		case live.Twice():
			return fmt.Errorf("%w: %w", ErrReadTwice, err)
		case live.Wrong() != nil:
			return live.Wrong()
		}
	}
	return err
}
