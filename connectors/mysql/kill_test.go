package mysql

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	childEnv  = "DVT_TEST_MY_CHILD" // the database that a child process loads into
	childRows = 300
)

// child loads one table again and again, until it is killed: replaces it, or merges into
// it where db has such a prefix.
func child(db string) error {
	what, name, merges := strings.Cut(db, ":")
	if merges {
		db = name
	}
	k := map[string]any{"schema": db}
	for key, name := range map[string]string{"server": "HOST", "port": "PORT", "username": "USER", "password": "PASSWORD"} {
		k[key] = os.Getenv("DVT_TEST_MY_" + name)
	}
	conn, err := Open(connectors.Output{Name: "child", Type: "mariadb", Keys: k}, connectors.Env{Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return err
	}
	c := conn.(*Conn)
	if merges {
		return mergeChild(c, what == "alter")
	}
	cols := []connectors.Column{column("id", connectors.T(connectors.BigInt)), column("g", connectors.T(connectors.Varchar))}
	for g := 0; ; g++ {
		if err := c.CleanStaging(context.Background(), connectors.Relation{Name: "victim"}); err != nil {
			return err
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cols))
		for i := range childRows {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("g", g))
		}
		if err := tryStage(c, "victim", cols, connectors.TargetOptions{}, b.NewRecordBatch()); err != nil {
			return err
		}
	}
}

// TestKill: a process that is killed at any moment leaves the old content or the new one,
// and the next run clears up, with the trigger in place.
func TestKill(t *testing.T) {
	c := connect(t)
	execSQL(t, c, "CREATE TABLE log (n int); CREATE TABLE victim (id bigint, g text)")
	execSQL(t, c, fmt.Sprintf("INSERT INTO victim SELECT seq, 'old' FROM seq_1_to_%d; CREATE TRIGGER tr AFTER UPDATE ON victim FOR EACH ROW INSERT INTO log VALUES (1)", childRows))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), childEnv+"="+c.schema)
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(150+r.IntN(250)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the child ended by itself: %v\n%s", err, said.String())
		}
		// Before anything is cleared: a reader's view.
		if got := query(t, c, "SELECT COUNT(*), COUNT(DISTINCT g) FROM victim")[0]; got[0] != fmt.Sprint(childRows) || got[1] != "1" {
			t.Errorf("round %d: a reader sees %v", round, got)
		}
		if l := cleared(t, c); len(l) > 0 {
			t.Errorf("round %d: left behind %v", round, l)
		}
		if got := fmt.Sprint(query(t, c, "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()")); got != "[[tr victim]]" {
			t.Errorf("round %d: triggers %s", round, got)
		}
	}
	if got := query(t, c, "SELECT MAX(g) FROM victim")[0][0]; got == "old" {
		t.Error("no child came as far as a swap")
	}
}

// cleared cleans up and returns what is left. What the server was still doing for a dead
// client may come after a first time.
func cleared(t *testing.T, c *Conn) []string {
	t.Helper()
	for try := 0; ; try++ {
		err := c.CleanStaging(context.Background(), connectors.Relation{Name: "victim"})
		left := leftovers(t, c)
		switch {
		case err == nil && len(left) == 0:
			return nil
		case err != nil && try == 20:
			t.Fatal(err)
		case try == 20:
			return left
		}
		time.Sleep(100 * time.Millisecond)
	}
}
