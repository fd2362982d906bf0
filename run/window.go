package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dvt-dev/dvt/compute"
	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/project"
	"github.com/dvt-dev/dvt/watermark"
)

// window is what a window-style load reads and what its success means for state.
type window struct {
	watermark.Window
	key      string
	previous *string // the state record's value before
	// moves says that state follows the load; to is the value it moves to, nil for the
	// target's highest.
	moves bool
	to    *watermark.Value
}

// windowStyle prepares a model whose WHERE clause dvt owns.
func (i *increment) windowStyle(ctx context.Context) (*increments, error) {
	n, r := i.node, i.runner
	key := n.Config.WatermarkColumn
	if r.Options.Range != "" {
		return i.ranged(ctx, key)
	}
	if len(n.Config.UniqueKey) == 0 && (n.Config.Strategy != "append" || n.Config.Range != nil && n.Config.Range.Lookback != "") {
		return nil, fmt.Errorf("model '%s': set unique_key; without one only incremental_strategy 'append' without lookback is safe", n.Name)
	}
	if n.Config.Range != nil && n.Config.Range.Advance != "" {
		return i.advance(ctx, key)
	}
	w := &window{key: key, moves: true}
	if i.table == nil {
		rec, err := r.loadState(ctx, n)
		if err != nil {
			return nil, err // it could not follow the load either, and the next one would begin at the wrong place
		}
		if rec != nil {
			w.previous = &rec.Value
		}
		if rec != nil && !r.fullRefresh(n) {
			i.warn("the target is missing or empty: its state (%s) is ignored", rec.Value)
		}
		return i.load(w)
	}
	mark, err := i.mark(ctx, key, w)
	if err != nil {
		return nil, err
	}
	w.Window = watermark.Plain(mark)
	if n.Config.Range != nil && n.Config.Range.Lookback != "" {
		back, err := i.duration(n.Config.Range.Lookback, mark)
		if err != nil {
			return nil, err
		}
		w.Window = watermark.Lookback(mark, back)
	}
	return i.load(w)
}

// mark finds the watermark: the state record, else the target's highest value. A column
// that is missing or cannot be read is a warning, and everything is read.
func (i *increment) mark(ctx context.Context, key string, w *window) (*watermark.Value, error) {
	rec, err := i.runner.loadState(ctx, i.node)
	if err != nil {
		return nil, err
	}
	if rec != nil {
		w.previous = &rec.Value
		typ, err := i.keyType(ctx, rec.ColumnType)
		if err != nil {
			return nil, err
		}
		v, err := watermark.Parse(typ, rec.Value)
		if err != nil {
			return nil, fmt.Errorf("the state of model '%s' cannot be read: %w", i.node.Name, err)
		}
		return &v, nil
	}
	at := -1
	for j, c := range i.table.Columns {
		if strings.EqualFold(c.Name, key) {
			at = j
		}
	}
	if at < 0 || i.table.Columns[at].Type.Kind == connectors.Invalid {
		if i.delta.Strategy == connectors.StrategyAppend {
			return nil, fmt.Errorf("model '%s': column '%s' of %s cannot be read, so all rows would be added again: run it with --full-refresh", i.node.Name, key, i.node.Relation())
		}
		i.warn("column '%s' of %s cannot be read: everything is read", key, i.node.Relation())
		return nil, nil
	}
	v, err := i.highest(ctx, i.table.Columns[at].Name)
	if err == nil && v == nil {
		err = i.unfiltered()
	}
	return v, err
}

func (i *increment) warn(format string, args ...any) {
	i.runner.emit(Warn, "warning", i.node, "", nil, "model '"+i.node.Name+"': "+fmt.Sprintf(format, args...))
}

// keyType is the update key's type: the target's if it stands, else the state
// record's, else the model's own.
func (i *increment) keyType(ctx context.Context, recorded string) (connectors.Type, error) {
	key := i.node.Config.WatermarkColumn
	if i.table != nil {
		for _, c := range i.table.Columns {
			if strings.EqualFold(c.Name, key) {
				return c.Type, nil
			}
		}
	}
	if recorded != "" {
		return connectors.ParseType(recorded)
	}
	full, err := i.runner.prepare(ctx, i.node, i.mode, nil)
	if err != nil {
		return connectors.Type{}, err
	}
	for _, c := range full.Plan.Columns {
		if strings.EqualFold(c.Name, key) {
			return c.Type, nil
		}
	}
	return connectors.Type{}, hasColumns(full.Plan.Columns, []string{key}, "update_key")
}

// duration reads a lookback or advance and checks that the key can be moved by it.
func (i *increment) duration(text string, mark *watermark.Value) (watermark.Duration, error) {
	d, err := watermark.ParseDuration(text)
	if err != nil || mark == nil {
		return d, err
	}
	if !watermark.Temporal(mark.Type) {
		return d, fmt.Errorf("range.advance/lookback requires datetime/date update_key, got %q", strings.ToLower(mark.Type.String()))
	}
	if mark.Type.Kind == connectors.Date && d.SubDay() {
		return d, fmt.Errorf("model '%s': %s is less than a day, which a date update_key cannot move by", i.node.Name, text)
	}
	return d, nil
}

// load is one load of w.
func (i *increment) load(w *window) (*increments, error) {
	return &increments{count: 1, window: w, prepare: func(ctx context.Context, _ int) (*Prepared, error) { return i.windowed(ctx, w) }}, nil
}

