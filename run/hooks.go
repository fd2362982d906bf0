package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
)

// ProjectHooks runs on-run-start or on-run-end on the default target, in its dialect.
func (r *Runner) ProjectHooks(ctx context.Context, when string, hooks []string) error {
	if len(hooks) == 0 {
		return nil
	}
	target, err := r.Conns.Get(r.Project.TargetName)
	if err != nil {
		return fmt.Errorf("%s: %w", when, err)
	}
	n := &project.Node{Name: when, Connection: r.Project.TargetName}
	for i, hook := range hooks {
		sql, err := r.Project.RenderString(ctx, nil, hook, r.nativeRender(n, target))
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
