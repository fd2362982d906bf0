package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja"
	"github.com/dvt-dev/dvt/jinja/dbt"
	"github.com/dvt-dev/dvt/project"
)

// StartHooks runs on-run-start on the default target, in its dialect.
func (r *Runner) StartHooks(ctx context.Context) error {
	return r.projectHooks(ctx, "on-run-start", r.Project.OnRunStart, nil)
}

// EndHooks runs on-run-end, which sees what became of the run's nodes.
func (r *Runner) EndHooks(ctx context.Context, results []*Result) error {
	return r.projectHooks(ctx, "on-run-end", r.Project.OnRunEnd, r.endVars(results))
}

func (r *Runner) projectHooks(ctx context.Context, when string, hooks []string, vars map[string]jinja.Value) error {
	if len(hooks) == 0 {
		return nil
	}
	target, err := r.Conns.Get(r.Project.TargetName)
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	n := &project.Node{Name: when, Connection: r.Project.TargetName}
	rc := r.nativeRender(n, target)
	rc.Vars = vars
	for i, hook := range hooks {
		sql, err := r.Project.RenderString(ctx, nil, hook, rc)
		if err == nil && strings.TrimSpace(sql) == "" {
			continue
		}
		if err == nil {
			err = target.Exec(ctx, sql)
		}
		if err != nil {
			return fmt.Errorf("%s hook %d %q: %w", when, i+1, connectors.Shorten(hook), err)
		}
		r.emit(Info, "hook", nil, Success, nil, fmt.Sprintf("%d of %d OK hook: %s", i+1, len(hooks), when))
	}
	return nil
}

// endVars are what dbt gives on-run-end: results, and the schemas that the run built in.
// Schemas on other outputs than the default target have their output as database.
func (r *Runner) endVars(results []*Result) map[string]jinja.Value {
	all, schemas, pairs := jinja.NewList(), jinja.NewList(), jinja.NewList()
	seen := map[[2]string]bool{}
	for _, res := range results {
		all.Items = append(all.Items, r.resultVar(res))
		n := res.Node
		if n.Config.Materialized == project.Ephemeral || n.ResourceType == project.TypeTest || n.Schema == "" || res.Status == Skipped {
			continue
		}
		at := [2]string{n.Connection, n.Schema}
		if seen[at] {
			continue
		}
		seen[at] = true
		pairs.Items = append(pairs.Items, jinja.NewTuple(n.Connection, n.Schema))
		if n.Connection == r.Project.TargetName { // hooks run there
			schemas.Items = append(schemas.Items, n.Schema)
		}
	}
	return map[string]jinja.Value{"results": all, "schemas": schemas, "database_schemas": pairs}
}

func (r *Runner) resultVar(res *Result) jinja.Value {
	e := res.entry()
	timing := jinja.NewList()
	for _, t := range e.Timing {
		timing.Items = append(timing.Items, dbt.NewObject("name", t.Name, "started_at", t.Started, "completed_at", t.Completed))
	}
	var message, failures jinja.Value
	if e.Message != nil {
		message = r.Redact.String(*e.Message)
	}
	if e.Failures != nil {
		failures = jinja.FromGo(*e.Failures)
	}
	return dbt.NewObject("status", string(res.Status), "node", r.Project.ModelVar(res.Node), "unique_id", e.UniqueID, "message", message, "failures", failures,
		"execution_time", e.Elapsed, "thread_id", e.Thread, "timing", timing, "adapter_response", jinja.FromGo(e.Adapter), "skip", res.Status == Skipped)
}
