// Package load lands a result on its target by a strategy: one file per strategy, all
// blind to the engine. Staging, swap and delta themselves are abilities of the target's
// connection.
package load

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/internal/retry"
)

// Source is a result that is about to land.
type Source interface {
	// Rows calls emit for each batch, in order. A batch is valid only until emit
	// returns unless emit retains it.
	Rows(ctx context.Context, emit func(arrow.RecordBatch) error) error
	// Fill puts the rows into a staging relation that the compute engine reaches
	// itself, without batches, and returns how many; ok is false when the result does
	// not come from the compute engine.
	Fill(ctx context.Context, to connectors.Filler) (rows int64, ok bool, err error)
}

// Result is what a strategy changed on the target.
type Result struct {
	Inserted, Updated, Deleted int64
}

// AbilityError says that a connection lacks what a strategy needs. It is returned
// before anything is read.
type AbilityError struct {
	Connection, Strategy, Missing string
}

func (e *AbilityError) Error() string {
	return fmt.Sprintf("connection %q cannot be the target of %s: %s", e.Connection, e.Strategy, e.Missing)
}

// StageError is an error of a load of which nothing has been applied yet.
type StageError struct{ Err error }

func (e *StageError) Error() string { return e.Err.Error() }
func (e *StageError) Unwrap() error { return e.Err }

// stage fills a staging relation with rows and checks the count: what the server
// holds must be what was sent.
func stage(ctx context.Context, target connectors.Stager, spec connectors.StageSpec, rows Source) (connectors.Staging, int64, error) {
	var st connectors.Staging
	err := retry.Lost(ctx, nil, func() (err error) {
		st, err = target.Stage(ctx, spec)
		return err
	})
	if err != nil {
		return nil, 0, &StageError{fmt.Errorf("creating the staging table of %s: %w", spec.Target, err)}
	}
	sent, err := fill(ctx, st, rows)
	if err == nil {
		var held int64
		if held, err = st.Seal(ctx); err == nil && held != sent {
			err = fmt.Errorf("staging %s: %d rows were sent but the target holds %d; the target is unchanged", spec.Target, sent, held)
		}
	}
	if err != nil {
		discard(ctx, st)
		return nil, sent, &StageError{err}
	}
	return st, sent, nil
}

// fill writes rows while the next batches are being computed: at most two wait.
func fill(ctx context.Context, st connectors.Staging, rows Source) (sent int64, err error) {
	if f, can := st.(connectors.Filler); can {
		if sent, ok, err := rows.Fill(ctx, f); ok || err != nil {
			return sent, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan arrow.RecordBatch, 2)
	written := make(chan error, 1)
	go func() {
		var err error
		for rec := range batches {
			if err == nil {
				if err = st.Write(ctx, rec); err != nil {
					cancel(err)
				}
			}
			rec.Release()
		}
		written <- err
	}()
	err = rows.Rows(ctx, func(rec arrow.RecordBatch) error {
		rec.Retain()
		select {
		case batches <- rec:
			sent += rec.NumRows()
			return nil
		case <-ctx.Done():
			rec.Release()
			return context.Cause(ctx)
		}
	})
	close(batches)
	if werr := <-written; werr != nil {
		return sent, werr // the cause; rows only saw the cancellation
	}
	return sent, err
}

// discard drops staging although ctx may be over.
func discard(ctx context.Context, st connectors.Staging) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	// What cannot be dropped now is dropped by the next run of the model.
	_ = st.Discard(ctx)
}
