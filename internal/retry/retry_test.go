package retry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

var (
	errLost = fmt.Errorf("staging: %w", &connectors.LostError{Where: "x", Err: io.EOF})
	reset   = &connectors.ConnectError{Where: "x", Err: syscall.ECONNRESET}
	refusal = &connectors.ConnectError{Where: "x", Err: syscall.ECONNREFUSED}
	denied  = &connectors.ConnectError{Where: "x", Err: errors.New("password authentication failed")}
	syntax  = &connectors.StatementError{Err: errors.New("syntax error")}
)

func TestLost(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  []error // one for each call; success after them
		calls int
		want  error
	}{
		{"success", nil, 1, nil},
		{"lost once", []error{errLost}, 2, nil},
		{"reset while connecting", []error{reset}, 2, nil},
		{"a server that restarts", []error{errLost, refusal}, 3, nil},
		{"a server that is not there", []error{refusal}, 1, refusal},
		{"a table that others emptied", []error{fmt.Errorf("reading: %w", connectors.ErrChanged)}, 2, nil},
		{"a wrong password", []error{denied}, 1, denied},
		{"a refused statement", []error{syntax}, 1, syntax},
		{"lost, then refused by the engine", []error{errLost, syntax}, 2, syntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, told := 0, 0
			err := Lost(context.Background(), func(error) { told++ }, func() error {
				calls++
				if calls <= len(c.errs) {
					return c.errs[calls-1]
				}
				return nil
			})
			if calls != c.calls || !errors.Is(err, c.want) {
				t.Errorf("%d calls and %v, want %d and %v", calls, err, c.calls, c.want)
			}
			if told != calls-1 {
				t.Errorf("told of %d failures in %d calls", told, calls)
			}
		})
	}
}

func TestLostForEver(t *testing.T) {
	calls := 0
	if err := Lost(context.Background(), nil, func() error { calls++; return errLost }); !errors.Is(err, io.EOF) || calls != lostPace.Tries {
		t.Error(calls, err)
	}
}

// One step within another does not multiply the attempts.
func TestLostWithin(t *testing.T) {
	calls := 0
	err := Lost(context.Background(), nil, func() error {
		return fmt.Errorf("around: %w", Lost(context.Background(), nil, func() error { calls++; return errLost }))
	})
	if !errors.Is(err, io.EOF) || calls != lostPace.Tries {
		t.Error(calls, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	start := time.Now()
	err := Lost(ctx, func(error) { cancel() }, func() error { return errLost })
	if err == nil || time.Since(start) > time.Second {
		t.Error(err, time.Since(start))
	}
}

// However long a step took, it is done again.
func TestLostLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := Lost(context.Background(), nil, func() error {
			time.Sleep(time.Hour)
			if calls++; calls < 3 {
				return errLost
			}
			return nil
		})
		if err != nil || calls != 3 {
			t.Error(calls, err)
		}
	})
}

func TestWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Pace{Tries: 4, First: time.Second, Longest: 3 * time.Second, Factor: 2}
		calls, asked, start := 0, 0, time.Now()
		err := While(context.Background(), p, func(error) bool { asked++; return true }, func() error { calls++; return syntax })
		if took := time.Since(start); !errors.Is(err, syntax) || calls != 4 || asked != 3 || took < 3*time.Second || took > 12*time.Second {
			t.Error(err, calls, asked, took)
		}
		calls = 0
		if err := While(context.Background(), p, func(error) bool { return false }, func() error { calls++; return syntax }); !errors.Is(err, syntax) || calls != 1 {
			t.Error(err, calls)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		calls = 0
		err = While(ctx, p, func(error) bool { cancel(denied); return true }, func() error { calls++; return syntax })
		if !errors.Is(err, denied) || calls != 1 {
			t.Error(err, calls)
		}
	})
}
