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
	c := &cobra.Command{Use: "state", Short: "Watermark state and index of incremental models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(
		&cobra.Command{Use: "list", Short: "One line for each record and each index", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withState(cmd.Context(), "", func(_ *run.Runner, _ state.Store, records []connectors.StateRecord, indexes []run.IndexFile) error {
				for _, r := range records {
					if err := a.out(fmt.Sprintf("%s  %s  %s = %s  (%s)", r.Model, r.Target, r.UpdateKey, r.Value, r.UpdatedAt.Format(time.RFC3339))); err != nil {
						return err
					}
				}
				for _, x := range indexes {
					if err := a.out(fmt.Sprintf("%s  %s  index %s  %d bytes  (%s)", x.Model, x.Connection, x.Path, x.Bytes, x.UpdatedAt.Format(time.RFC3339))); err != nil {
						return err
					}
				}
				if len(records)+len(indexes) == 0 {
					return a.out("no state")
				}
				return nil
			})
		}},
		&cobra.Command{Use: "show MODEL", Short: "The record and the index of one model", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), args[0], func(_ *run.Runner, _ state.Store, records []connectors.StateRecord, indexes []run.IndexFile) error {
				for _, r := range records {
					if err := a.outJSON(r); err != nil {
						return err
					}
				}
				for _, x := range indexes {
					if err := a.outJSON(x); err != nil {
						return err
					}
				}
				return nil
			})
		}},
		&cobra.Command{Use: "reset MODEL", Short: "Remove the record and the index of one model; its next run finds its place in the target", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			return a.withState(cmd.Context(), args[0], func(r *run.Runner, s state.Store, records []connectors.StateRecord, indexes []run.IndexFile) error {
				for _, rec := range records {
					if err := s.Delete(cmd.Context(), rec.Model, rec.Target); err != nil {
						return err
					}
					if err := a.out(fmt.Sprintf("reset %s (%s), was %s", rec.Model, rec.Target, rec.Value)); err != nil {
						return err
					}
				}
				for _, x := range indexes {
					if err := r.RemoveIndex(x); err != nil {
						return err
					}
					if err := a.out(fmt.Sprintf("removed the index of %s on %s", x.Model, x.Connection)); err != nil {
						return err
					}
				}
				return nil
			})
		}},
	)
	return c
}

func (a *app) outJSON(v any) error {
	doc, err := run.EncodeJSON(v)
	if err != nil {
		return err
	}
	return a.out(doc)
}

// withState gathers the records and indexes of a model, of all for "". A model without
// any is an error, as is asking for state where none can be.
func (a *app) withState(ctx context.Context, model string, do func(*run.Runner, state.Store, []connectors.StateRecord, []run.IndexFile) error) error {
	r, err := a.start(ctx, "state", run.Options{})
	if err != nil {
		return err
	}
	store, err := r.StateStore()
	if err != nil {
		return &nodeError{err}
	}
	indexes := r.Indexes(model)
	if store == nil && len(indexes) == 0 {
		return fmt.Errorf("no state is configured: set SLING_STATE (or DVT_STATE, or state: in dvt_project.yml) to OUTPUT/schema or a folder")
	}
	var records []connectors.StateRecord
	if store != nil {
		all, err := store.List(ctx)
		if err != nil {
			return &nodeError{err}
		}
		for _, rec := range all {
			if model == "" || rec.Model == model {
				records = append(records, rec)
			}
		}
	}
	if model != "" && len(records)+len(indexes) == 0 {
		return &nodeError{fmt.Errorf("no state of a model '%s'; see dvt state list", model)}
	}
	if err := do(r, store, records, indexes); err != nil {
		return &nodeError{err}
	}
	return nil
}
