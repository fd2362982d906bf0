// Package retry does again what failed because a connection was lost, or because others
// changed what was being read, where nothing can have been applied yet. It decides by the
// error alone; whether a step may be repeated is the caller's to know.
package retry

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/dvt-dev/dvt/connectors"
)

// Pace is how often something is tried, and how long is waited in between: about First,
// then each time Factor times as long, at most Longest.
type Pace struct {
	Tries          int
	First, Longest time.Duration
	Factor         float64
}

// lostPace gives a server the time that it needs to come back.
var lostPace = Pace{Tries: 5, First: 100 * time.Millisecond, Longest: 3 * time.Second, Factor: 3}

// While calls f until it succeeds, again is false for its error, or p is at its end; again
// is not asked of the last one. It returns f's error, or ctx's cause when that ends the
// waiting. How long f takes does not matter.
func While(ctx context.Context, p Pace, again func(error) bool, f func() error) error {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval, wait.Multiplier = p.First, p.Longest, p.Factor
	tries := 0
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		err := f()
		if err != nil && (tries == p.Tries || ctx.Err() != nil || !again(err)) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(0))
	var end *backoff.PermanentError
	if errors.As(err, &end) {
		return end.Unwrap()
	}
	return err
}

// Lost calls f until it succeeds, fails for another reason than a lost connection or a
// connectors.ErrChanged, or has been tried often enough. again is told of each failure that
// is tried again; it may be nil.
func Lost(ctx context.Context, again func(error), f func() error) error {
	lost, tries := false, 0
	transient := func(err error) bool {
		var end *stop
		var tired *exhausted
		return !errors.As(err, &end) && !errors.As(err, &tired) && (broken(err) || errors.Is(err, connectors.ErrChanged) || lost && refused(err))
	}
	err := While(ctx, lostPace, func(err error) bool {
		if !transient(err) {
			return false
		}
		if lost = true; again != nil {
			again(err)
		}
		return true
	}, func() error { tries++; return f() })
	var end *stop
	switch {
	case errors.As(err, &end):
		return end.error
	case tries == lostPace.Tries && transient(err):
		return &exhausted{err}
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
