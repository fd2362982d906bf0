package duck

import (
	"context"
	"errors"
	"slices"
)

// mostTries bounds how often the error behind an interruption is asked for: one try in
// fifty does not tell it.
const mostTries = 4

// told runs a statement that changes nothing when it fails once more, with again, if the
// error of the first run is an interruption that nobody asked for. Where one thread fails,
// DuckDB interrupts the others: whoever fetches rows may see that before the error, and
// the statement then fails with "Interrupted!" alone. A statement without rows to fetch
// waits for the error, so that only queries need this; others could not be run once more
// inside of a transaction.
func told(ctx context.Context, first error, again func() error) error {
	for try := 1; try < mostTries && failedAs(first, "INTERRUPT") && ctx.Err() == nil; try++ {
		err := again()
		if err == nil || failedAs(err, "TransactionContext") {
			break
		}
		if !failedAs(err, "INTERRUPT") {
			return err
		}
	}
	return first
}

// failedAs reports whether err is DuckDB's, of one of the kinds.
func failedAs(err error, kinds ...string) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(kinds, e.Kind)
}
