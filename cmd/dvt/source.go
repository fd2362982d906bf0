package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/run"
)

func (a *app) sourceCommand() *cobra.Command {
	c := &cobra.Command{Use: "source", Short: "Sources", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	fresh := &cobra.Command{Use: "freshness", Aliases: []string{"snapshot-freshness"}, Short: "Check how old the rows of sources are"}
	sel, exclude := selectFlags(fresh)
	fresh.RunE = func(cmd *cobra.Command, _ []string) error {
		r, err := a.start(cmd.Context(), "source freshness", run.Options{})
		if err != nil {
			return err
		}
		all, warnings, err := r.Project.SelectSources(words(*sel), words(*exclude))
		if err != nil {
			return err
		}
		for _, w := range warnings {
			a.Event(run.Event{Time: time.Now().UTC(), Level: run.Warn, Name: "warning", Text: w})
		}
		var sources []*project.Source
		for _, s := range all {
			if run.HasFreshness(s) {
				sources = append(sources, s)
			}
		}
		if len(sources) == 0 {
			a.say("Nothing to do: no selected source has loaded_at_field and freshness.")
		}
		ages, results := r.Freshness(cmd.Context(), sources)
		elapsed := time.Since(a.started)
		summary := a.summarize(r, results, elapsed)
		if err := r.WriteSources(ages, version, elapsed); err != nil {
			return fmt.Errorf("writing sources.json: %w", err)
		}
		if summary.Error > 0 {
			return &failedError{summary.Error}
		}
		return nil
	}
	c.AddCommand(fresh)
	return c
}
