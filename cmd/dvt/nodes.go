package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

// nodesRun is one invocation of a command that runs nodes.
type nodesRun struct {
	which        string
	types        []string // kinds of nodes
	options      run.Options
	sel, exclude []string
	ids          map[string]bool // of retry: these nodes and no others
}

// nodesCommand is a command that runs nodes of some kinds.
func (a *app) nodesCommand(which, short string, types ...string) (*cobra.Command, *nodesRun) {
	n := &nodesRun{which: which, types: types}
	c := &cobra.Command{Use: which, Short: short}
	sel, exclude := selectFlags(c)
	c.Flags().BoolVarP(&n.options.FailFast, "fail-fast", "x", false, "stop at the first failure")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		n.sel, n.exclude = *sel, *exclude
		return a.runNodes(cmd.Context(), n)
	}
	return c, n
}

func (n *nodesRun) buildFlags(c *cobra.Command) {
	c.Flags().BoolVarP(&n.options.FullRefresh, "full-refresh", "f", false, "rebuild incremental models")
	c.Flags().BoolVar(&n.options.Empty, "empty", false, "build empty tables, reading no rows")
}

func (n *nodesRun) testFlags(c *cobra.Command) {
	c.Flags().BoolVar(&n.options.Store, "store-failures", false, "keep the failing rows of each test as a table")
}

func (a *app) runNodes(ctx context.Context, n *nodesRun) error {
	r, err := a.start(ctx, n.which, n.options)
	if err != nil {
		return err
	}
	nodes, err := a.nodesOf(r.Project, n)
	if err != nil {
		return err
	}
	a.say("Running with dvt=%s", version)
	a.say("%s", inventory(r.Project))
	if err := r.Refuse(models(nodes)); err != nil {
		return err
	}
	if len(nodes) == 0 {
		a.say("Nothing to do.")
	} else {
		a.say("Concurrency: %s (target='%s')", count(r.Project.Threads, "thread"), r.Project.TargetName)
		a.say("")
		if err := r.StartHooks(ctx); err != nil {
			e := r.WriteArtifacts(run.NotRun(nodes, "on-run-start failed"), version, time.Since(a.started), a.args(r.Project, n))
			return &nodeError{errors.Join(err, e)}
		}
	}
	stop := a.showProgress(r)
	a.promoted(nodes)
	results := r.Nodes(ctx, nodes)
	stop()
	var hookErr error
	if len(nodes) > 0 && ctx.Err() == nil {
		hookErr = r.EndHooks(ctx, results)
	}
	elapsed := time.Since(a.started)
	summary := a.summarize(r, results, elapsed)
	if err := r.WriteArtifacts(results, version, elapsed, a.args(r.Project, n)); err != nil {
		return err
	}
	if hookErr != nil {
		return &nodeError{hookErr}
	}
	if summary.Error > 0 {
		return &failedError{summary.Error}
	}
	return nil
}

// args are what retry has to know, in run_results.json.
func (a *app) args(p *project.Project, n *nodesRun) map[string]any {
	return map[string]any{
		"which": n.which, "select": n.sel, "exclude": n.exclude, "full_refresh": n.options.FullRefresh, "fail_fast": n.options.FailFast,
		"empty": n.options.Empty, "range": n.options.Range, "store_failures": n.options.Store, "target": p.TargetName, "profile": a.profile,
		"vars": a.vars, "threads": p.Threads,
	}
}

func (a *app) nodesOf(p *project.Project, n *nodesRun) ([]*project.Node, error) {
	nodes, err := a.selectNodes(p, n.sel, n.exclude, n.types...)
	if err != nil {
		return nil, err
	}
	var out []*project.Node
	for _, node := range runnable(nodes) {
		if n.ids == nil || n.ids[node.UniqueID] {
			out = append(out, node)
		}
	}
	return out, nil
}

func models(nodes []*project.Node) []*project.Node {
	var out []*project.Node
	for _, n := range nodes {
		if n.ResourceType == project.TypeModel {
			out = append(out, n)
		}
	}
	return out
}

// kinds are resource types in the order in which they are counted.
var kinds = []string{project.TypeModel, project.TypeSeed, project.TypeSnapshot, project.TypeTest, project.TypeSource}

// tally is "3 models, 1 seed".
func tally(of map[string]int) string {
	text := ""
	for _, k := range kinds {
		if of[k] == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += count(of[k], k)
	}
	return text
}

func inventory(p *project.Project) string {
	of := map[string]int{project.TypeSource: len(p.Sources)}
	for _, n := range p.Nodes {
		of[n.ResourceType]++
	}
	text := tally(of)
	if text == "" {
		return "Found nothing"
	}
	return "Found " + text
}

// summarize prints the failures and the last lines.
func (a *app) summarize(r *run.Runner, results []*run.Result, elapsed time.Duration) run.Summary {
	s := run.Summarize(results)
	of := map[string]int{}
	for _, res := range results {
		of[res.Node.ResourceType]++
	}
	what := tally(of)
	if what == "" {
		what = "0 models"
	}
	a.say("")
	a.say("Finished running %s in %.2fs", what, elapsed.Seconds())
	for _, res := range results {
		e := run.Event{Time: time.Now().UTC(), Name: "node_error", Node: res.Node.UniqueID, Status: res.Status}
		switch res.Status {
		case run.Error:
			e.Level, e.Text = run.Fault, "\n"+res.Message
		case run.Fail:
			e.Level, e.Text = run.Fault, "\n"+r.TestFailure(res)
		case run.Warned:
			if res.Node.ResourceType != project.TypeTest {
				continue
			}
			e.Level, e.Name, e.Text = run.Warn, "node_warning", "\n"+r.TestFailure(res)
		default:
			continue
		}
		a.Event(e)
	}
	a.say("")
	a.Event(run.Event{Time: time.Now().UTC(), Level: run.Info, Name: "summary",
		Text:   fmt.Sprintf("Done. PASS=%d WARN=%d ERROR=%d SKIP=%d TOTAL=%d", s.Pass, s.Warn, s.Error, s.Skip, s.Total()),
		Fields: map[string]any{"pass": s.Pass, "warn": s.Warn, "error": s.Error, "skip": s.Skip, "total": s.Total()}})
	return s
}
