package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/state"
	"github.com/dvt-dev/dvt/watermark"
)

// statePlace is where watermark state is kept, nil when none is configured.
func (r *Runner) statePlace() (*state.Place, error) {
	value := r.Project.Settings.State
	for _, name := range []string{"SLING_STATE", "DVT_STATE"} {
		if v := os.Getenv(name); v != "" {
			value = v
			break
		}
	}
	if value == "" {
		return nil, nil
	}
	r.stateOnce.Do(func() {
		r.state, r.stateErr = state.Open(value, r.Project.Dir, r.Project.OutputNames, r.Conns.Get)
	})
	return r.state, r.stateErr
}

// StateStore is the configured store for `dvt state`; nil when there is none.
func (r *Runner) StateStore() (state.Store, error) {
	place, err := r.statePlace()
	if place == nil || err != nil {
		return nil, err
	}
	return place.Store, nil
}

// stateTarget is the full table name under which a model's record is kept.
func stateTarget(n *project.Node) string { return n.Connection + "." + n.Relation().String() }

func (r *Runner) loadState(ctx context.Context, n *project.Node) (*connectors.StateRecord, error) {
	place, err := r.statePlace()
	if place == nil || err != nil {
		return nil, err
	}
	rec, err := place.Store.Load(ctx, n.Name, stateTarget(n))
	if err != nil {
		return nil, fmt.Errorf("reading the state of model '%s': %w", n.Name, err)
	}
	return rec, nil
}

func (r *Runner) record(n *project.Node, v watermark.Value) connectors.StateRecord {
	return connectors.StateRecord{
		Model: n.Name, Target: stateTarget(n), UpdateKey: n.Config.WatermarkColumn, Value: v.State(),
		ColumnType: v.Type.String(), UpdatedAt: time.Now().UTC().Truncate(time.Second), RunID: r.RunID,
	}
}

func (r *Runner) saveState(ctx context.Context, n *project.Node, v watermark.Value, previous *string) error {
	place, err := r.statePlace()
	if place == nil || err != nil {
		return err
	}
	return place.Store.Save(ctx, r.record(n, v), previous)
}

// stateWithin is the record to be written in the load's own transaction: when the state
// is a table of the target's connection and its new value is known before.
func (r *Runner) stateWithin(p *Prepared) *connectors.StateSave {
	w := p.window
	place, err := r.statePlace()
	if w == nil || !w.moves || w.to == nil || err != nil || place == nil || place.Connection != p.Node.Connection || place.Connection == "" {
		return nil
	}
	return &connectors.StateSave{Schema: place.Schema, Record: r.record(p.Node, *w.to), Previous: w.previous}
}

// advanceState moves the record after a load that committed. It never fails the model.
func (r *Runner) advanceState(ctx context.Context, p *Prepared) {
	w := p.window
	if w == nil || !w.moves {
		return
	}
	place, err := r.statePlace()
	if place == nil && err == nil {
		return
	}
	i := &increment{runner: r, node: p.Node}
	to := w.to
	if err == nil && to == nil {
		var table *connectors.Table
		if table, err = r.Conns.Describe(ctx, p.Node.Connection, p.Target); err == nil {
			to, err = i.highest(ctx, sameName(table, w.key))
		}
		if err == nil && to == nil {
			i.warn("the highest %s of the target is NULL: state is unchanged", w.key)
			return
		}
	}
	if err == nil && w.previous != nil && to.State() == *w.previous {
		return
	}
	if err == nil && w.to == nil && w.previous != nil && !r.Options.FullRefresh {
		// What the record says and the target does not reach stays: state never decreases.
		if old, e := watermark.Parse(to.Type, *w.previous); e == nil && old.Compare(*to) > 0 && p.Delta != nil {
			return
		}
	}
	if err == nil {
		err = r.saveState(ctx, p.Node, *to, w.previous)
	}
	if errors.Is(err, connectors.ErrStateMoved) {
		i.warn("another run moved the state first: it is left as that run set it")
		return
	}
	if err != nil {
		r.emit(Warn, "warning", p.Node, "", nil, fmt.Sprintf("could not advance SLING_STATE: %v", err))
	}
}

// sameName is a column's name in the spelling of the table.
func sameName(table *connectors.Table, name string) string {
	for _, c := range table.Columns {
		if compute.SameName(c.Name, name) {
			return c.Name
		}
	}
	return name
}
