// Package retry does again what failed because a connection was lost, where nothing can
// have been applied yet. It decides by the error alone; whether a step may be repeated is
// the caller's to know.
package retry

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/dvt-dev/dvt/connectors"
)

// The attempts and the time between them, which a server needs to come back.
const (
	attempts  = 5
	firstWait = 100 * time.Millisecond
	longest   = 3 * time.Second
)

// Lost calls f until it succeeds, fails for another reason than a lost connection, or has
// been tried often enough. again is told of each failure that is tried again; it may be
// nil.
func Lost(ctx context.Context, again func(error), f func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = firstWait, longest, 3
	lost, tries := false, 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		err := f()
		var end *stop
		if errors.As(err, &end) {
			return struct{}{}, permanent(end.error)
		}
		if err == nil || ctx.Err() != nil {
			return struct{}{}, permanent(err)
		}
		var tired *exhausted
		transient := !errors.As(err, &tired) && (broken(err) || lost && refused(err))
		lost = lost || transient
		switch {
		case !transient:
			return struct{}{}, permanent(err)
		case tries == attempts:
			return struct{}{}, permanent(&exhausted{err})
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(attempts), backoff.WithNotify(func(err error, _ time.Duration) {
		if again != nil {
			again(err)
		}
	}))
	var p *backoff.PermanentError
	if errors.As(err, &p) {
		return p.Unwrap()
	}
	return err
}

// Stop has Lost return err, whatever it is: f knows that something was done with it.
func Stop(err error) error {
	if err == nil {
		return nil
	}
	return &stop{err}
}

type stop struct{ error }

func (s *stop) Unwrap() error { return s.error }

// exhausted is an error that was tried often enough: whoever is further out and retries
// as well takes it as it is.
type exhausted struct{ error }

func (e *exhausted) Unwrap() error { return e.error }

func permanent(err error) error {
	if err == nil {
		return nil
	}
	return backoff.Permanent(err)
}

// broken: an open connection, or one that was just being opened, broke off.
func broken(err error) bool {
	var c *connectors.ConnectError
	return connectors.Lost(err) || errors.As(err, &c) && connectors.Broken(err)
}

// refused: nobody listens. After a connection was lost that is a server that restarts.
func refused(err error) bool {
	var c *connectors.ConnectError
	return errors.As(err, &c) && errors.Is(err, syscall.ECONNREFUSED)
}
