package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// nativeLane is the lane of models that their target builds in its own SQL.
const nativeLane = "native"

func nativeReason(n *project.Node) string {
	return "all that it reads is on " + n.Connection + ", which runs it in its own SQL"
}

// native builds one view, table or incremental model.
type native struct {
	runner *Runner
	node   *project.Node
	target load.Native
	res    *Result
}

// native runs a model whose relations are all on its target, in the target's own SQL.
func (r *Runner) native(ctx context.Context, n *project.Node, target connectors.Conn, res *Result) error {
	b, err := load.CanBuild(n.Connection, target, n.Config.Materialized)
	if err != nil {
		return err
	}
	if n.Config.Materialized == project.Incremental {
		if err := dbtStyle(n); err != nil {
			return err
		}
	}
	release, err := r.lock(ctx, n, target, n.Relation())
	if err != nil {
		return err
	}
	defer release()
	if err := r.hooks(ctx, n, target, n.Config.PreHook); err != nil {
		return err
	}
	res.final = true // building and taking the place of the old is one step
	start := time.Now()
	x := &native{runner: r, node: n, target: b, res: res}
	switch n.Config.Materialized {
	case project.View:
		err = x.view(ctx)
	case project.Table:
		err = x.table(ctx)
	case project.Incremental:
		err = x.incremental(ctx)
	default:
		err = fmt.Errorf("materialized '%s' is not run by this version; use materialized='f_table'", n.Config.Materialized)
	}
	res.Timings.Load = time.Since(start) - res.Timings.Plan
	if err != nil {
		return err
	}
	r.Conns.Forget(n.Connection, n.Relation())
	return r.hooks(ctx, n, target, n.Config.PostHook)
}

// dbtStyle refuses settings of f_incremental that have no meaning in the engine's SQL.
func dbtStyle(n *project.Node) error {
	switch {
	case n.WindowStyle:
		return fmt.Errorf("model '%s': incremental_where_cond() and incremental_value() need materialized='f_incremental'", n.Name)
	case n.Config.WatermarkColumn != "" && !n.IsIncrementalStyle:
		return fmt.Errorf("model '%s': watermark_column without is_incremental() needs materialized='f_incremental'", n.Name)
	}
	return nil
}

// nativeRender renders SQL for the connection that n lands on, in the engine's dialect.
func (r *Runner) nativeRender(n *project.Node, target connectors.Conn) project.Render {
	d := target.Dialect()
	name := d.Relation
	if b, ok := target.(connectors.Builder); ok {
		name = b.SQLName
	}
	rc := r.render(n)
	rc.Dialect = strings.ToLower(r.Project.Outputs[n.Connection].Type)
	rc.Describe = r.describer(d.Quote, true)
	rc.Quote = func(_, schema, ident string) string {
		if schema == "" {
			return d.Quote(ident)
		}
		return name(connectors.Relation{Schema: schema, Name: ident})
	}
	return rc
}

// compile renders the model, and makes it empty under --empty.
func (x *native) compile(ctx context.Context, incremental bool) (string, error) {
	start := time.Now()
	rc := x.runner.nativeRender(x.node, x.target)
	rc.IsIncremental, rc.OwnQuery = incremental, nativeQuery(x.target)
	c, err := x.runner.Project.Compile(ctx, x.node, rc)
	x.res.Timings.Plan += time.Since(start)
	if err != nil {
		return "", err
	}
	x.res.Compiled = c.SQL
	if x.runner.Options.Empty && x.node.Config.Materialized != project.View {
		return connectors.EmptySelect(c.SQL), nil
	}
	return c.SQL, nil
}

func (x *native) view(ctx context.Context) error {
	sql, err := x.compile(ctx, false)
	if err != nil {
		return err
	}
	if x.node.Contract() {
		cols, err := x.target.ResultColumns(ctx, sql)
		if err == nil {
			err = contract(x.node, cols)
		}
		if err != nil {
			return err
		}
	}
	if err := x.target.CreateView(ctx, x.node.Relation(), sql); err != nil {
		return err
	}
	x.res.Response = "CREATE VIEW"
	return nil
}

func (x *native) table(ctx context.Context) error {
	sql, err := x.compile(ctx, false)
	if err != nil {
		return err
	}
	s := x.stage(sql, nil)
	if s.Options, err = x.runner.constrained(x.node, x.target, s.Options); err != nil {
		return err
	}
	s.Options.DataTypes = declaredTypes(x.node)
	x.res.Loaded, err = load.Build(ctx, x.target, s, func(cols []connectors.Column) error { return contract(x.node, cols) })
	x.res.RowsOut = x.res.Loaded.Inserted
	x.res.Response = fmt.Sprintf("SELECT %d", x.res.RowsOut)
	return err
}

func (x *native) stage(sql string, unique []string) connectors.StageSelect {
	return connectors.StageSelect{
		StageSpec: connectors.StageSpec{RunID: x.runner.RunID, Target: x.node.Relation(), Options: targetOptions(x.node, &planner.Plan{})},
		SQL:       sql, Unique: unique,
	}
}

