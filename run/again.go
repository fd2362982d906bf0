package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/dvt-dev/dvt/internal/retry"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/project"
)

// again runs the work of a node, and from its beginning once more when a connection was
// lost before anything was applied: lock, plan, extracts and staging are made anew, for a
// snapshot of a source and a lock of the target are gone with their connection. A node
// with hooks is not run again: what a hook did is not known.
func (r *Runner) again(ctx context.Context, n *project.Node, res *Result, work func() error) error {
	if len(n.Config.PreHook)+len(n.Config.PostHook) > 0 {
		return work()
	}
	return retry.Lost(ctx, func(err error) {
		r.emit(Warn, "retry", n, "", nil, fmt.Sprintf("%s: %v; nothing was applied yet, trying again", n.Name, err))
		*res = Result{Node: res.Node, Thread: res.Thread, Start: res.Start}
	}, func() error {
		err := work()
		if res.final {
			return retry.Stop(err)
		}
		return err
	})
}

// landed notes how a load ended: from its apply on, nothing of the node is repeated.
func (r *Result) landed(err error) error {
	var s *load.StageError
	if err == nil || !errors.As(err, &s) {
		r.final = true
	}
	return err
}
