package run

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/dvt-dev/dvt/internal/projectfiles"
	"github.com/dvt-dev/dvt/project"

	_ "github.com/dvt-dev/dvt/connectors/all"
)

type nowhere struct{}

func (nowhere) Event(Event) {}

// writeProject writes a project of n models that are planned without a server.
func writeProject(tb testing.TB, n int) string {
	dir := tb.TempDir()
	if err := projectfiles.Write(dir, projectfiles.Many(n)); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// planProject loads a project and plans every model without touching a server.
func planProject(tb testing.TB, dir string, n int) {
	ctx := context.Background()
	p, err := project.Load(ctx, project.Options{Dir: dir, ProfilesDir: dir, Command: "explain"})
	if err != nil {
		tb.Fatal(err)
	}
	r := New(p, Options{}, nowhere{}, slog.New(slog.DiscardHandler))
	defer func() { _ = r.Close() }()
	nodes, _, err := p.Select(nil, nil, "model")
	if err != nil || len(nodes) != n {
		tb.Fatal(len(nodes), err)
	}
	for _, node := range nodes {
		plan, err := r.ExplainOffline(ctx, node)
		if err != nil {
			tb.Fatal(err)
		}
		if len(plan.Plan.Extracts) == 0 || len(plan.Plan.Columns) == 0 {
			tb.Fatal(node.Name, "has an empty plan")
		}
	}
}

func TestPlanOffline(t *testing.T) { planProject(t, writeProject(t, 25), 25) }

func BenchmarkPlanProject(b *testing.B) {
	for _, n := range []int{200, 1000} {
		dir := writeProject(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				planProject(b, dir, n)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(n), "ms/model")
		})
	}
}
