package sqlite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/connectors"
)

// TestMain turns this binary into a loader that is going to be killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("DVT_TEST_CRASH_LOADER"); path != "" {
		loadForever(path)
	}
	os.Exit(m.Run())
}

func loadForever(path string) {
	t := &testing.T{}
	c, err := open(connectors.Output{Name: "c", Keys: map[string]any{"path": path}}, connectors.Env{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for v := 1; ; v++ {
		var all [][]any
		for i := range 20000 {
			all = append(all, []any{strconv.Itoa(i), fmt.Sprintf("%d %s", v, strings.Repeat("x", 100))})
		}
		rec := record(t, idName, all...)
		st, err := c.Stage(ctx, connectors.StageSpec{RunID: fmt.Sprintf("run%05d", v), Target: connectors.Relation{Name: "t"}, Columns: idName})
		for range 3 {
			if err == nil {
				err = st.Write(ctx, rec)
			}
		}
		if err == nil {
			_, err = st.Seal(ctx)
		}
		if err == nil {
			err = c.Replace(ctx, st)
		}
		if err == nil {
			err = st.Discard(ctx)
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(v)
	}
}

// A load killed at any moment leaves one whole content; the next one succeeds and leaves
// no staging table behind.
func TestKilledLoad(t *testing.T) {
	for _, mode := range []string{"DELETE", "WAL"} {
		c := newConn(t)
		run(t, c, "PRAGMA journal_mode = "+mode, "CREATE TABLE t (id INTEGER, name TEXT); CREATE INDEX t_name ON t (name); INSERT INTO t VALUES (0, '0 x')")
		for round := range 4 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "DVT_TEST_CRASH_LOADER="+c.path)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(60+round*90) * time.Millisecond)
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			got := engineRows(t, c, "SELECT count(*), count(DISTINCT substr(name, 1, instr(name, ' '))), (SELECT group_concat(x) FROM (SELECT integrity_check AS x FROM pragma_integrity_check)) FROM t")
			if !slices.Contains([]string{"1|1|ok", "60000|1|ok"}, got[0]) {
				t.Fatalf("%s, round %d: rows, versions, integrity: %s", mode, round, got[0])
			}
		}
		target := connectors.Relation{Name: "t"}
		if err := c.CleanStaging(t.Context(), target); err != nil {
			t.Fatal(err)
		}
		rec := record(t, idName, []any{"1", "last"})
		if err := load(t, c, "t", idName, connectors.TargetOptions{}, rec); err != nil {
			t.Fatal(err)
		}
		rec.Release()
		if got := engineRows(t, c, "SELECT name, (SELECT group_concat(name) FROM sqlite_master) FROM t"); !slices.Equal(got, []string{"last|t,t_name"}) {
			t.Errorf("%s: %q", mode, got)
		}
	}
}
