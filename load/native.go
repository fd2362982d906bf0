package load

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// Native is a connection that builds relations in its own SQL and takes them as tables.
type Native interface {
	connectors.Conn
	connectors.Builder
	connectors.Stager
	connectors.Swapper
}

// CanBuild reports whether c runs models in its own SQL.
func CanBuild(name string, c connectors.Conn, materialized string) (Native, error) {
	if n, ok := c.(Native); ok {
		return n, nil
	}
	return nil, &AbilityError{name, materialized, "it runs no SQL of its own; use materialized='f_table'"}
}

// Build makes the rows of a SELECT in the engine's own SQL the whole content of
// s.Target. check sees the result's columns before anything is replaced. The caller
// holds the target's lock.
func Build(ctx context.Context, c Native, s connectors.StageSelect, check func([]connectors.Column) error) (Result, error) {
	st, sel, err := c.StageSelect(ctx, s)
	if st != nil {
		defer discard(ctx, st)
	}
	if err == nil {
		err = check(sel.Columns)
	}
	if err == nil {
		err = c.Replace(ctx, st)
	}
	if err != nil {
		return Result{}, err
	}
	return Result{Inserted: sel.Rows}, nil
}

// ApplySelect applies the rows of a SELECT in the engine's own SQL to s.Target, which
// exists. delta gives the change from the result's columns. The caller holds the
// target's lock.
func ApplySelect(ctx context.Context, c Native, s connectors.StageSelect, delta func([]connectors.Column) (connectors.Delta, error)) (Result, int64, error) {
	st, sel, err := c.StageSelect(ctx, s)
	if st != nil {
		defer discard(ctx, st)
	}
	if err != nil {
		return Result{}, 0, err
	}
	d, err := delta(sel.Columns)
	if err != nil || sel.Rows == 0 && len(d.Alter) == 0 {
		return Result{}, sel.Rows, err
	}
	if err := locked(ctx, c, s.Target); err != nil {
		return Result{}, sel.Rows, err
	}
	done, err := c.(connectors.Merger).Apply(ctx, st, d)
	return Result{Inserted: done.Inserted, Updated: done.Updated, Deleted: done.Deleted}, sel.Rows, err
}

// FitNative is FitColumns for a delta that the engine itself has staged: its types are
// the engine's, and a column whose values the table might not hold is an error, for
// nothing casts them on the way.
func FitNative(policy string, table *connectors.Table, delta []connectors.Column) (Fit, error) {
	f, err := FitColumns(policy, table, delta, func(c connectors.Column) (string, error) { return c.Native, nil })
	if err != nil {
		return f, err
	}
	for i, c := range f.Columns {
		if f.Cast[i] && !wider(c.Type, f.From[i]) {
			return f, fmt.Errorf("column %q is %s in the model but %s in the table, which may not hold its values: cast it in the model, set on_schema_change: append_new_columns to widen the column, or rebuild the table with --full-refresh",
				c.Name, f.From[i], c.Type)
		}
	}
	return f, nil
}
