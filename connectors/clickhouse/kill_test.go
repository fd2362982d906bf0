package clickhouse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/dvt-dev/dvt/connectors"
)

const (
	childEnv  = "DVT_TEST_CH_CHILD" // database:merges that a child process makes, 0 for no end
	childRows = 300
)

// child gives all rows of a table one new value, by deltas of every way; with an end under
// the table's lock and with a state record.
func child(what string) error {
	db, n, _ := strings.Cut(what, ":")
	end, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(os.Getenv("DVT_TEST_CH_PORT"))
	if err != nil {
		return err
	}
	opened, err := open(connectors.Output{Name: "child", Type: engineName, Keys: map[string]any{
		"host": os.Getenv("DVT_TEST_CH_HOST"), "port": port, "user": os.Getenv("DVT_TEST_CH_USER"), "password": os.Getenv("DVT_TEST_CH_PASSWORD"), "schema": db}}, connectors.Env{})
	if err != nil {
		return err
	}
	c := opened.(*conn)
	for g := 0; end == 0 || g < end; g++ {
		if err := childMerge(c, fmt.Sprintf("p%d-%d", os.Getpid(), g), g, end > 0); err != nil {
			return err
		}
	}
	return c.Close()
}

func childMerge(c *conn, value string, g int, locked bool) error {
	ctx := context.Background()
	victim := connectors.Relation{Name: "victim"}
	if locked {
		release, err := c.Lock(ctx, victim, 50*time.Second, nil)
		if err != nil {
			return err
		}
		defer release()
	}
	if err := c.CleanStaging(ctx, victim); err != nil {
		return err
	}
	cs := cols("id", connectors.BigInt, "g", connectors.Varchar)
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: fmt.Sprintf("c%07d", os.Getpid()), Target: victim, Columns: cs})
	if err != nil {
		return err
	}
	defer func() { _ = st.Discard(ctx) }()
	b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cs))
	for i := range childRows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(value)
	}
	if err := st.Write(ctx, b.NewRecordBatch()); err != nil {
		return err
	}
	if _, err := st.Seal(ctx); err != nil {
		return err
	}
	d := connectors.Delta{Strategy: []connectors.Strategy{connectors.StrategyMerge, connectors.StrategyDeleteInsert}[g%2], Key: []string{"id"}, Columns: colNames(cs)}
	out, err := c.Apply(ctx, st, d)
	if err == nil && out.Inserted+out.Updated != childRows {
		err = fmt.Errorf("%+v", out)
	}
	if err != nil || !locked {
		return err
	}
	save := connectors.StateSave{Record: connectors.StateRecord{Model: "m", Target: "victim", Value: value}}
	if rec, err := c.LoadState(ctx, "", "m", "victim"); err != nil {
		return err
	} else if rec != nil {
		save.Previous = &rec.Value
	}
	return c.SaveState(ctx, save)
}

func (f *fixture) child(what string, said *strings.Builder) *exec.Cmd {
	f.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childEnv+"="+f.db+":"+what)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	return cmd
}

func (f *fixture) victim() {
	f.exec("CREATE TABLE " + f.db + ".victim (id Nullable(Int64), g Nullable(String)) ENGINE = MergeTree ORDER BY tuple()")
	f.exec(fmt.Sprintf("INSERT INTO %s.victim SELECT number, 'old' FROM system.numbers LIMIT %d", f.db, childRows))
}

// A process that is killed at any moment leaves the rows before a delta or after it, and
// the next run clears up.
func TestKillDuringApply(t *testing.T) {
	f := newFixture(t, "")
	f.victim()
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		var said strings.Builder
		cmd := f.child("0", &said)
		time.Sleep(time.Duration(150+r.IntN(250)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the child ended by itself: %v\n%s", err, said.String())
		}
		if err := f.CleanStaging(context.Background(), f.rel("victim")); err != nil {
			t.Fatal(err)
		}
		if got := f.content("SELECT count(), uniqExact(g) FROM " + f.db + ".victim"); got != fmt.Sprintf("%d|1", childRows) {
			t.Errorf("round %d: a reader sees %s", round, got)
		}
		// What the server was still doing for the dead client may have come after.
		for try := 0; len(f.tables()) > 1 && try < 20; try++ {
			time.Sleep(100 * time.Millisecond)
			if err := f.CleanStaging(context.Background(), f.rel("victim")); err != nil {
				t.Error(err)
			}
		}
		if left := f.tables(); len(left) != 1 {
			t.Errorf("round %d: tables %v", round, left)
		}
	}
	if got := f.content("SELECT max(g) FROM " + f.db + ".victim"); got == "old" {
		t.Error("no child came as far as a swap")
	}
}

// Two processes that merge into one table take turns.
func TestTwoProcesses(t *testing.T) {
	f := newFixture(t, "")
	f.victim()
	var said [2]strings.Builder
	var all [2]*exec.Cmd
	for i := range all {
		all[i] = f.child("3", &said[i])
	}
	for i, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, said[i].String())
		}
	}
	if got := f.content("SELECT count(), uniqExact(g) FROM " + f.db + ".victim"); got != fmt.Sprintf("%d|1", childRows) {
		t.Error(got)
	}
	rec, err := f.LoadState(context.Background(), "", "m", "victim")
	if got := f.content("SELECT max(g) FROM " + f.db + ".victim"); err != nil || rec.Value != got {
		t.Errorf("the state is %v, the rows are %s, %v", rec, got, err)
	}
}
