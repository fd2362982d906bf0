package duck

import (
	"time"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// Pauses between two looks at a statement whose work is all with other threads.
const (
	leastPause = 20 * time.Microsecond
	mostPause  = time.Millisecond
)

// finish works on a statement until its result is there or it has failed. The library's
// own call asks without a pause for work that another thread does, which takes a core
// from whoever makes the rows that the statement waits for.
func finish(pending bindings.PendingResult) {
	for pause := leastPause; ; {
		switch bindings.PendingExecuteTask(pending) {
		case bindings.PendingStateResultNotReady:
			pause = leastPause
		case bindings.PendingStateNoTasksAvailable:
			time.Sleep(pause)
			pause = min(2*pause, mostPause)
		default:
			return
		}
	}
}

// complete runs a prepared statement to its end. The caller destroys res.
func complete(sql string, stmt bindings.PreparedStatement, res *bindings.Result) error {
	var pending bindings.PendingResult
	defer bindings.DestroyPending(&pending)
	if bindings.PendingPrepared(stmt, &pending) == bindings.StateError {
		return statementError(sql, bindings.PendingError(pending))
	}
	finish(pending)
	if bindings.ExecutePending(pending, res) == bindings.StateError {
		return statementError(sql, bindings.ResultError(res))
	}
	return nil
}
