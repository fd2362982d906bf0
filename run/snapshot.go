package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// snapshot runs an f_snapshot model: the history of what its query returns.
func (r *Runner) snapshot(ctx context.Context, n *project.Node, target connectors.Conn, res *Result) error {
	d := connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{compute.ScdID}}
	if err := load.CanApply(n.Connection, target, n.Config.Materialized, d); err != nil {
		return err
	}
	if err := load.CanReplace(n.Connection, target); err != nil {
		return err
	}
	h, err := historyOf(ctx, n, r.Now, target)
	if err != nil {
		return err
	}
	release, err := r.lock(ctx, n, target, n.Relation())
	if err != nil {
		return err
	}
	defer release()
	start := time.Now()
	p, table, err := r.prepareSnapshot(ctx, n, target, &h)
	res.Timings.Plan = time.Since(start)
	if err != nil {
		return err
	}
	res.Plan, res.Compiled = p.Plan, project.Display(p.Compiled.SQL)
	if err := r.hooks(ctx, n, target, n.Config.PreHook); err != nil {
		return err
	}
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(n.Name)
	if err != nil {
		return err
	}
	defer r.closeModel(m, n.Name)
	s := &snapshotRun{runner: r, p: p, h: h, m: m, target: target, table: table, res: res, delta: d}
	if err := s.run(ctx); err != nil {
		return err
	}
	r.measure(res)
	return r.hooks(ctx, n, target, n.Config.PostHook)
}

// historyOf reads the snapshot's settings; what they lack is said before anything is
// read.
func historyOf(ctx context.Context, n *project.Node, now time.Time, target connectors.Conn) (compute.History, error) {
	c := n.Config
	h := compute.History{Key: c.UniqueKey, Now: now, Digits: 6, OpenUntil: c.ValidToCurrent}
	if t, ok := target.(connectors.Clocked); ok {
		digits, err := t.TimestampDigits(ctx)
		if err != nil {
			return h, err
		}
		h.Digits = digits
	}
	if len(c.UniqueKey) == 0 {
		return h, fmt.Errorf("model '%s': f_snapshot needs a unique_key", n.Name)
	}
	switch c.HardDeletes {
	case "invalidate":
		h.Close = true
	case "new_record":
		h.Close, h.Mark = true, true
	}
	switch c.Strategy {
	case "timestamp":
		if c.UpdatedAt == "" {
			return h, fmt.Errorf("model '%s': strategy 'timestamp' needs updated_at", n.Name)
		}
		h.UpdatedAt = c.UpdatedAt
	case "check":
		if len(c.CheckCols) == 0 && !c.CheckAll {
			return h, fmt.Errorf("model '%s': strategy 'check' needs check_cols: a list of columns, or 'all'", n.Name)
		}
		h.Check = c.CheckCols
	default:
		return h, fmt.Errorf("model '%s': f_snapshot needs strategy 'timestamp' or 'check', not '%s'", n.Name, c.Strategy)
	}
	return h, nil
}

// prepareSnapshot plans the current state and finds the history that stands; table is
// nil when there is none.
func (r *Runner) prepareSnapshot(ctx context.Context, n *project.Node, target connectors.Conn, h *compute.History) (*Prepared, *connectors.Table, error) {
	refresh := r.fullRefresh(n)
	table, err := r.standing(ctx, n, target, refresh)
	if err != nil {
		return nil, nil, err
	}
	if refresh {
		if _, err := r.Conns.Describe(ctx, n.Connection, n.Relation()); err == nil {
			r.emit(Warn, "warning", n, "", nil, fmt.Sprintf("model '%s': --full-refresh: the history of %s is lost", n.Name, n.Relation()))
		}
	}
	p, err := r.prepare(ctx, n, planMode{live: true, compute: "the current state is compared with the history"}, nil)
	if err != nil {
		return nil, nil, err
	}
	p.Strategy = "snapshot"
	if c, ok := target.(connectors.DeltaChecker); ok && table != nil {
		if err := c.CheckDelta(ctx, table, connectors.Delta{Strategy: connectors.StrategyMerge, Key: []string{compute.ScdID}}); err != nil {
			return nil, nil, err
		}
	}
	if err := hasColumns(p.Plan.Columns, h.Key, "unique_key"); err != nil {
		return nil, nil, err
	}
	if h.UpdatedAt != "" {
		if err := hasColumns(p.Plan.Columns, []string{h.UpdatedAt}, "updated_at"); err != nil {
			return nil, nil, err
		}
	}
	if err := hasColumns(p.Plan.Columns, h.Check, "check_cols"); err != nil {
		return nil, nil, err
	}
	return p, table, nil
}

// snapshotRun is one run of one snapshot.
type snapshotRun struct {
	runner *Runner
	p      *Prepared
	h      compute.History
	m      *compute.Model
	target connectors.Conn
	table  *connectors.Table
	res    *Result
	delta  connectors.Delta
}

