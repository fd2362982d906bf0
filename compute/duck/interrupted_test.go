package duck

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	bindings "github.com/duckdb/duckdb-go-bindings"
)

// TestCauseOfFailure: a statement that fails on one of several threads says why, inside of
// a transaction as well.
func TestCauseOfFailure(t *testing.T) {
	c := open(t)
	exec(t, c, "SET threads = 4")
	exec(t, c, "CREATE TABLE src AS SELECT i, CASE WHEN i = 122887 THEN 'x' ELSE i::VARCHAR END AS s FROM range(250000) r(i)")
	exec(t, c, "CREATE TABLE dst (i BIGINT, n BIGINT)")
	statements := []string{
		"CREATE TABLE made AS SELECT i, s::BIGINT AS n FROM src", "INSERT INTO dst SELECT i, s::BIGINT FROM src", "UPDATE src SET i = s::BIGINT",
		"COPY (SELECT i, s::BIGINT AS n FROM src) TO '" + filepath.Join(t.TempDir(), "f.csv") + "' (FORMAT csv)",
	}
	for i := range 20 {
		for _, sql := range statements {
			if i%2 == 1 {
				exec(t, c, "BEGIN")
			}
			if _, err := c.Count(bg, sql); err == nil || !strings.Contains(err.Error(), "Could not convert string 'x'") {
				t.Fatalf("%s: %v", sql, err)
			}
			if i%2 == 1 {
				exec(t, c, "ROLLBACK")
			}
		}
		err := c.Query(bg, "SELECT i, s::BIGINT FROM src", func(arrow.RecordBatch) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "Could not convert string 'x'") {
			t.Fatalf("a query: %v", err)
		}
	}
}

// TestInterrupted: where DuckDB tells nothing else, the error says what to do.
func TestInterrupted(t *testing.T) {
	c := open(t)
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				bindings.Interrupt(c.handle)
			}
		}
	}()
	long := "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = 7"
	_, err := c.Count(bg, long)
	query := c.Query(bg, long, func(arrow.RecordBatch) error { return nil })
	close(done)
	<-gone
	for _, err := range []error{err, query} {
		if err == nil || !strings.HasSuffix(err.Error(), "run again") || strings.Contains(err.Error(), "Interrupted") {
			t.Error(err)
		}
	}
}
