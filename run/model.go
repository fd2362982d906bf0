package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/internal/retry"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// model runs one model from plan to swap.
func (r *Runner) model(ctx context.Context, n *project.Node, res *Result) error {
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return err
	}
	if err := r.warnConstraints(n, target); err != nil {
		return err
	}
	if n.ResourceType == project.TypeSnapshot { // dbt's own snapshots, in DuckDB SQL
		return r.snapshot(ctx, n, target, res)
	}
	if !n.Federated {
		return r.native(ctx, n, target, res)
	}
	switch n.Config.Materialized {
	case project.FTable:
		return r.rebuild(ctx, n, target, res)
	case project.FIncremental:
		return r.incremental(ctx, n, target, res)
	case project.FSnapshot:
		return r.snapshot(ctx, n, target, res)
	}
	return fmt.Errorf("materialized '%s' is not run by this version; use materialized='f_table'", n.Config.Materialized)
}

// rebuild runs an f_table model.
func (r *Runner) rebuild(ctx context.Context, n *project.Node, target connectors.Conn, res *Result) error {
	if err := load.CanReplace(n.Connection, target); err != nil {
		return err
	}
	start := time.Now()
	p, err := r.prepare(ctx, n, planMode{live: true}, nil)
	res.Timings.Plan = time.Since(start)
	if err != nil {
		return err
	}
	res.Plan, res.Compiled = p.Plan, project.Display(p.Compiled.SQL)
	release, err := r.lock(ctx, n, target, p.Target)
	if err != nil {
		return err
	}
	defer release()
	if err := r.hooks(ctx, n, target, n.Config.PreHook); err != nil {
		return err
	}
	if err := r.federate(ctx, p, target, res); err != nil {
		return err
	}
	return r.hooks(ctx, n, target, n.Config.PostHook)
}

