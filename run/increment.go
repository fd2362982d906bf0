package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/watermark"
)

// increments are the loads of one incremental model in this run: one, or the chunks of
// --range. Each is prepared when its turn comes, for the one before changes the target.
type increments struct {
	count   int
	prepare func(ctx context.Context, i int) (*Prepared, error)
	// skip says why nothing is to be run.
	skip string
	// chunks are set under --range.
	chunks []watermark.Window
	window *window
}

func (in *increments) first(ctx context.Context) (*Prepared, error) {
	if in.count == 0 {
		return nil, errors.New(in.skip)
	}
	return in.prepare(ctx, 0)
}

func one(p *Prepared) *increments {
	return &increments{count: 1, prepare: func(context.Context, int) (*Prepared, error) { return p, nil }}
}

// deltaOf is a model's strategy, without the columns that only planning knows.
func deltaOf(n *project.Node) (connectors.Delta, error) {
	d := connectors.Delta{Key: n.Config.UniqueKey}
	switch n.Config.Strategy {
	case "", "merge":
		d.Strategy = connectors.StrategyMerge
		if len(d.Key) == 0 {
			d.Strategy = connectors.StrategyAppend // only where keyless says that it is safe
		}
	case "append":
		d.Strategy = connectors.StrategyAppend
		d.SkipExisting = n.Config.StrategyInsert && len(d.Key) > 0
	case "delete+insert":
		d.Strategy = connectors.StrategyDeleteInsert
	default:
		return d, fmt.Errorf("incremental_strategy '%s' is not supported: there are merge, append and delete+insert", n.Config.Strategy)
	}
	if len(d.Key) == 0 && n.Config.Strategy != "" && n.Config.Strategy != "append" {
		return d, fmt.Errorf("model '%s': incremental_strategy '%s' needs a unique_key", n.Name, n.Config.Strategy)
	}
	return d, nil
}

// prepareIncremental decides what an f_incremental model has to do. The caller holds
// the target's lock if it is going to do it.
func (r *Runner) prepareIncremental(ctx context.Context, n *project.Node, mode planMode) (*increments, error) {
	d, err := deltaOf(n)
	if err != nil {
		return nil, err
	}
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return nil, err
	}
	if err := load.CanApply(n.Connection, target, n.Config.Materialized, d); err != nil {
		return nil, err
	}
	if r.Options.Range != "" && !n.WindowStyle {
		return nil, rangeRefusal(n)
	}
	if err := r.keyless(ctx, n, d, mode); err != nil {
		return nil, err
	}
	table, err := r.standing(ctx, n, target, r.fullRefresh(n))
	if err != nil {
		return nil, err
	}
	p := &increment{runner: r, node: n, delta: d, table: table, mode: mode, dialect: target.Dialect()}
	switch {
	case n.WindowStyle:
		return p.windowStyle(ctx)
	case table == nil:
		full, err := r.prepare(ctx, n, mode, nil)
		if err == nil {
			err = namesColumns(n, full)
		}
		return one(full), err
	case n.Config.WatermarkColumn != "" && !n.IsIncrementalStyle:
		prepared, err := p.watermarkStyle(ctx)
		return one(prepared), err
	}
	prepared, err := p.jinjaStyle(ctx)
	return one(prepared), err
}

func rangeRefusal(n *project.Node) error {
	if n.IsIncrementalStyle {
		return fmt.Errorf("model '%s' uses is_incremental() (dbt style); --range requires incremental_where_cond() (sling style)", n.Name)
	}
	return fmt.Errorf("model '%s': --range requires incremental_where_cond() (sling style)", n.Name)
}

// standing is the target when it holds rows that a delta can meet; nil means a first
// run: no table, a view, an empty table, or a full refresh.
func (r *Runner) standing(ctx context.Context, n *project.Node, target connectors.Conn, refresh bool) (*connectors.Table, error) {
	if refresh {
		return nil, nil
	}
	r.Conns.Forget(n.Connection, n.Relation())
	table, err := r.Conns.Describe(ctx, n.Connection, n.Relation())
	if errors.Is(err, connectors.ErrNotFound) || err == nil && table.View {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describing the target %s: %w", n.Relation(), err)
	}
	some, err := hasRows(ctx, target, table)
	if err != nil || !some {
		return nil, err
	}
	return table, nil
}

func (r *Runner) fullRefresh(n *project.Node) bool {
	if n.Config.FullRefresh != nil {
		return *n.Config.FullRefresh
	}
	return r.Options.FullRefresh
}

// increment prepares the delta of one model whose target is table, nil on a first run.
type increment struct {
	runner  *Runner
	node    *project.Node
	delta   connectors.Delta
	table   *connectors.Table
	mode    planMode
	dialect connectors.Dialect
}

