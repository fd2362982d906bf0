package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/index"
	"github.com/dvt-dev/dvt/load"
	"github.com/dvt-dev/dvt/planner"
	"github.com/dvt-dev/dvt/project"
)

// incremental runs an f_incremental model under its target's lock.
func (r *Runner) incremental(ctx context.Context, n *project.Node, target connectors.Conn, res *Result) error {
	if err := load.CanReplace(n.Connection, target); err != nil {
		return err
	}
	start := time.Now()
	release, err := r.lock(ctx, n, target, n.Relation())
	if err != nil {
		return err
	}
	defer release()
	loads, err := r.prepareIncremental(ctx, n, planMode{live: true, locked: true})
	res.Timings.Plan = time.Since(start)
	if err != nil {
		return err
	}
	if loads.skip != "" {
		r.emit(Info, "nothing_to_do", n, "", nil, loads.skip)
		return nil
	}
	if err := r.hooks(ctx, n, target, n.Config.PreHook); err != nil {
		return err
	}
	res.final = loads.chunks != nil // the hint says how to go on
	for i := range loads.count {
		if err := r.increment(ctx, loads, i, target, res); err != nil {
			r.resumeHint(n, loads, i)
			return err
		}
	}
	return r.hooks(ctx, n, target, n.Config.PostHook)
}

// increment runs one load: a replacement on a first run, else a delta.
func (r *Runner) increment(ctx context.Context, loads *increments, at int, target connectors.Conn, res *Result) error {
	start := time.Now()
	p, err := loads.prepare(ctx, at)
	res.Timings.Plan += time.Since(start)
	if err != nil {
		return err
	}
	res.Plan, res.Compiled = p.Plan, project.Display(p.Compiled.SQL)
	if p.Delta == nil {
		if err := index.Discard(r.indexPath(p.Node)); err != nil {
			return fmt.Errorf("removing the index of {{ this }}: %w", err)
		}
		if err = r.federate(ctx, p, target, res); err == nil {
			r.indexLoad(ctx, p.Node, target)
		}
	} else {
		err = r.applyDelta(ctx, p, target, res)
		r.measure(res)
	}
	if err != nil {
		return err
	}
	r.advanceState(ctx, p)
	if loads.chunks != nil {
		w := loads.chunks[at]
		r.emit(Info, "chunk", p.Node, "", nil, fmt.Sprintf("chunk %d/%d %s=[%s, %s) OK (%ds)", at+1, loads.count, p.Node.Config.WatermarkColumn,
			w.Lower.Short(), w.Upper.Short(), int(time.Since(start).Seconds())))
	}
	return nil
}

// resumeHint prints the command that goes on after the chunks that are committed.
func (r *Runner) resumeHint(n *project.Node, loads *increments, at int) {
	if loads.chunks == nil {
		return
	}
	last := loads.chunks[len(loads.chunks)-1]
	rest := loads.chunks[at].Lower.Short() + "," + last.Upper.Short()
	if step := r.rangeStep(); step != "" {
		rest += "," + step
	}
	r.emit(Fault, "resume_hint", n, Error, nil, fmt.Sprintf("▶ chunk %d/%d failed — resume with: dvt run --range '%s' -s %s", at+1, loads.count, rest, n.Name))
}

// keyless accepts a model without a unique_key only where adding rows is provably safe.
func (r *Runner) keyless(ctx context.Context, n *project.Node, d connectors.Delta, mode planMode) error {
	if len(d.Key) > 0 || n.WindowStyle || n.Config.WatermarkColumn != "" && !n.IsIncrementalStyle {
		return nil
	}
	refusal := fmt.Errorf("model '%s': without unique_key only the pattern <col> > (SELECT MAX(<col>) FROM {{ this }}) is safe to append; set unique_key", n.Name)
	if !n.IsIncrementalStyle {
		return refusal
	}
	rc := r.render(n)
	rc.IsIncremental = true
	compiled, err := r.Project.Compile(ctx, n, rc)
	if err != nil {
		return err
	}
	for _, u := range compiled.Relations {
		if !u.IsThis {
			continue
		}
		ok, err := r.planner.SafeAppend(ctx, compiled.SQL, planner.Name{Catalog: u.Catalog, Schema: u.Schema, Name: u.Name})
		if err != nil {
			return r.located(n, err)
		}
		if ok {
			return nil
		}
	}
	return refusal
}

// errSomeRow ends a read that only asks whether there is a row.
var errSomeRow = errors.New("there is a row")

// hasRows reports whether a table holds any row.
func hasRows(ctx context.Context, conn connectors.Conn, table *connectors.Table) (bool, error) {
	sql := conn.Dialect().Select(connectors.Extract{Table: table, Limit: 1})
	err := conn.Read(ctx, connectors.Query{SQL: sql}, func(rec arrow.RecordBatch) error {
		if rec.NumRows() > 0 {
			return errSomeRow
		}
		return nil
	})
	if errors.Is(err, errSomeRow) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for rows of %s: %w", table.Relation, err)
	}
	return false, nil
}
