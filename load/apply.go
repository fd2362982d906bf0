package load

import (
	"context"
	"fmt"

	"github.com/dvt-dev/dvt/connectors"
)

// CanApply reports whether c can take deltas by a strategy; it is asked before anything
// is read.
func CanApply(name string, c connectors.Conn, materialized string, d connectors.Delta) error {
	if _, ok := c.(connectors.Stager); !ok {
		return &AbilityError{name, materialized, "it can only be read"}
	}
	if _, ok := c.(connectors.Merger); ok {
		return nil
	}
	if _, ok := c.(connectors.AppendOnly); !ok {
		return &AbilityError{name, materialized, "it cannot change a table"}
	}
	if d.Strategy != connectors.StrategyAppend {
		return &AbilityError{name, materialized, "it can only append, not " + d.Strategy.String()}
	}
	if d.SkipExisting {
		return &AbilityError{name, materialized, "it can only append, not skip the rows that exist"}
	}
	return nil
}

// locked fails if the lock of target was lost while a delta was read: another run may
// have applied the same rows meanwhile.
func locked(ctx context.Context, c connectors.Conn, target connectors.Relation) error {
	h, ok := c.(connectors.LockHolder)
	if !ok {
		return nil
	}
	if err := h.HoldsLock(ctx, target); err != nil {
		return &StageError{fmt.Errorf("the lock of %s was lost while the delta was read; the target is unchanged: %w", target, err)}
	}
	return nil
}

// Apply stages rows and applies them to spec.Target as d says, all or nothing. The
// caller holds the target's lock; the target exists.
func Apply(ctx context.Context, c connectors.Conn, spec connectors.StageSpec, d connectors.Delta, rows Source) (Result, connectors.Applied, error) {
	_, merges := c.(connectors.Merger)
	spec.Append = !merges
	st, sent, err := stage(ctx, c.(connectors.Stager), spec, rows)
	if err != nil {
		return Result{}, connectors.Applied{}, err
	}
	defer discard(ctx, st)
	if err := locked(ctx, c, spec.Target); err != nil {
		return Result{}, connectors.Applied{}, err
	}
	var done connectors.Applied
	switch c := c.(type) {
	case connectors.Merger:
		done, err = c.Apply(ctx, st, d)
	case connectors.AppendOnly:
		done, err = c.Append(ctx, st)
		done.Inserted = sent
	}
	return Result{Inserted: done.Inserted, Updated: done.Updated, Deleted: done.Deleted}, done, err
}