// watermarkStyle is the no-Jinja way: the rows of the output beyond the target's
// highest watermark.
func (i *increment) watermarkStyle(ctx context.Context) (*Prepared, error) {
	n, r := i.node, i.runner
	if len(n.Config.UniqueKey) == 0 && n.Config.Strategy != "append" {
		r.emit(Warn, "warning", n, "", nil, fmt.Sprintf("model '%s': watermark_column without unique_key: rebuilding the whole table; set unique_key, or incremental_strategy='append'", n.Name))
		return r.prepare(ctx, n, i.mode, nil)
	}
	mark, err := i.highest(ctx, n.Config.WatermarkColumn)
	if err != nil {
		return nil, err
	}
	compiled, err := r.Project.Compile(ctx, n, r.render(n))
	if err != nil {
		return nil, err
	}
	sql := compiled.SQL
	label := "watermark " + n.Config.WatermarkColumn + " is NULL: everything is read"
	if mark != nil {
		condition := watermark.Plain(mark).Condition(compute.Quote(n.Config.WatermarkColumn))
		if n.Config.WatermarkNulls == "include" {
			condition = "(" + condition + " OR " + compute.Quote(n.Config.WatermarkColumn) + " IS NULL)"
		}
		sql, label = compute.Filtered(sql, condition), "watermark "+condition
	} else if err := i.unfiltered(); err != nil {
		return nil, err
	}
	return i.finish(ctx, compiled, sql, nil, label)
}

// unfiltered refuses what would double rows: a result without a filter and a target
// without a key to match it by.
func (i *increment) unfiltered() error {
	if len(i.delta.Key) > 0 {
		return nil
	}
	return fmt.Errorf("model '%s': the target's watermark is NULL, so all rows would be added again, and there is no unique_key to match them by: run it with --full-refresh", i.node.Name)
}

// jinjaStyle is dbt's way: the author's SQL owns the delta.
func (i *increment) jinjaStyle(ctx context.Context) (*Prepared, error) {
	n, r := i.node, i.runner
	rc := r.render(n)
	rc.IsIncremental = true
	compiled, err := r.Project.Compile(ctx, n, rc)
	if err != nil {
		return nil, err
	}
	sql, scalars, indexed, err := r.inlineScalars(ctx, n, compiled, i.mode)
	if errors.Is(err, errNullScalar) {
		if err := i.unfiltered(); err != nil {
			return nil, err
		}
		if compiled, err = r.Project.Compile(ctx, n, r.render(n)); err != nil {
			return nil, err
		}
		return i.finish(ctx, compiled, compiled.SQL, nil, "a scalar over {{ this }} is NULL: everything is read")
	}
	if err != nil {
		return nil, err
	}
	p, err := i.finish(ctx, compiled, sql, scalars, "")
	if err == nil {
		p.indexed = indexed
	}
	return p, err
}

// finish plans the delta's SQL and fits its columns to the table.
func (i *increment) finish(ctx context.Context, compiled *project.Compiled, sql string, scalars []Scalar, mark string) (*Prepared, error) {
	mode := i.mode
	if i.table != nil {
		mode.compute = "a delta is checked as a whole before it is applied"
	}
	p, err := i.runner.prepareSQL(ctx, i.node, compiled, sql, mode, nil)
	if err != nil {
		return nil, err
	}
	p.Scalars, p.Mark = scalars, mark
	if err := namesColumns(i.node, p); err != nil {
		return nil, err
	}
	if err := contract(i.node, p.Plan.Columns); err != nil || i.table == nil {
		return p, err
	}
	d := i.delta
	p.Delta, p.Table, p.Strategy = &d, i.table, d.Strategy.String()
	target, err := i.runner.Conns.Get(i.node.Connection)
	if err != nil {
		return nil, err
	}
	if c, ok := target.(connectors.DeltaChecker); ok {
		if err := c.CheckDelta(ctx, i.table, d); err != nil {
			return nil, err
		}
	}
	p.locked = mode.locked
	i.runner.useIndex(p)
	_, err = i.runner.fit(p, p.Plan.Columns)
	return p, err
}

// namesColumns checks that the settings that name columns name the model's own, before
// anything is read.
func namesColumns(n *project.Node, p *Prepared) error {
	if err := hasColumns(p.Plan.Columns, n.Config.UniqueKey, "unique_key"); err != nil {
		return err
	}
	if n.Config.WatermarkColumn == "" {
		return nil
	}
	setting := "watermark_column"
	if n.WindowStyle {
		setting = "update_key"
	}
	return hasColumns(p.Plan.Columns, []string{n.Config.WatermarkColumn}, setting)
}

// hasColumns checks that a setting names output columns of the model.
func hasColumns(cols []connectors.Column, names []string, setting string) error {
	for _, name := range names {
		found := false
		var all []string
		for _, c := range cols {
			found = found || strings.EqualFold(c.Name, name)
			all = append(all, c.Name)
		}
		if !found {
			return fmt.Errorf("%s '%s' is not a column of the model: it has %s", setting, name, strings.Join(all, ", "))
		}
	}
	return nil
}

// fit compares the delta's columns with the target's.
func (r *Runner) fit(p *Prepared, cols []connectors.Column) (load.Fit, error) {
	conn, err := r.Conns.Get(p.Node.Connection)
	if err != nil {
		return load.Fit{}, err
	}
	policy := p.Node.Config.OnSchemaChange
	if policy == "" {
		policy = load.IgnoreChanges
	}
	return load.FitColumns(policy, p.Table, cols, conn.Dialect().TargetType)
}

// highest is the target's highest value of a column, nil if it is NULL.
func (i *increment) highest(ctx context.Context, column string) (*watermark.Value, error) {
	compiled := i.runner.Project.Own(i.node)
	value, err := i.runner.scalar(ctx, i.node, compiled, compute.Probe(compiled.SQL, "max", column), planMode{})
	if err != nil {
		return nil, fmt.Errorf("reading the highest %s of %s: %w", column, i.node.Relation(), err)
	}
	if value.text == nil {
		return nil, nil
	}
	v, err := watermark.Parse(value.typ, *value.text)
	return &v, err
}
