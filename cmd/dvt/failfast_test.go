package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// slowViews never end.
var slowViews = map[string]string{
	"pg": "CREATE VIEW $S.slow AS SELECT i::bigint AS id, pg_sleep(30)::text AS nap FROM generate_series(1, 100) i",
	"my": "CREATE VIEW $S.slow AS SELECT seq AS id, sleep(30) AS nap FROM seq_1_to_100",
	"ch": "CREATE VIEW $S.slow AS SELECT toInt64(number) AS id, toInt64(sleep(3)) AS nap FROM system.numbers",
}

// TestFailFast: when a model fails under --fail-fast, the statements that others run are
// cancelled on their servers, and their staging is gone.
func TestFailFast(t *testing.T) {
	for engine, view := range slowViews {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := newCase(t)
			p.exec(engine, view)
			// It fails when the test lets go of a lock.
			p.exec("pg", "CREATE FUNCTION $S.trap() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(hashtext(''"+p.schema+"'')); RAISE EXCEPTION ''the trap of a test''; END'",
				"CREATE VIEW $S.trap AS SELECT $S.trap() AS id")
			p.source(engine, "slow")
			p.source("pg", "trap")
			p.model("federated", "materialized='f_table', target='"+engine+"'", "select id, nap from {{ source('"+engine+"', 'slow') }}")
			p.model("native", "materialized='table', target='"+engine+"'", "select id, nap from {{ source('"+engine+"', 'slow') }}")
			p.model("failing", "materialized='f_table', target='lake'", "select id from {{ source('pg', 'trap') }}")
			trap := openDB(t, "pg", "")
			mustExec(t, trap, "SELECT pg_advisory_lock(hashtext('"+p.schema+"'))")
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			defer cancel()
			ended := make(chan ran, 1)
			go func() {
				ended <- finish(ctx, exec.CommandContext(ctx, "dvt", "--project-dir", p.dir, "run", "--fail-fast", "--threads", "4"), nil)
			}()
			w := &world{t: t, dir: p.dir, schema: p.schema, target: engine}
			running := func() (n int) {
				for _, s := range w.statements() {
					if strings.HasPrefix(s, engine+": ") && strings.Contains(s, "slow") {
						n++
					}
				}
				return n
			}
			for end := time.Now().Add(time.Minute); running() < 2; time.Sleep(50 * time.Millisecond) {
				if len(ended) > 0 || time.Now().After(end) {
					t.Fatalf("the slow statements do not run: %q\n%s", w.statements(), (<-ended).out)
				}
			}
			mustExec(t, trap, "SELECT pg_advisory_unlock(hashtext('"+p.schema+"'))")
			r := <-ended
			if r.code != 1 || r.hung || !strings.Contains(r.out, "the trap of a test") {
				t.Errorf("exit code %d after %s:\n%s", r.code, r.elapsed, r.out)
			}
			if left := w.quiet(8 * time.Second); len(left) > 0 {
				t.Errorf("still running on the server: %s\n%s", strings.Join(left, "; "), r.out)
			}
			if left := w.leftovers(); len(left) > 0 {
				t.Errorf("left behind: %s\n%s", strings.Join(left, ", "), r.out)
			}
		})
	}
}