// incremental is dbt's: the author's SQL says what is new, the strategy how it lands.
func (x *native) incremental(ctx context.Context) error {
	n, r := x.node, x.runner
	d, err := deltaOf(n)
	if err != nil {
		return err
	}
	if err := load.CanApply(n.Connection, x.target, n.Config.Materialized, d); err != nil {
		return err
	}
	table, err := r.standing(ctx, n, x.target, r.fullRefresh(n))
	if err != nil {
		return err
	}
	if table == nil {
		return x.table(ctx)
	}
	sql, err := x.compile(ctx, true)
	if err != nil {
		return err
	}
	var unique []string
	if d.Strategy == connectors.StrategyMerge || d.SkipExisting {
		unique = d.Key
	}
	x.res.Loaded, x.res.RowsOut, err = load.ApplySelect(ctx, x.target, x.stage(sql, unique), func(cols []connectors.Column) (connectors.Delta, error) {
		return x.delta(d, table, cols)
	})
	verb := "INSERT"
	if d.Strategy == connectors.StrategyMerge {
		verb = "MERGE"
	}
	x.res.Response = fmt.Sprintf("%s %d", verb, x.res.RowsOut)
	return err
}

// delta fits what was staged to the table that takes it.
func (x *native) delta(d connectors.Delta, table *connectors.Table, cols []connectors.Column) (connectors.Delta, error) {
	n := x.node
	if err := contract(n, cols); err != nil {
		return d, err
	}
	if err := hasColumns(cols, d.Key, "unique_key"); err != nil {
		return d, err
	}
	fit, err := load.FitNative(orDefault(n.Config.OnSchemaChange, load.IgnoreChanges), table, cols)
	if err != nil {
		return d, err
	}
	if len(fit.Dropped) > 0 {
		x.runner.emit(Warn, "warning", n, "", nil, fmt.Sprintf("model '%s': the target lacks %s: left out (on_schema_change is 'ignore')", n.Name, strings.Join(fit.Dropped, ", ")))
	}
	if err := required(table, fit); err != nil {
		return d, err
	}
	d.Alter, d.Key = fit.Alter, slices.Clone(d.Key)
	for _, c := range fit.Columns {
		d.Columns = append(d.Columns, c.Name)
	}
	for i, k := range d.Key {
		d.Key[i] = spelled(d.Columns, k)
	}
	d.Update, err = updated(n, d.Columns)
	return d, err
}

// updated reads dbt's merge_update_columns and merge_exclude_columns; nil means all.
func updated(n *project.Node, columns []string) ([]string, error) {
	only, but := list(n.Config.Raw["merge_update_columns"]), list(n.Config.Raw["merge_exclude_columns"])
	switch {
	case len(only) > 0 && len(but) > 0:
		return nil, fmt.Errorf("model '%s': merge_update_columns and merge_exclude_columns exclude each other: use one", n.Name)
	case len(only) > 0:
		for i, c := range only {
			only[i] = spelled(columns, c)
		}
		return only, nil
	case len(but) > 0:
		return slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
			return slices.ContainsFunc(but, func(b string) bool { return strings.EqualFold(b, c) })
		}), nil
	}
	return nil, nil
}

// list reads a setting that is a word or a list of words.
func list(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		out := make([]string, len(v))
		for i, x := range v {
			out[i] = fmt.Sprint(x)
		}
		return out
	}
	return nil
}

func spelled(columns []string, name string) string {
	for _, c := range columns {
		if strings.EqualFold(c, name) {
			return c
		}
	}
	return name
}

func orDefault(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// explainNative prepares a model that its target builds, for explain: there is nothing to
// plan.
func (r *Runner) explainNative(ctx context.Context, n *project.Node) (*Prepared, error) {
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return nil, err
	}
	b, err := load.CanBuild(n.Connection, target, n.Config.Materialized)
	if err != nil {
		return nil, err
	}
	p := &Prepared{Node: n, Target: n.Relation(), Strategy: "replace"}
	incremental := false
	if n.Config.Materialized == project.Incremental {
		if err := dbtStyle(n); err != nil {
			return nil, err
		}
		d, err := deltaOf(n)
		if err != nil {
			return nil, err
		}
		if p.Table, err = r.standing(ctx, n, target, r.fullRefresh(n)); err != nil {
			return nil, err
		}
		if incremental = p.Table != nil; incremental {
			p.Delta, p.Strategy = &d, d.Strategy.String()
		}
	}
	x := &native{runner: r, node: n, target: b, res: &Result{}}
	sql, err := x.compile(ctx, incremental)
	if err != nil {
		return nil, err
	}
	p.Plan = &planner.Plan{Lane: nativeLane, LaneReason: nativeReason(n), SQL: sql}
	return p, nil
}
