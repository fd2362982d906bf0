package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/extract"
	"github.com/dvt-dev/dvt/index"
	"github.com/dvt-dev/dvt/load"
)

// kept is the name under which a delta is held between its checks and its load.
const kept = "delta"

// applyDelta is the compute lane of a delta: extracts, the model's SQL, the checks that
// need the whole delta, staging, apply.
func (r *Runner) applyDelta(ctx context.Context, p *Prepared, target connectors.Conn, res *Result) error {
	engine, err := r.Engine()
	if err != nil {
		return fmt.Errorf("starting the compute engine: %w", err)
	}
	m, err := engine.Model(p.Node.Name)
	if err != nil {
		return err
	}
	defer r.closeModel(m, p.Node.Name)
	start := time.Now()
	ix, err := r.openIndex(ctx, p, m)
	if err != nil {
		return err
	}
	if ix != nil {
		defer r.closeIndex(p, m, ix)
	}
	progress, end := r.begin(p.Node.Name)
	defer end()
	ran, stats, err := extract.Run(ctx, p.Plan, m, r.Conns.Get, r.limits, progress)
	res.carriedOut(ran)
	countIndex(p, ix, stats)
	res.addExtracts(stats)
	res.Timings.Extract += time.Since(start)
	if err != nil {
		return err
	}
	start = time.Now()
	rows, err := m.Keep(ctx, kept, p.Plan.SQL)
	res.Timings.Compute += time.Since(start)
	if err != nil || rows == 0 {
		return err // nothing new: nothing is applied
	}
	sql, err := r.distinct(ctx, p, m)
	if err != nil {
		return err
	}
	fit, sql, err := r.fitted(ctx, p, m, sql)
	if err != nil {
		return err
	}
	return r.land(ctx, p, target, m, ix, sql, fit, res)
}

// land stages what sql gives and applies it.
func (r *Runner) land(ctx context.Context, p *Prepared, target connectors.Conn, m *compute.Model, ix *index.Index, sql string, fit load.Fit, res *Result) error {
	d := *p.Delta
	d.Alter, d.Key = fit.Alter, slices.Clone(d.Key) // the model's own setting stays
	d.State = r.stateWithin(p)
	for _, c := range fit.Columns {
		d.Columns = append(d.Columns, c.Name)
	}
	for i, k := range d.Key {
		for _, c := range fit.Columns {
			if strings.EqualFold(c.Name, k) {
				d.Key[i] = c.Name
			}
		}
	}
	if err := required(p.Table, fit); err != nil {
		return err
	}
	spec := connectors.StageSpec{RunID: r.RunID, Target: p.Target, Columns: fit.Columns, Options: targetOptions(p.Node, p.Plan)}
	start := time.Now()
	src := &computed{model: m, sql: sql, res: res}
	result, done, err := load.Apply(ctx, target, spec, d, withoutNull(p.Node, target, spec, src))
	err = res.landed(err)
	res.Timings.Load += time.Since(start) - src.busy
	res.Loaded.Inserted += result.Inserted
	res.Loaded.Updated += result.Updated
	res.Loaded.Deleted += result.Deleted
	if len(fit.Alter) > 0 {
		r.Conns.Forget(p.Node.Connection, p.Target)
	}
	if done.StateMoved {
		r.emit(Warn, "warning", p.Node, "", nil, "model '"+p.Node.Name+"': another run moved the state first: it is left as that run set it")
	}
	if err == nil {
		r.followLoad(ctx, p, ix, m, d, sql)
	}
	if err == nil && (done.StateSaved || done.StateMoved) && p.window != nil {
		p.window.moves = false
	}
	return err
}

// required refuses a delta that leaves out a column which the target wants in each row.
func required(table *connectors.Table, fit load.Fit) error {
	for _, c := range table.Columns {
		if c.Nullable || c.Attrs["default"] != "" {
			continue
		}
		found := false
		for _, have := range fit.Columns {
			found = found || have.Name == c.Name
		}
		if !found {
			return fmt.Errorf("column %q of %s must not be NULL and the model does not give it", c.Name, table.Relation)
		}
	}
	return nil
}

