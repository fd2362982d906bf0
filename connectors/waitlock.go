package connectors

import (
	"context"
	"time"
)

// WaitLock tries to take the lock of rel every poll until try has it, fails, or wait is
// over (LockedError). waiting, which may be nil, is called once if the first try was in
// vain and there is time to wait.
func WaitLock(ctx context.Context, rel Relation, wait, poll time.Duration, waiting func(), try func(context.Context) (bool, error)) error {
	deadline := time.Now().Add(wait)
	for first := true; ; first = false {
		got, err := try(ctx)
		if err != nil {
			return err
		}
		if got {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return &LockedError{Relation: rel}
		}
		if first && waiting != nil {
			waiting()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(poll, left)):
		}
	}
}
