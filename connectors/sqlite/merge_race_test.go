package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// applyVersion merges n rows of the text v into t.
func applyVersion(t *testing.T, c *conn, n int, v string, d connectors.Delta) (out connectors.Applied, err error) {
	ctx := context.Background()
	var all [][]any
	for i := range n {
		all = append(all, []any{strconv.Itoa(i + 1), v})
	}
	rec := record(t, idName, all...)
	defer rec.Release()
	d.Columns = []string{"id", "name"}
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: fmt.Sprintf("%08x", os.Getpid()), Target: connectors.Relation{Name: "t"}, Columns: idName})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Discard(ctx)) }()
	if err = st.Write(ctx, rec); err == nil {
		_, err = st.Seal(ctx)
	}
	if err != nil {
		return out, err
	}
	return c.Apply(ctx, st, d)
}

var byID = connectors.Delta{Strategy: upsert, Key: []string{"id"}}

const summary = "SELECT count(*) || '/' || count(DISTINCT id) || '/' || count(DISTINCT name) FROM t"

// closed reports whether done is closed.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestApplyReader: whoever reads while deltas are applied sees one of them, whole.
func TestApplyReader(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (id INTEGER, name TEXT); CREATE INDEX i ON t (id)")
		if _, err := applyVersion(t, c, 300, "v", byID); err != nil {
			t.Fatal(err)
		}
		stop, done := make(chan struct{}), make(chan struct{})
		reader := connAt(t, c.path)
		var reads atomic.Int64
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				s, release, err := reader.reader(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				got := ""
				err = s.rows(context.Background(), summary, func(r *stmt) error { got = r.text(0); return nil })
				release()
				if err != nil || got != "300/300/1" {
					t.Errorf("a reader saw %s, %v", got, err)
					return
				}
				reads.Add(1)
			}
		}()
		for i := 0; i < 12 || reads.Load() < 5 && !closed(done); i++ {
			d := byID
			if i%2 == 1 {
				d.Strategy = replace
			}
			if _, err := applyVersion(t, c, 300, fmt.Sprint("v", i), d); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		<-done
	}
}

// TestApplyChild is the process that TestApplyKilled kills.
func TestApplyChild(t *testing.T) {
	path := os.Getenv("DVT_TEST_MERGE_CHILD")
	if path == "" {
		return
	}
	c, err := open(connectors.Output{Name: "c", Keys: map[string]any{"path": path}}, connectors.Env{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		d := byID
		if i%2 == 1 {
			d.Strategy = replace
		}
		if _, err := applyVersion(t, c, 300, fmt.Sprintf("%d.%d", os.Getpid(), i), d); err != nil {
			t.Fatal(err)
		}
		fmt.Println("applied")
	}
}

// TestApplyKilled: two processes without a lock merge into one table until they are
// killed. No key is twice there, no delta half.
func TestApplyKilled(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (id INTEGER, name TEXT); CREATE INDEX i ON t (id)")
		for round := range 3 {
			var children []*exec.Cmd
			var applied atomic.Int64
			var wg sync.WaitGroup
			for range 2 {
				cmd := exec.Command(os.Args[0], "-test.run=^TestApplyChild$", "-test.v")
				cmd.Env = append(os.Environ(), "DVT_TEST_MERGE_CHILD="+c.path)
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				wg.Go(func() {
					buf := make([]byte, 4096)
					for {
						n, err := out.Read(buf)
						applied.Add(int64(bytes.Count(buf[:n], []byte("applied"))))
						if bytes.Contains(buf[:n], []byte("FAIL")) {
							t.Errorf("%s", buf[:n])
						}
						if err != nil {
							return
						}
					}
				})
				children = append(children, cmd)
			}
			for start := time.Now(); applied.Load() < 4 && time.Since(start) < 20*time.Second; {
				time.Sleep(time.Duration(1+round) * time.Millisecond)
			}
			for _, cmd := range children {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
			wg.Wait()
			if applied.Load() < 4 {
				t.Fatalf("%s: only %d deltas were applied", mode, applied.Load())
			}
			if got := engineRows(t, c, summary+" UNION ALL SELECT integrity_check FROM pragma_integrity_check"); strings.Join(got, " ") != "300/300/1 ok" {
				t.Fatalf("%s, round %d: %q", mode, round, got)
			}
		}
		target := connectors.Relation{Name: "t"}
		if err := c.CleanStaging(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		if out, err := applyVersion(t, c, 301, "last", byID); err != nil || out != (connectors.Applied{Inserted: 1, Updated: 300}) {
			t.Error(out, err)
		}
		if got := engineRows(t, c, "SELECT group_concat(name) FROM sqlite_master"); got[0] != "t,i" {
			t.Error(got)
		}
	}
}

// TestApplyCancelled: a delta that is cancelled, or times out on a lock, leaves nothing.
func TestApplyCancelled(t *testing.T) {
	c := newConn(t)
	run(t, c, "CREATE TABLE t (id INTEGER, name TEXT); INSERT INTO t VALUES (1, 'old')")
	run(t, c, "CREATE TABLE log (n INTEGER); CREATE TRIGGER g BEFORE INSERT ON t BEGIN INSERT INTO log WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r LIMIT 100000000; END")
	rec := record(t, idName, []any{"1", "new"}, []any{"2", "new"})
	defer rec.Release()
	st, err := c.Stage(t.Context(), connectors.StageSpec{RunID: "m", Target: connectors.Relation{Name: "t"}, Columns: idName})
	if err == nil {
		err = st.Write(t.Context(), rec)
	}
	if err == nil {
		_, err = st.Seal(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	d := byID
	d.Columns = []string{"id", "name"}
	if _, err := c.Apply(ctx, st, d); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if err := st.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if got := engineRows(t, c, "SELECT group_concat(name), (SELECT count(*) FROM log), (SELECT count(*) FROM sqlite_master) FROM t"); got[0] != "old|0|3" {
		t.Error(got)
	}
}