func (s *snapshotRun) run(ctx context.Context) error {
	if err := s.extract(ctx, s.p); err != nil {
		return err
	}
	start := time.Now()
	_, err := s.m.Keep(ctx, "current", s.p.Plan.SQL)
	s.res.Timings.Compute += time.Since(start)
	if err != nil {
		return err
	}
	current := compute.Kept("current")
	if err := s.check(ctx, current); err != nil {
		return err
	}
	cols, err := resultColumns(ctx, s.m, s.p.Plan)
	if err != nil {
		return err
	}
	for _, c := range cols {
		s.h.Columns = append(s.h.Columns, c.Name)
	}
	if s.table == nil {
		return s.first(ctx, cols, current)
	}
	return s.next(ctx, cols, current)
}

func (s *snapshotRun) extract(ctx context.Context, p *Prepared) error {
	start := time.Now()
	_, stats, err := extract.Run(ctx, p.Plan, s.m, s.runner.Conns.Get, s.runner.limits, &extract.Progress{})
	s.res.Extracts = append(s.res.Extracts, stats...)
	s.res.Timings.Extract += time.Since(start)
	return err
}

// check refuses a current state that has two rows for one key, or a row without a time.
func (s *snapshotRun) check(ctx context.Context, current string) error {
	r := s.runner
	surplus, err := s.m.Int(ctx, compute.SurplusRows(current, s.h.Key))
	if err != nil {
		return err
	}
	if surplus > 0 {
		if err := r.repeated(ctx, s.m, compute.RepeatedKey(current, s.h.Key), s.h.Key, "the same unique_key stands in several rows of the result, so its history would be ambiguous"); err != nil {
			return err
		}
	}
	if s.h.UpdatedAt == "" {
		return nil
	}
	return r.repeated(ctx, s.m, s.h.MissingTime(current), s.h.Key, "updated_at '"+s.h.UpdatedAt+"' is NULL")
}

// metaColumns are dvt's own columns with their pinned types.
func (s *snapshotRun) metaColumns() []connectors.Column {
	stamp := connectors.T(connectors.Timestamp)
	cols := []connectors.Column{
		{Name: compute.ScdID, Type: connectors.Type{Kind: connectors.Varchar, Length: 64}}, {Name: compute.ScdAt, Type: stamp},
		{Name: compute.ScdFrom, Type: stamp}, {Name: compute.ScdTo, Type: stamp},
	}
	if s.h.Mark {
		cols = append(cols, connectors.Column{Name: compute.ScdGone, Type: connectors.Type{Kind: connectors.Varchar, Length: 5}})
	}
	return cols
}

// first lands a new history.
func (s *snapshotRun) first(ctx context.Context, cols []connectors.Column, current string) error {
	n := s.p.Node
	options := targetOptions(n, s.p.Plan)
	options.UniqueKey, options.NamedBy, options.Watermark = []string{compute.ScdID}, n.Config.UniqueKey, ""
	if s.h.OpenUntil == "" {
		options.NullsRead = compute.ScdTo
	}
	spec := connectors.StageSpec{RunID: s.runner.RunID, Target: s.p.Target, Columns: append(cols, s.metaColumns()...), Options: options}
	start := time.Now()
	src := &computed{model: s.m, sql: s.h.First(current), res: s.res}
	var err error
	s.res.Loaded, err = load.Replace(ctx, s.target, spec, src)
	s.res.Timings.Load += time.Since(start) - src.busy
	s.runner.Conns.Forget(s.p.Node.Connection, s.p.Target)
	return s.res.landed(err)
}

// next lands what changed since the last run as one merge, or nothing.
func (s *snapshotRun) next(ctx context.Context, cols []connectors.Column, current string) error {
	r, n := s.runner, s.p.Node
	s.p.Delta, s.p.Table = &s.delta, s.table
	meta := s.metaColumns()
	names, as, to := columnTexts(cols, meta)
	with := compute.CastColumns(current, names, as, to)
	fit, sql, err := r.fitted(ctx, s.p, s.m, with)
	if err != nil {
		return err
	}
	if _, err := s.m.Keep(ctx, "fitted", sql); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	s.columns(fit)
	start := time.Now()
	current, open, err := s.aligned(ctx, &fit)
	if err != nil {
		return err
	}
	if err := s.ended(ctx, fit, current, open); err != nil {
		return err
	}
	rows, err := s.m.Keep(ctx, "changes", s.h.Changes(current, open))
	s.res.Timings.Compute += time.Since(start)
	if err != nil || rows == 0 && len(fit.Alter) == 0 {
		return err // nothing changed: the target is not written
	}
	s.delta.Update = append([]string{compute.ScdTo}, s.h.Fresh...)
	d := s.delta
	d.Alter = fit.Alter
	for _, c := range fit.Columns {
		d.Columns = append(d.Columns, c.Name)
	}
	options := targetOptions(n, s.p.Plan)
	options.UniqueKey, options.NamedBy, options.Watermark = []string{compute.ScdID}, n.Config.UniqueKey, ""
	spec := connectors.StageSpec{RunID: r.RunID, Target: s.p.Target, Columns: fit.Columns, Options: options}
	start = time.Now()
	none := make([]string, len(d.Columns))
	src := &computed{model: s.m, sql: compute.CastColumns(compute.Kept("changes"), d.Columns, d.Columns, none), res: s.res}
	s.res.Loaded, _, err = load.Apply(ctx, s.target, spec, d, src)
	s.res.Timings.Load += time.Since(start) - src.busy
	if len(fit.Alter) > 0 {
		r.Conns.Forget(n.Connection, s.p.Target)
	}
	return s.res.landed(err)
}

