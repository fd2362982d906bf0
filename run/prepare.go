package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// Prepared is a model ready to run: what explain prints and run walks.
type Prepared struct {
	Node     *project.Node
	Compiled *project.Compiled
	Plan     *planner.Plan
	Target   connectors.Relation
	// Strategy is replace, merge, append or delete+insert.
	Strategy string
	// Delta says how the result meets the rows that are there; nil: it replaces them.
	Delta *connectors.Delta
	// Table is the target as it is, when there is a Delta.
	Table *connectors.Table
	// Scalars are the subqueries that were evaluated first.
	Scalars []Scalar
	// Mark is how an incremental model knows what is new, for explain.
	Mark string
	// chunks is how a first load is cut, nil for one piece.
	chunks *chunking
	// window is set for window-style models.
	window *window
	// locked says that this run holds the target's lock, so that the index of {{ this }}
	// may be used; indexed that a scalar of the model read it.
	locked, indexed bool
}

// Scalar is a subquery that was evaluated before the model and became a literal.
type Scalar struct {
	SQL     string `json:"sql"`
	Literal string `json:"literal"`
}

// planMode is how far planning may reach.
type planMode struct {
	// live asks servers first and describes only what exists; otherwise a model that
	// is not built yet takes its columns from its own plan.
	live bool
	// locked: the run holds the target's lock.
	locked bool
	// offline asks no server at all.
	offline bool
	// compute says why the result has to pass through the compute engine, "" if it need
	// not.
	compute string
	// wrap changes the compiled SQL before it is planned.
	wrap func(string) string
}

// Explain renders and plans a model without requiring what it refers to to exist yet.
func (r *Runner) Explain(ctx context.Context, n *project.Node) (*Prepared, error) {
	if !n.Federated {
		return r.explainNative(ctx, n)
	}
	if n.Config.Materialized == project.FIncremental {
		all, err := r.prepareIncremental(ctx, n, planMode{})
		if err != nil {
			return nil, err
		}
		p, err := all.first(ctx)
		if err != nil {
			return nil, err
		}
		return p, r.cut(p)
	}
	p, err := r.prepare(ctx, n, planMode{}, nil)
	if err != nil {
		return nil, err
	}
	return p, r.cut(p)
}

// ExplainOffline plans from declared columns alone; no connection is opened.
func (r *Runner) ExplainOffline(ctx context.Context, n *project.Node) (*Prepared, error) {
	return r.prepare(ctx, n, planMode{offline: true}, nil)
}

// prepare plans a full build of n. path holds the models whose plans asked for this one.
func (r *Runner) prepare(ctx context.Context, n *project.Node, mode planMode, path []string) (*Prepared, error) {
	compiled, err := r.Project.Compile(ctx, n, r.render(n))
	if err != nil {
		return nil, err
	}
	p, err := r.prepareSQL(ctx, n, compiled, compiled.SQL, mode, path)
	if err == nil {
		err = contract(n, p.Plan.Columns)
	}
	return p, err
}

// prepareSQL plans SQL that stems from a node's compiled SQL.
func (r *Runner) prepareSQL(ctx context.Context, n *project.Node, compiled *project.Compiled, sql string, mode planMode, path []string) (*Prepared, error) {
	p := &Prepared{Node: n, Compiled: compiled, Target: n.Relation(), Strategy: "replace"}
	if mode.wrap != nil {
		// Before it is wrapped, what is wrong with it is said of the user's own text.
		if _, err := r.planner.Relations(ctx, sql); err != nil {
			return nil, r.located(n, err)
		}
		sql = mode.wrap(sql)
	}
	input, err := r.input(ctx, n, compiled, sql, mode, path)
	if err == nil {
		p.Plan, err = r.plan(ctx, input, mode)
	}
	if err == nil && mode.compute != "" && p.Plan.LaneReason == planner.ReasonAsked {
		p.Plan.LaneReason = mode.compute
	}
	if err != nil {
		return nil, r.located(n, err)
	}
	return p, nil
}

