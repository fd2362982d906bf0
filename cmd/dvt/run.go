package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
)

func (a *app) runCommand() *cobra.Command {
	c, n := a.nodesCommand("run", "Run models in the order of their dependencies", project.TypeModel)
	n.buildFlags(c)
	c.Flags().StringVar(&n.options.Range, "range", "", "load a window of window-style models: start,end[,step]")
	c.Flags().BoolVar(&n.options.Resume, "resume", false, "go on after the finished chunks of first loads that failed")
	return c
}

// runnable leaves out what has no relation of its own.
func runnable(nodes []*project.Node) []*project.Node {
	var out []*project.Node
	for _, n := range nodes {
		if n.Config.Materialized != project.Ephemeral {
			out = append(out, n)
		}
	}
	return out
}

func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
