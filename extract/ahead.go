package extract

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/dvt-dev/dvt/connectors"
)

// aheadBatches wait at most between a source and the compute engine: with the one being
// read and the one being appended they bound what a read holds in memory.
const aheadBatches = 2

// ahead lets a source decode its next batch while the one before is being appended.
type ahead struct {
	ctx     context.Context
	to      connectors.Appender
	batches chan arrow.RecordBatch
	failed  context.Context // over when appending has failed
	done    chan error
}

// aborter is an appender that is not closed when rows are missing.
type aborter interface {
	// Abort ends it. It returns err unless the rows that are missing are not asked for.
	Abort(err error) error
}

// appendAhead starts appending. The caller must call close, whatever happens.
func appendAhead(ctx context.Context, to connectors.Appender) *ahead {
	failed, fail := context.WithCancelCause(ctx)
	a := &ahead{ctx: ctx, to: to, batches: make(chan arrow.RecordBatch, aheadBatches), failed: failed, done: make(chan error, 1)}
	go func() {
		var err error
		for rec := range a.batches {
			if err == nil {
				if err = to.Append(rec); err != nil {
					fail(err)
				}
			}
			rec.Release()
		}
		fail(nil)
		a.done <- err
	}()
	return a
}

// add hands a batch over; the error is that of an earlier one.
func (a *ahead) add(rec arrow.RecordBatch) error {
	rec.Retain()
	select {
	case a.batches <- rec:
		return nil
	case <-a.failed.Done():
		rec.Release()
		return context.Cause(a.failed)
	}
}

// close waits until all is appended and completes the relation. read is how the reading
// ended, which an error of appending has caused if there is one; where both were
// cancelled from outside, the reading knows why.
func (a *ahead) close(read error) error {
	close(a.batches)
	err := <-a.done
	if err == nil || read != nil && a.ctx.Err() != nil {
		err = read
	}
	if t, ok := a.to.(aborter); ok && err != nil {
		return t.Abort(err)
	}
	if e := a.to.Close(); e != nil && err == nil {
		err = e
	}
	return err
}