// input gathers what a plan of sql depends on: the relations that it names, described.
func (r *Runner) input(ctx context.Context, n *project.Node, compiled *project.Compiled, sql string, mode planMode, path []string) (planner.Input, error) {
	var together string
	switch {
	case n.Config.ChunkColumn != "":
		together = "chunk_column: its pieces may be of an earlier run"
	case n.WindowStyle || r.Options.Range != "": // the figures of all its loads are those of one plan's extracts
		together = "the model is loaded in several windows"
	}
	input := planner.Input{Together: together, ForceCompute: n.Config.Lane == "compute" || r.Options.Empty || mode.compute != "", Model: n.Name, File: n.Path, SQL: sql, Target: n.Relation(), TargetConnection: n.Connection, Now: r.Now,
		DisabledRules: r.Options.DisabledRules, Stream: r.Options.Stream}
	names, err := r.planner.Relations(ctx, sql)
	if err != nil {
		return input, err
	}
	uses := map[[3]string]project.RelationUse{}
	for _, u := range compiled.Relations {
		uses[[3]string{u.Catalog, u.Schema, u.Name}] = u
	}
	seen := map[[3]string]bool{}
	for _, name := range names {
		key := [3]string{name.Catalog, name.Schema, name.Name}
		use, ok := uses[key]
		if !ok || seen[key] {
			continue // the planner says what is wrong with a name of no source or ref
		}
		seen[key] = true
		rel, err := r.resolve(ctx, n, use, mode, path)
		if err != nil {
			return input, err
		}
		input.Relations = append(input.Relations, rel)
		input.ForceCompute = input.ForceCompute || r.sharesResource(rel.Connection, n.Connection)
	}
	return input, nil
}

// sharesResource says that rows cannot be streamed from one connection to the other.
func (r *Runner) sharesResource(from, to string) bool {
	resource := func(name string) string {
		conn, err := r.Conns.Get(name)
		if err != nil {
			return ""
		}
		if one, ok := conn.(connectors.OneWriter); ok {
			return one.Resource()
		}
		return ""
	}
	shared := resource(from)
	return shared != "" && shared == resource(to)
}

// plan plans, probes the types that a catalog left open over the rows that would be
// pulled, and plans again with the answers.
func (r *Runner) plan(ctx context.Context, input planner.Input, mode planMode) (*planner.Plan, error) {
	plan, err := r.planner.Plan(ctx, input)
	if err != nil || !mode.live {
		return plan, err
	}
	probed := false
	for _, x := range plan.Extracts {
		if x.Pruned {
			continue
		}
		ok, err := r.probe(ctx, input.Relations, x)
		if err != nil {
			return nil, fmt.Errorf("probing the types of %s: %w", x.Relation.Label, err)
		}
		probed = probed || ok
	}
	if !probed {
		return plan, nil
	}
	return r.planner.Plan(ctx, input)
}