// distinct makes keys unique where the strategy matches rows by them: the row with the
// highest watermark stays, and without one a repeated key is an error.
func (r *Runner) distinct(ctx context.Context, p *Prepared, m *compute.Model) (string, error) {
	from := "SELECT * FROM " + compute.Kept(kept)
	key := p.Delta.Key
	if len(key) == 0 || p.Delta.Strategy == connectors.StrategyDeleteInsert || p.Delta.Strategy == connectors.StrategyAppend && !p.Delta.SkipExisting {
		return from, nil
	}
	surplus, err := m.Int(ctx, compute.SurplusRows(compute.Kept(kept), key))
	if err != nil || surplus == 0 {
		return from, err
	}
	mark := p.Node.Config.WatermarkColumn
	if mark == "" {
		return "", r.repeated(ctx, m, compute.RepeatedKey(compute.Kept(kept), key), key, "the same unique_key stands in several rows of the result, and there is no watermark to choose by")
	}
	if err := r.repeated(ctx, m, compute.TiedKey(compute.Kept(kept), key, mark), key, "the same unique_key stands in several rows of the result with the same highest "+mark); err != nil {
		return "", err
	}
	r.emit(Info, "duplicates", p.Node, "", map[string]any{"rows": surplus}, fmt.Sprintf("%s: %s of the delta left out, their keys have a newer %s", p.Node.Name, plural(surplus, "row"), mark))
	return compute.LatestRows(compute.Kept(kept), key, mark), nil
}

// repeated runs a query that gives one offending key, or none.
func (r *Runner) repeated(ctx context.Context, m *compute.Model, query string, key []string, why string) error {
	found, err := textRow(ctx, m, query)
	if err != nil || found == nil {
		return err
	}
	var parts []string
	for i, v := range found {
		text := "NULL"
		if v != nil {
			text = connectors.Shorten(*v)
		}
		parts = append(parts, key[i]+" = "+text)
	}
	return fmt.Errorf("%s: %s; the target is unchanged", why, strings.Join(parts, ", "))
}

// textRow is the first row of a query as text, nil without one.
func textRow(ctx context.Context, m *compute.Model, query string) ([]*string, error) {
	cols, err := m.Columns(ctx, query)
	if err != nil {
		return nil, err
	}
	var row []*string
	err = m.Query(ctx, compute.TextQuery(query, cols), false, func(rec arrow.RecordBatch) error {
		if row == nil && rec.NumRows() > 0 {
			row = connectors.TextValues(rec, 0)
		}
		return nil
	})
	return row, err
}

// fitted casts the delta to the target's columns, having shown that no value is lost.
func (r *Runner) fitted(ctx context.Context, p *Prepared, m *compute.Model, from string) (load.Fit, string, error) {
	cols, err := m.Columns(ctx, from)
	if err != nil {
		return load.Fit{}, "", err
	}
	for i := range min(len(cols), len(p.Plan.Columns)) {
		if planned := p.Plan.Columns[i]; planned.Type.Equal(cols[i].Type) {
			cols[i].Native, cols[i].Engine, cols[i].Attrs, cols[i].Type.Length = planned.Native, planned.Engine, planned.Attrs, planned.Type.Length
		}
	}
	fit, err := r.fit(p, cols)
	if err != nil {
		return fit, "", err
	}
	if len(fit.Dropped) > 0 {
		r.emit(Warn, "warning", p.Node, "", nil, fmt.Sprintf("model '%s': the target lacks %s: left out (on_schema_change is 'ignore')", p.Node.Name, strings.Join(fit.Dropped, ", ")))
	}
	byName := map[string]string{}
	for _, c := range cols {
		byName[strings.ToLower(c.Name)] = c.Name
	}
	names, as, to := make([]string, len(fit.Columns)), make([]string, len(fit.Columns)), make([]string, len(fit.Columns))
	named := connectors.NamingColumns(connectors.Names(cols), p.Node.Config.UniqueKey)
	for i, c := range fit.Columns {
		names[i], as[i] = byName[strings.ToLower(c.Name)], c.Name
		if !fit.Cast[i] {
			continue
		}
		to[i] = c.Type.String()
		lost, err := textRow(ctx, m, compute.LostValue("("+from+")", names[i], fit.From[i].String(), to[i], named))
		if err != nil {
			return fit, "", err
		}
		if lost != nil {
			return fit, "", &connectors.ValueError{Column: c.Name, Value: connectors.Shorten(*lost[0]), Row: connectors.NamedRow(named, lost[1:]),
				Reason: fmt.Sprintf("the model gives %s but the table has %s, which does not hold it; set on_schema_change: append_new_columns to widen the column, or cast it in the model", fit.From[i], to[i])}
		}
	}
	return fit, compute.CastColumns("("+from+")", names, as, to), nil
}
