package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/run"
	"github.com/dvt-dev/dvt/state"
)

func (a *app) stateCommand() *cobra.Command {
	c := &cobra.Command{Use: "state", Short: "Watermark state of incremental models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "One line for each record", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withState(cmd.Context(), func(_ *run.Runner, s state.Store) error {
				records, err := s.List(cmd.Context())
				if err != nil {
					return err
				}
				if len(records) == 0 {
					return a.out("no state")
				}
				for _, r := range records {
					if err := a.out(fmt.Sprintf("%s  %s  %s = %s  (%s)", r.Model, r.Target, r.UpdateKey, r.Value, r.UpdatedAt.Format(time.RFC3339))); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		&cobra.Command{Use: "show MODEL", Short: "The record of one model", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRecords(cmd.Context(), args[0], func(_ state.Store, r connectors.StateRecord) error {
				doc, err := run.EncodeJSON(r)
				if err != nil {
					return err
				}
				return a.out(doc)
			})
		}},
		&cobra.Command{Use: "reset MODEL", Short: "Remove the record of one model; its next run finds its place in the target", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRecords(cmd.Context(), args[0], func(s state.Store, r connectors.StateRecord) error {
				if err := s.Delete(cmd.Context(), r.Model, r.Target); err != nil {
					return err
				}
				return a.out(fmt.Sprintf("reset %s (%s), was %s", r.Model, r.Target, r.Value))
			})
		}},
	)
	return c
}

func (a *app) withState(ctx context.Context, do func(*run.Runner, state.Store) error) error {
	r, err := a.start(ctx, "state", run.Options{})
	if err != nil {
		return err
	}
	store, err := r.StateStore()
	if err != nil {
		return &nodeError{err}
	}
	if store == nil {
		return fmt.Errorf("no state is configured: set SLING_STATE (or DVT_STATE, or state: in dvt_project.yml) to OUTPUT/schema or a folder")
	}
	if err := do(r, store); err != nil {
		return &nodeError{err}
	}
	return nil
}

// withRecords calls do for each record of a model; a model without one is an error that
// names those that have.
func (a *app) withRecords(ctx context.Context, model string, do func(state.Store, connectors.StateRecord) error) error {
	return a.withState(ctx, func(_ *run.Runner, s state.Store) error {
		records, err := s.List(ctx)
		if err != nil {
			return err
		}
		found := false
		for _, r := range records {
			if r.Model == model {
				found = true
				if err := do(s, r); err != nil {
					return err
				}
			}
		}
		if !found {
			return fmt.Errorf("no state of a model '%s'; see dvt state list", model)
		}
		return nil
	})
}
