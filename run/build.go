package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/dvt-dev/dvt/project"
)

// Nodes runs seeds, models, snapshots and tests in one order: each after what it reads,
// and, as dbt build does, after the tests of what it reads, so that a failed test keeps
// what is downstream from being built.
func (r *Runner) Nodes(ctx context.Context, nodes []*project.Node) []*Result {
	return r.runAfter(ctx, nodes, r.testsBefore(nodes), r.runNode)
}

// runNode runs one node of any kind and records how it ended.
func (r *Runner) runNode(ctx context.Context, n *project.Node, res *Result) {
	var err error
	switch n.ResourceType {
	case project.TypeSeed:
		err = r.again(ctx, n, res, func() error { return r.seed(ctx, n, res) })
	case project.TypeTest:
		err = r.test(ctx, n, res)
	default: // models and snapshots
		err = r.again(ctx, n, res, func() error { return r.model(ctx, n, res) })
	}
	if err == nil {
		if res.Status == "" {
			res.Status, res.Message = Success, "SUCCESS"
		}
		return
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("cancelled: %w", cause)
	}
	res.Status, res.Err = Error, r.explainError(n, err)
	res.Message = r.Redact.String(res.Err.Error())
}

// testsBefore gives the tests that each node waits for: those of its ancestors. A test
// that reads something besides them, such as a relationship to a table that the node
// does not read, does not hold it up.
func (r *Runner) testsBefore(nodes []*project.Node) map[string][]string {
	after := map[string][]string{}
	var tests []*project.Node
	for _, n := range nodes {
		if n.ResourceType == project.TypeTest {
			tests = append(tests, n)
		}
	}
	if len(tests) == 0 || len(tests) == len(nodes) {
		return nil
	}
	for _, n := range nodes {
		if n.ResourceType == project.TypeTest {
			continue
		}
		above := r.ancestors(n.UniqueID)
		for _, t := range tests {
			covered := len(t.DependsOn) > 0
			for _, id := range t.DependsOn {
				covered = covered && above[id]
			}
			if covered {
				after[n.UniqueID] = append(after[n.UniqueID], t.UniqueID)
			}
		}
	}
	return after
}

func (r *Runner) ancestors(id string) map[string]bool {
	seen := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		for _, p := range r.Project.Parents(id) {
			if !seen[p] {
				seen[p] = true
				visit(p)
			}
		}
	}
	visit(id)
	return seen
}

// TargetFile is the path of an artifact.
func (r *Runner) TargetFile(name string) string { return filepath.Join(r.targetDir(), name) }
