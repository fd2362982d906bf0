package run

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// testEngine is the connection that runs a test in its own SQL, nil when the test runs
// federated. A test speaks the language of what it tests: it is the engine's when it
// reads a model that the engine built, and everything that it reads is there; it is
// DuckDB's when it reads a federated model, more than one connection, or no model at all.
func (r *Runner) testEngine(n *project.Node) (load.Native, error) {
	built, local := false, true
	seen := map[string]bool{}
	var visit func(n *project.Node, connection string)
	visit = func(at *project.Node, connection string) {
		for _, id := range at.DependsOn {
			if seen[id] {
				continue
			}
			seen[id] = true
			if s := r.Project.Sources[id]; s != nil {
				local = local && s.Connection == connection
				continue
			}
			d := r.Project.Nodes[id]
			if d.Config.Materialized == project.Ephemeral {
				visit(d, connection)
				continue
			}
			local = local && d.Connection == connection && !d.Federated
			built = built || d.ResourceType == project.TypeModel
		}
	}
	visit(n, n.Connection)
	if !built || !local {
		return nil, nil
	}
	target, err := r.Conns.Get(n.Connection)
	if err != nil {
		return nil, err
	}
	engine, _ := target.(load.Native)
	return engine, nil
}

// nativeTest lets the engine count the failing rows, of the table that keeps them if
// they are stored.
func (r *Runner) nativeTest(ctx context.Context, n *project.Node, engine load.Native, check compute.Check, v *verdict, res *Result) error {
	sql := check.Rows(res.Compiled)
	if r.stores(n) {
		release, err := r.lock(ctx, n, engine, n.Relation())
		if err != nil {
			return err
		}
		defer release()
		if n.Test.StoreAs == "view" {
			if err := engine.CreateView(ctx, n.Relation(), sql); err != nil {
				return fmt.Errorf("storing the failing rows in %s: %w", n.Relation(), err)
			}
			return r.storedVerdict(ctx, n, engine, check, v)
		}
		rows := connectors.StageSelect{SQL: sql, StageSpec: connectors.StageSpec{RunID: r.RunID, Target: n.Relation(), Options: targetOptions(n, &planner.Plan{})}}
		if _, err := load.Build(ctx, engine, rows, func([]connectors.Column) error { return nil }); err != nil {
			return fmt.Errorf("storing the failing rows in %s: %w", n.Relation(), err)
		}
		return r.storedVerdict(ctx, n, engine, check, v)
	}
	return r.decideNative(ctx, engine, check, sql, v)
}

// storedVerdict judges the rows that are kept.
func (r *Runner) storedVerdict(ctx context.Context, n *project.Node, engine load.Native, check compute.Check, v *verdict) error {
	r.Conns.Forget(n.Connection, n.Relation())
	return r.decideNative(ctx, engine, check, compute.Selected(engine.SQLName(n.Relation())), v)
}

func (r *Runner) decideNative(ctx context.Context, engine load.Native, check compute.Check, sql string, v *verdict) error {
	check.Limit = 0 // applied already
	row, err := engine.FirstRow(ctx, check.Verdict(sql), compute.VerdictColumns)
	if err != nil {
		return err
	}
	return v.Row(row)
}