// lock keeps a second dvt from the target and removes what dead runs left there.
func (r *Runner) lock(ctx context.Context, n *project.Node, target connectors.Conn, rel connectors.Relation) (func(), error) {
	release := func() {}
	if l, ok := target.(connectors.Locker); ok {
		var err error
		wait := r.Project.Settings.LockWait
		err = retry.Lost(ctx, nil, func() (err error) {
			release, err = l.Lock(ctx, rel, wait, func() {
				r.emit(Info, "lock_wait", n, "", nil, fmt.Sprintf("%s: another run holds its lock, waiting up to %s", n.Name, wait))
			})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", rel, err)
		}
	}
	if err := retry.Lost(ctx, nil, func() error { return target.(connectors.Stager).CleanStaging(ctx, rel) }); err != nil {
		release()
		return nil, fmt.Errorf("removing leftovers beside %s: %w", rel, err)
	}
	return release, nil
}

// hooks runs statements on the target's connection, in its dialect.
func (r *Runner) hooks(ctx context.Context, n *project.Node, target connectors.Conn, hooks []string) error {
	for _, hook := range hooks {
		rc := r.nativeRender(n, target)
		sql, err := r.Project.RenderHook(ctx, n, hook, rc)
		if err != nil {
			return fmt.Errorf("rendering hook %q: %w", connectors.Shorten(hook), err)
		}
		if sql == "" {
			continue
		}
		if err := target.Exec(ctx, sql); err != nil {
			return fmt.Errorf("hook %q: %w", connectors.Shorten(hook), err)
		}
	}
	return nil
}

// federate lands a full result: streamed from its source where the plan says so, else
// by extracts, the model's SQL over them, and load.
func (r *Runner) federate(ctx context.Context, p *Prepared, target connectors.Conn, res *Result) error {
	if err := r.forgetChunks(p.Node); err != nil {
		return err
	}
	if err := r.cut(p); err != nil {
		return err
	}
	if p.Plan.Streamed != nil {
		return r.stream(ctx, p, target, res)
	}
	res.Plan = p.Plan
	chunks, done, err := r.pieces(ctx, p, res)
	if err != nil {
		return err
	}
	return done(r.compute(ctx, p, target, chunks, res))
}

// compute is the lane of extracts, the model's SQL over them, and load. chunks may be nil.
func (r *Runner) compute(ctx context.Context, p *Prepared, target connectors.Conn, chunks *extract.Chunks, res *Result) error {
	plan := p.Plan
	if r.Options.Empty {
		plan = emptied(plan)
	}
	before := *res
	err := r.computed(ctx, p, plan, target, chunks, res)
	if errors.Is(err, compute.ErrReadTwice) && !res.final {
		r.Log.Debug("staging everything before the query", "model", p.Node.Name, "reason", err)
		*res = before
		err = r.computed(ctx, p, plan.Staged(), target, chunks, res)
	}
	return err
}

func (r *Runner) computed(ctx context.Context, p *Prepared, plan *planner.Plan, target connectors.Conn, chunks *extract.Chunks, res *Result) error {
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(p.Node.Name)
	if err != nil {
		return err
	}
	defer r.closeModel(m, p.Node.Name)
	start := time.Now()
	progress, end := r.begin(p.Node.Name)
	defer end()
	reads, err := extract.Start(ctx, plan, m, r.Conns.Get, r.limits, progress, chunks)
	if err != nil {
		return err
	}
	res.Timings.Extract += time.Since(start)
	res.carriedOut(reads.Plan)
	err = r.replace(ctx, p, target, m, plan, reads, res)
	stats, failed := reads.Wait()
	res.addExtracts(stats)
	if failed != nil && !res.final {
		return failed
	}
	return err
}

// replace lands the query over extracts that may still run.
func (r *Runner) replace(ctx context.Context, p *Prepared, target connectors.Conn, m *compute.Model, plan *planner.Plan, reads *extract.Running, res *Result) error {
	if reads.Failed() {
		return nil // Wait says why
	}
	cols, err := resultColumns(ctx, m, plan)
	if err != nil {
		return err
	}
	spec, err := r.stageSpec(p, target, cols)
	if err != nil {
		return err
	}
	start := time.Now()
	src := &computed{model: m, sql: plan.SQL, ordered: plan.Ordered, res: res, reads: reads}
	res.Loaded, err = load.Replace(ctx, target, spec, withoutNull(p.Node, target, spec, src))
	res.Timings.Load += time.Since(start) - src.busy
	r.measure(res)
	r.Conns.Forget(p.Node.Connection, p.Target)
	return res.landed(err)
}

func (r *Runner) measure(res *Result) {
	if engine, err := r.Engine(); err == nil {
		stats := engine.Stats()
		res.PeakMemory, res.Spilled = stats.PeakMemory, stats.Spilled
	}
}

// peakMemory is the process's peak resident memory in bytes.
func peakMemory() int64 { return compute.PeakRSS() }

func (r *Runner) closeModel(m *compute.Model, name string) {
	if err := m.Close(); err != nil {
		r.Log.Warn("dropping what was staged", "model", name, "error", err)
	}
}

// computed is the result of a query of the compute engine.
type computed struct {
	model   *compute.Model
	sql     string
	ordered bool
	res     *Result
	busy    time.Duration    // computing, not waiting for the target
	reads   *extract.Running // may be nil
}

// ended waits for the extracts, of which the query needs no more: the target may be one
// of their relations.
func (c *computed) ended(err error) error {
	if c.reads == nil {
		return err
	}
	if _, failed := c.reads.Wait(); failed != nil {
		return failed
	}
	return err
}

func (c *computed) Rows(ctx context.Context, emit func(arrow.RecordBatch) error) error {
	start := time.Now()
	var handing time.Duration
	err := c.model.Query(ctx, c.sql, c.ordered, func(rec arrow.RecordBatch) error {
		t := time.Now()
		defer func() { handing += time.Since(t) }()
		c.res.RowsOut += rec.NumRows()
		return emit(rec)
	})
	c.busy = time.Since(start) - handing
	c.res.Timings.Compute += c.busy
	return c.ended(err)
}

func (c *computed) Fill(ctx context.Context, to connectors.Filler) (int64, bool, error) {
	rows, err := c.model.Fill(ctx, to, c.sql)
	c.res.RowsOut += rows
	return rows, true, c.ended(err)
}

// resultColumns are the plan's columns with the types that the execution instance
// gives them: those decide the layout of the batches.
func resultColumns(ctx context.Context, m *compute.Model, plan *planner.Plan) ([]connectors.Column, error) {
	cols, err := m.Columns(ctx, plan.SQL)
	if err != nil {
		return nil, err
	}
	if len(cols) != len(plan.Columns) {
		return nil, fmt.Errorf("the plan has %d columns but the query returns %d", len(plan.Columns), len(cols))
	}
	for i := range cols {
		if planned := plan.Columns[i]; planned.Type.Equal(cols[i].Type) {
			cols[i].Native, cols[i].Engine, cols[i].Attrs = planned.Native, planned.Engine, planned.Attrs
			cols[i].Type.Length = planned.Type.Length
		}
	}
	return cols, nil
}

// emptied is plan without any read: every relation is staged empty.
func emptied(plan *planner.Plan) *planner.Plan {
	out := *plan
	out.Extracts = append([]planner.Extract(nil), plan.Extracts...)
	for i := range out.Extracts {
		out.Extracts[i].Pruned = true
	}
	return &out
}

func targetOptions(n *project.Node, plan *planner.Plan) connectors.TargetOptions {
	c := n.Config
	key := make([]string, len(c.UniqueKey))
	for i, k := range c.UniqueKey {
		key[i] = asResult(plan.Columns, k)
	}
	return connectors.TargetOptions{
		ColumnTypes: c.ColumnTypes, Indexes: c.Indexes, UniqueKey: key, Watermark: asResult(plan.Columns, c.WatermarkColumn),
		Engine: c.Engine, OrderBy: c.OrderBy, PartitionBy: c.PartitionBy, Format: c.Format, Path: c.Path, Ordered: plan.Ordered,
	}
}

// asResult is a column's name as the result spells it, which the engine does not take for
// the setting's: in DuckDB Id and id are one.
func asResult(cols []connectors.Column, name string) string {
	for _, c := range cols {
		if compute.SameName(c.Name, name) {
			return c.Name
		}
	}
	return name
}

// render is the Jinja context of a node of this run.
func (r *Runner) render(n *project.Node) project.Render {
	return project.Render{
		Execute: true, FullRefresh: r.Options.FullRefresh, Now: r.Now, RunQuery: r.runQuery, Describe: r.describer(compute.Quote, false),
		Log: func(level, msg string) { r.macroLog(n, level, msg) },
	}
}

// macroLog prints what a macro logs: log(…, info=true), print and warnings on the
// terminal, the rest in the log file.
func (r *Runner) macroLog(n *project.Node, level, msg string) {
	switch level {
	case dbt.LogWarn:
		r.emit(Warn, "macro_log", n, "", nil, msg)
	case dbt.LogInfo, dbt.LogPrint:
		r.emit(Info, "macro_log", n, "", nil, msg)
	default:
		r.Log.Debug(r.Redact.String(msg), "model", n.Name)
	}
}

// Compile renders a model for its user to read.
func (r *Runner) Compile(ctx context.Context, n *project.Node) (string, error) {
	rc := r.render(n)
	if target, err := r.Conns.Get(n.Connection); err == nil && !n.Federated && n.Config.Materialized != project.Ephemeral && n.ResourceType == project.TypeModel {
		rc = r.nativeRender(n, target)
		rc.OwnQuery = nativeQuery(target)
	}
	c, err := r.Project.Compile(ctx, n, rc)
	if err != nil {
		return "", err
	}
	return project.Display(c.SQL), nil
}