// windowed renders and plans the model for one window.
func (i *increment) windowed(ctx context.Context, w *window) (*Prepared, error) {
	n, r := i.node, i.runner
	rc := r.render(n)
	rc.WhereCond = func(column string) (string, error) {
		if column == "" {
			column = compute.Quote(w.key)
		}
		return w.Condition(column), nil
	}
	rc.IncrementalValue = func(string) (string, error) { return w.Value(), nil }
	compiled, err := r.Project.Compile(ctx, n, rc)
	if err != nil {
		return nil, err
	}
	p, err := i.finish(ctx, compiled, compiled.SQL, nil, "window "+w.Condition(w.key))
	if err != nil {
		return nil, err
	}
	p.window = w
	return p, nil
}

// advance is the paged driver.
func (i *increment) advance(ctx context.Context, key string) (*increments, error) {
	n, r := i.node, i.runner
	if place, err := r.statePlace(); err != nil {
		return nil, err
	} else if place == nil {
		return nil, fmt.Errorf("model '%s': range.advance requires SLING_STATE to be configured", n.Name)
	}
	rec, err := r.loadState(ctx, n)
	if err != nil {
		return nil, err
	}
	_, missing := r.Conns.Describe(ctx, n.Connection, n.Relation())
	if rec != nil && errors.Is(missing, connectors.ErrNotFound) {
		i.warn("the target is gone: its state (%s) is ignored", rec.Value)
	}
	w := &window{key: key, moves: true}
	if rec != nil {
		w.previous = &rec.Value
	}
	var from watermark.Value
	if rec != nil && !errors.Is(missing, connectors.ErrNotFound) && !r.fullRefresh(n) {
		typ, err := i.keyType(ctx, rec.ColumnType)
		if err == nil {
			from, err = watermark.Parse(typ, rec.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("the state of model '%s' cannot be read: %w", n.Name, err)
		}
	} else {
		origin, err := i.origin(ctx, key, w)
		if err != nil || origin == nil {
			return &increments{skip: fmt.Sprintf("model '%s': the source has no rows: nothing to do", n.Name)}, err
		}
		from = *origin
	}
	step, err := i.duration(n.Config.Range.Advance, &from)
	if err != nil {
		return nil, err
	}
	var back *watermark.Duration
	if n.Config.Range.Lookback != "" {
		d, err := i.duration(n.Config.Range.Lookback, &from)
		if err != nil {
			return nil, err
		}
		back = &d
	}
	next, ok := watermark.Advance(from, step, back, r.Now)
	if !ok {
		return &increments{skip: fmt.Sprintf("model '%s': up to date at %s", n.Name, from.Short())}, nil
	}
	w.Window, w.to = next, next.Upper
	return i.load(w)
}

// origin is where a paged load starts: range.start, else the source's lowest value,
// which is written to state before anything is loaded so that a crash does not probe
// again.
func (i *increment) origin(ctx context.Context, key string, w *window) (*watermark.Value, error) {
	n, r := i.node, i.runner
	if start := n.Config.Range.Start; start != "" {
		typ, err := i.keyType(ctx, "")
		if err != nil {
			return nil, err
		}
		v, err := watermark.Parse(typ, start)
		if err != nil {
			return nil, fmt.Errorf("model '%s': range.start: %w", n.Name, err)
		}
		return &v, nil
	}
	compiled, err := r.Project.Compile(ctx, n, r.render(n))
	if err != nil {
		return nil, err
	}
	value, err := r.scalar(ctx, n, compiled, compute.Probe(compiled.SQL, "min", key), planMode{})
	if err != nil {
		return nil, fmt.Errorf("looking for the lowest %s: %w", key, err)
	}
	if value.text == nil {
		i.warn("the source is empty: skipping")
		return nil, nil
	}
	v, err := watermark.Parse(value.typ, *value.text)
	if err != nil || !i.mode.live {
		return &v, err
	}
	text := v.State()
	if err := r.saveState(ctx, n, v, w.previous); err != nil {
		return nil, fmt.Errorf("writing the origin to state: %w", err)
	}
	w.previous = &text
	return &v, nil
}

// ranged is the --range driver: chunks that never move state.
func (i *increment) ranged(ctx context.Context, key string) (*increments, error) {
	if key == "" {
		return nil, fmt.Errorf("model '%s': --range requires update_key", i.node.Name)
	}
	rng, err := watermark.ParseRange(i.runner.Options.Range)
	if err != nil {
		return nil, err
	}
	typ, err := i.keyType(ctx, "")
	if err != nil {
		return nil, err
	}
	chunks, err := rng.Chunks(typ)
	if err != nil {
		return nil, err
	}
	in := &increments{count: len(chunks), chunks: chunks}
	in.prepare = func(ctx context.Context, at int) (*Prepared, error) {
		if at > 0 && i.table == nil { // the first chunk made the target
			target, err := i.runner.Conns.Get(i.node.Connection)
			if err != nil {
				return nil, err
			}
			if i.table, err = i.runner.standing(ctx, i.node, target, false); err != nil {
				return nil, err
			}
		}
		return i.windowed(ctx, &window{key: key, Window: chunks[at]})
	}
	return in, nil
}

// Refuse checks --range against all selected models before anything runs.
func (r *Runner) Refuse(nodes []*project.Node) error {
	if r.Options.Range == "" {
		return nil
	}
	if _, err := watermark.ParseRange(r.Options.Range); err != nil {
		return err
	}
	for _, n := range nodes {
		if !n.WindowStyle {
			return rangeRefusal(n)
		}
		if n.Config.WatermarkColumn == "" {
			return fmt.Errorf("model '%s': --range requires update_key", n.Name)
		}
	}
	return nil
}

// rangeStep is the step of --range, "" without one.
func (r *Runner) rangeStep() string {
	rng, err := watermark.ParseRange(r.Options.Range)
	if err != nil {
		return ""
	}
	return rng.Step
}