// probe settles the open types of one extract in relations.
func (r *Runner) probe(ctx context.Context, relations []planner.Relation, x planner.Extract) (bool, error) {
	var open []int
	for _, i := range x.Columns {
		if t := x.Relation.Table.Columns[i].Type; t.Kind == connectors.Decimal && t.Precision == 0 {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return false, nil
	}
	conn, err := r.Conns.Get(x.Relation.Connection)
	if err != nil {
		return false, err
	}
	col := x.Relation.Table.Columns[open[0]]
	prober, ok := conn.(connectors.Prober)
	if !ok {
		return false, &connectors.TypeError{Column: col.Name, Native: col.Native, Reason: "its precision is not declared; set data_type: decimal(p,s) for the column of the source"}
	}
	types, err := prober.Probe(ctx, x.Relation.Table, open, x.Where)
	if err != nil {
		return false, err
	}
	for i := range relations {
		rel := &relations[i]
		if rel.Connection != x.Relation.Connection || rel.Schema != x.Relation.Schema || rel.Name != x.Relation.Name {
			continue
		}
		table := *rel.Table
		table.Columns = append([]connectors.Column(nil), table.Columns...)
		for j, c := range open {
			// Another extract of the relation may have needed more.
			if t := &table.Columns[c].Type; t.Precision == 0 || t.Scale < types[j].Scale {
				*t = types[j]
			}
		}
		rel.Table = &table
	}
	return true, nil
}

// resolve finds the columns of one relation that a model names.
func (r *Runner) resolve(ctx context.Context, n *project.Node, use project.RelationUse, mode planMode, path []string) (planner.Relation, error) {
	rel := planner.Relation{Catalog: use.Catalog, Schema: use.Schema, Name: use.Name, Label: use.Label, Connection: use.Connection}
	conn, err := r.Conns.Get(rel.Connection)
	if err != nil {
		return rel, err
	}
	rel.Dialect = conn.Dialect()
	if src := r.Project.Sources[use.NodeID]; src != nil {
		rel.Table, err = r.sourceTable(ctx, src, mode)
		return rel, r.relationError(use, err)
	}
	at := use.Relation
	if !mode.offline {
		rel.Table, err = r.Conns.Describe(ctx, rel.Connection, at)
	}
	node := r.Project.Nodes[use.NodeID]
	if node != nil && !mode.live && (mode.offline || errors.Is(err, connectors.ErrNotFound)) {
		rel.Table, err = r.plannedTable(ctx, node, at, mode, path)
	}
	if errors.Is(err, connectors.ErrNotFound) && node != nil {
		err = fmt.Errorf("%s does not exist on %s: run it first (dvt run -s +%s)", at, rel.Connection, n.Name)
	}
	return rel, r.relationError(use, err)
}

func (r *Runner) relationError(use project.RelationUse, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (connection %s): %w", use.Label, use.Connection, err)
}

// plannedTable gives a model that is not built yet the columns of its own plan.
func (r *Runner) plannedTable(ctx context.Context, n *project.Node, at connectors.Relation, mode planMode, path []string) (*connectors.Table, error) {
	r.mu.Lock()
	cols, ok := r.plannedAs[n.UniqueID]
	r.mu.Unlock()
	if !ok {
		for _, p := range path {
			if p == n.UniqueID {
				return nil, fmt.Errorf("%s needs itself", n.Name)
			}
		}
		mode.wrap = nil
		p, err := r.prepare(ctx, n, mode, append(path, n.UniqueID))
		if err != nil {
			return nil, err
		}
		for _, c := range p.Plan.Columns {
			c.Native, c.Engine, c.Nullable, c.Attrs = "", "", true, nil
			cols = append(cols, c)
		}
		r.mu.Lock()
		r.plannedAs[n.UniqueID] = cols
		r.mu.Unlock()
	}
	return &connectors.Table{Relation: at, Columns: cols, RowEstimate: -1}, nil
}

// sourceTable asks the server for a source's columns and applies the types that the
// project declares. When the server cannot be asked, declared columns stand in if all
// have a type.
func (r *Runner) sourceTable(ctx context.Context, src *project.Source, mode planMode) (*connectors.Table, error) {
	at := src.Relation()
	declared, complete, err := declaredColumns(src)
	if err != nil {
		return nil, err
	}
	if mode.offline && !complete {
		return nil, fmt.Errorf("its columns are not all declared with a data_type, so it cannot be planned without its server")
	}
	if !mode.offline {
		table, err := r.Conns.Describe(ctx, src.Connection, at)
		if err == nil {
			return withDeclared(table, declared), nil
		}
		if mode.live || !complete || errors.Is(err, connectors.ErrNotFound) {
			return nil, err
		}
		r.emit(Warn, "warning", nil, "", nil, fmt.Sprintf("source %s.%s: planned from its declared columns, for its server cannot be asked: %v", src.SourceName, src.Name, err))
	}
	return &connectors.Table{Relation: at, Columns: declared, RowEstimate: -1}, nil
}

// declaredColumns are the columns of a source that carry a data_type; complete says
// that all do and there is at least one.
func declaredColumns(src *project.Source) (cols []connectors.Column, complete bool, err error) {
	complete = len(src.Columns) > 0
	for _, c := range src.Columns {
		if c.DataType == "" {
			complete = false
			continue
		}
		t, err := connectors.ParseType(c.DataType)
		if err != nil {
			return nil, false, fmt.Errorf("data_type of column %q (%s): %w", c.Name, src.Path, err)
		}
		cols = append(cols, connectors.Column{Name: c.Name, Type: t, Nullable: true})
	}
	return cols, complete, nil
}

func withDeclared(table *connectors.Table, declared []connectors.Column) *connectors.Table {
	if len(declared) == 0 {
		return table
	}
	out := *table
	out.Columns = append([]connectors.Column(nil), table.Columns...)
	for _, d := range declared {
		if i := out.Index(d.Name); i >= 0 && !out.Columns[i].Type.Equal(d.Type) {
			out.Columns[i].Type = d.Type
		}
	}
	return &out
}

// located gives an error of the planner the file it speaks of.
func (r *Runner) located(n *project.Node, err error) error {
	var pe *planner.Error
	if errors.As(err, &pe) && pe.File == "" {
		pe.File = n.Path
	}
	return err
}
