package mysql

import (
	"context"
	"fmt"
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

// mergeChild gives all rows of a table one new value, and the state record the same, by
// deltas under the table's lock; with alters each delta adds a column.
func mergeChild(c *Conn, alters bool) error {
	victim := connectors.Relation{Name: "victim"}
	for g := 0; ; g++ {
		if err := mergeOnce(c, victim, fmt.Sprintf("p%d-%d", os.Getpid(), g), alters, g); err != nil {
			return err
		}
	}
}

func mergeOnce(c *Conn, victim connectors.Relation, value string, alters bool, g int) (err error) {
	ctx := context.Background()
	release, err := c.Lock(ctx, victim, time.Minute, nil)
	if err != nil {
		return err
	}
	defer release()
	if err := c.CleanStaging(ctx, victim); err != nil {
		return err
	}
	cols := []connectors.Column{bigint("id"), text20("g")}
	d := connectors.Delta{Strategy: []connectors.Strategy{merging, replacing}[g%2], Key: []string{"id"}, Columns: names(cols)}
	if alters {
		cols = append(cols, text20(fmt.Sprintf("c%s", value)))
		d.Alter = []connectors.Alteration{{Kind: connectors.AddColumn, Column: cols[2]}}
	} else {
		d.State = &connectors.StateSave{Record: connectors.StateRecord{Model: "m", Target: "victim", Value: value, UpdatedAt: time.Now()}}
		if rec, err := c.LoadState(ctx, "", "m", "victim"); err != nil {
			return err
		} else if rec != nil {
			d.State.Previous = &rec.Value
		}
	}
	st, err := c.Stage(ctx, connectors.StageSpec{RunID: fmt.Sprintf("c%d", os.Getpid()), Target: victim, Columns: cols})
	if err != nil {
		return err
	}
	defer func() { _ = st.Discard(ctx) }()
	b := array.NewRecordBuilder(memory.DefaultAllocator, connectors.ArrowSchema(cols))
	for i := range childRows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(value)
		if alters {
			b.Field(2).AppendNull()
		}
	}
	if err := st.Write(ctx, b.NewRecordBatch()); err != nil {
		return err
	}
	if _, err := st.Seal(ctx); err != nil {
		return err
	}
	out, err := c.Apply(ctx, st, d)
	if err == nil && (out.Inserted+out.Updated != childRows || d.State != nil && !out.StateSaved) {
		err = fmt.Errorf("%+v", out)
	}
	return err
}

// TestKillDuringApply: two processes merge into one table at once and are killed at any
// moment. A reader sees rows of one delta, and the state of the same one.
func TestKillDuringApply(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, what := range []string{"merge", "alter"} {
		c := connect(t)
		execSQL(t, c, fmt.Sprintf("CREATE TABLE victim (id bigint PRIMARY KEY, g varchar(20)); INSERT INTO victim SELECT seq - 1, 'old' FROM seq_1_to_%d", childRows))
		for round := range rounds {
			killed := make([]*exec.Cmd, 2)
			said := make([]strings.Builder, 2)
			for i := range killed {
				cmd := exec.Command(os.Args[0], "-test.run=^$")
				cmd.Env = append(os.Environ(), childEnv+"="+what+":"+c.schema)
				cmd.Stdout, cmd.Stderr = &said[i], &said[i]
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				killed[i] = cmd
			}
			time.Sleep(time.Duration(250+r.IntN(300)) * time.Millisecond)
			for i, cmd := range killed {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("a child ended by itself: %v\n%s", err, said[i].String())
				}
			}
			got := query(t, c, "SELECT COUNT(*), COUNT(DISTINCT g), MAX(g) FROM victim")[0]
			if got[0] != fmt.Sprint(childRows) || got[1] != "1" {
				t.Errorf("%s, round %d: a reader sees %v", what, round, got)
			}
			if what == "merge" && got[2] != "old" {
				// The server may still be at a COMMIT that it was sent: both are asked in one.
				both := query(t, c, "SELECT (SELECT value FROM _sling_state), (SELECT MAX(g) FROM victim)")[0]
				if both[0] != both[1] {
					t.Errorf("round %d: the state is %s, the rows %s", round, both[0], both[1])
				}
			}
			release, err := c.Lock(context.Background(), connectors.Relation{Name: "victim"}, 10*time.Second, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := cleared(t, c)
			release()
			if len(l) > 0 {
				t.Errorf("%s, round %d: left behind %v", what, round, l)
			}
		}
		if got := query(t, c, "SELECT MAX(g) FROM victim")[0][0]; got == "old" {
			t.Errorf("%s: no child came as far as a commit", what)
		}
	}
}
