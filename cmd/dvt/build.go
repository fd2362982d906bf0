package main

import (
	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
)

func (a *app) seedCommand() *cobra.Command {
	c, n := a.nodesCommand("seed", "Load the CSV files of seeds/ onto their target", project.TypeSeed)
	c.Flags().BoolVarP(&n.options.FullRefresh, "full-refresh", "f", false, "accepted for dbt's sake: a seed is replaced as a whole anyway")
	return c
}

func (a *app) testCommand() *cobra.Command {
	c, n := a.nodesCommand("test", "Run tests, of models on one engine or across several", project.TypeTest)
	n.testFlags(c)
	return c
}

func (a *app) snapshotCommand() *cobra.Command {
	c, n := a.nodesCommand("snapshot", "Run the snapshots of snapshots/", project.TypeSnapshot)
	n.buildFlags(c)
	return c
}

func (a *app) buildCommand() *cobra.Command {
	c, n := a.nodesCommand("build", "Seeds, models, snapshots and tests in one order; a failed test skips what is downstream",
		project.TypeSeed, project.TypeModel, project.TypeSnapshot, project.TypeTest)
	n.buildFlags(c)
	n.testFlags(c)
	return c
}
