package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

func (a *app) runCommand() *cobra.Command {
	var o run.Options
	c := &cobra.Command{Use: "run", Short: "Run models in the order of their dependencies"}
	sel, exclude := selectFlags(c)
	c.Flags().BoolVarP(&o.FullRefresh, "full-refresh", "f", false, "rebuild incremental models")
	c.Flags().BoolVarP(&o.FailFast, "fail-fast", "x", false, "stop at the first failure")
	c.Flags().StringVar(&o.Range, "range", "", "load a window of window-style models: start,end[,step]")
	c.Flags().BoolVar(&o.Empty, "empty", false, "build empty tables, reading no rows")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.runModels(cmd.Context(), o, *sel, *exclude)
	}
	return c
}

func (a *app) runModels(ctx context.Context, o run.Options, sel, exclude []string) error {
	r, err := a.start(ctx, "run", o)
	if err != nil {
		return err
	}
	nodes, err := a.selectNodes(r.Project, sel, exclude, "model")
	if err != nil {
		return err
	}
	nodes = runnable(nodes)
	if err := r.Project.Check(nodes); err != nil {
		return err
	}
	a.say("Running with dvt=%s", version)
	a.say("%s", inventory(r.Project))
	if len(nodes) == 0 {
		a.say("Nothing to do.")
	} else {
		a.say("Concurrency: %s (target='%s')", count(r.Project.Threads, "thread"), r.Project.TargetName)
		a.say("")
	}
	if err := r.Refuse(nodes); err != nil {
		return err
	}
	stop := a.showProgress(r)
	results := r.Models(ctx, nodes)
	stop()
	elapsed := time.Since(a.started)
	summary := a.summarize(r, results, elapsed)
	args := map[string]any{"which": "run", "select": sel, "exclude": exclude, "full_refresh": o.FullRefresh, "target": r.Project.TargetName, "threads": r.Project.Threads}
	if err := r.WriteArtifacts(results, version, elapsed, args); err != nil {
		return err
	}
	if summary.Error > 0 {
		return &failedError{summary.Error}
	}
	return nil
}

// runnable leaves out what has no relation of its own.
func runnable(nodes []*project.Node) []*project.Node {
	var out []*project.Node
	for _, n := range nodes {
		if n.Config.Materialized != "ephemeral" {
			out = append(out, n)
		}
	}
	return out
}

func inventory(p *project.Project) string {
	models := 0
	for _, n := range p.Nodes {
		if n.ResourceType == "model" {
			models++
		}
	}
	return "Found " + count(models, "model") + ", " + count(len(p.Sources), "source")
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// summarize prints the failures and the last lines.
func (a *app) summarize(r *run.Runner, results []*run.Result, elapsed time.Duration) run.Summary {
	s := run.Summarize(results)
	a.say("")
	a.say("Finished running %s in %.2fs", count(len(results), "model"), elapsed.Seconds())
	for _, res := range results {
		if res.Status == run.Error {
			a.Event(run.Event{Time: time.Now().UTC(), Level: run.Fault, Name: "node_error", Node: res.Node.UniqueID, Status: run.Error, Text: "\n" + res.Message})
		}
	}
	a.say("")
	a.Event(run.Event{Time: time.Now().UTC(), Level: run.Info, Name: "summary",
		Text:   fmt.Sprintf("Done. PASS=%d WARN=%d ERROR=%d SKIP=%d TOTAL=%d", s.Pass, s.Warn, s.Error, s.Skip, s.Total()),
		Fields: map[string]any{"pass": s.Pass, "warn": s.Warn, "error": s.Error, "skip": s.Skip, "total": s.Total()}})
	return s
}
