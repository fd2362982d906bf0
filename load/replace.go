package load

import (
	"context"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// discardTimeout bounds the clean-up after a failure: a server that is gone must not
// hold up the run's end.
const discardTimeout = 20 * time.Second

// CanReplace reports whether c can be the target of a full rebuild.
func CanReplace(name string, c connectors.Conn) error {
	if _, ok := c.(connectors.Stager); !ok {
		return &AbilityError{name, "f_table", "it can only be read"}
	}
	if _, ok := c.(connectors.Swapper); !ok {
		return &AbilityError{name, "f_table", "it cannot replace a table as a whole"}
	}
	return nil
}

// Replace makes rows the whole content of spec.Target: staging, count check, swap.
// The caller holds the target's lock. On error the old content is in place.
func Replace(ctx context.Context, c connectors.Conn, spec connectors.StageSpec, rows Source) (Result, error) {
	st, sent, err := stage(ctx, c.(connectors.Stager), spec, rows)
	if err != nil {
		return Result{}, err
	}
	defer discard(ctx, st)
	if err := c.(connectors.Swapper).Replace(ctx, st); err != nil {
		return Result{}, err
	}
	return Result{Inserted: sent}, nil
}