// columnTexts are the columns of a current state with dvt's own as typed NULLs.
func columnTexts(cols, meta []connectors.Column) (names, as, to []string) {
	for _, c := range cols {
		names, as, to = append(names, c.Name), append(as, c.Name), append(to, "")
	}
	for _, c := range meta {
		names, as, to = append(names, ""), append(as, c.Name), append(to, c.Type.String())
	}
	return names, as, to
}

// open reads the open versions back from the target.
func (s *snapshotRun) open(ctx context.Context) error {
	own := s.runner.Project.Own(s.p.Node)
	p, err := s.readBack(ctx, own, s.h.OpenVersions(own.SQL))
	if err != nil {
		return err
	}
	for _, x := range s.p.Plan.Extracts {
		for _, o := range p.Plan.Extracts {
			if x.Relation.Catalog == o.Relation.Catalog && x.Relation.Schema == o.Relation.Schema && x.Relation.Name == o.Relation.Name {
				return errors.New("an f_snapshot cannot read its own relation")
			}
		}
	}
	_, err = s.keep(ctx, "open", p)
	return err
}

// readBack extracts what sql, over all rows of the history, selects.
func (s *snapshotRun) readBack(ctx context.Context, own *project.Compiled, sql string) (*Prepared, error) {
	p, err := s.runner.prepareSQL(ctx, s.p.Node, own, sql, planMode{live: true, compute: "the current state is compared with the history"}, nil)
	if err != nil {
		return nil, fmt.Errorf("planning the read of the history: %w", err)
	}
	if err := s.extract(ctx, p); err != nil {
		return nil, err
	}
	s.res.Plan = joinPlans(s.res.Plan, p.Plan)
	return p, nil
}

// keep keeps what was read back; the history may be read again after it.
func (s *snapshotRun) keep(ctx context.Context, name string, p *Prepared) (int64, error) {
	rows, err := s.m.Keep(ctx, name, p.Plan.SQL)
	for _, x := range p.Plan.Extracts {
		if err == nil {
			err = s.m.Unstage(ctx, x.Relation.Catalog, x.Relation.Schema, x.Relation.Name)
		}
	}
	return rows, err
}

// ended reads, where keys come that have no open version, the versions that ended after
// the first of them would begin: no two versions of a key may overlap. Only a history
// whose versions end without a next one has such.
func (s *snapshotRun) ended(ctx context.Context, fit load.Fit, current, open string) error {
	if !s.h.Close || s.h.Mark {
		return nil
	}
	first, err := textRow(ctx, s.m, s.h.FirstComing(current, open))
	if err != nil || first == nil || first[0] == nil {
		return err
	}
	own := s.runner.Project.Own(s.p.Node)
	p, err := s.readBack(ctx, own, s.h.EndedVersions(own.SQL, *first[0]))
	if err != nil {
		return err
	}
	rows, err := s.keep(ctx, "ended", p)
	if err != nil || rows == 0 {
		return err
	}
	types := make([]string, len(s.h.Key))
	for i, k := range s.h.Key {
		for _, c := range fit.Columns {
			if strings.EqualFold(c.Name, k) {
				types[i] = c.Type.String()
			}
		}
	}
	if _, err := s.m.Keep(ctx, "ends", s.h.LastEnds(compute.Kept("ended"), types)); err != nil {
		return err
	}
	s.h.Ended = compute.Kept("ends")
	return nil
}

// columns settles which columns the history has and which are compared.
func (s *snapshotRun) columns(fit load.Fit) {
	old := map[string]bool{}
	for _, c := range s.table.Columns {
		old[strings.ToLower(c.Name)] = true
	}
	meta := map[string]bool{}
	for _, c := range s.metaColumns() {
		meta[c.Name] = true
	}
	s.h.Columns, s.h.Fresh = nil, nil
	var check []string
	for _, c := range fit.Columns {
		name := strings.ToLower(c.Name)
		if meta[name] {
			continue
		}
		if !old[name] {
			s.h.Fresh = append(s.h.Fresh, c.Name)
			continue
		}
		s.h.Columns = append(s.h.Columns, c.Name)
		check = append(check, c.Name)
	}
	if s.p.Node.Config.CheckAll && s.h.UpdatedAt == "" {
		s.h.Check = check
	}
}

// joinPlans is plan with the reads of another, for the account of a run.
func joinPlans(plan, more *planner.Plan) *planner.Plan {
	out := *plan
	out.Extracts = append(append([]planner.Extract(nil), plan.Extracts...), more.Extracts...)
	return &out
}
