package main

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestNothingNewMovesNothing: after a load, a run without news reads no row and no byte of
// the source, or, where the model's SQL has to see the source's rows, none of the target;
// and it writes nothing. For every style on every target that takes deltas.
func TestNothingNewMovesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("130 runs of models, of which the race detector learns nothing new")
	}
	t.Parallel()
	p := newCase(t)
	p.exec("pg", "CREATE TABLE $S.src (id int, v text, ts timestamp)",
		"INSERT INTO $S.src SELECT i, 'v' || i, timestamp '2024-01-01' + i * interval '1 day' FROM generate_series(1, 50) i")
	p.source("pg", "src")
	for _, s := range incrementStyles {
		for _, out := range mergeOutputs {
			p.write("models/"+s.name+"_"+out+".sql", modelText(s.name, out, "{{ source('pg', 'src') }}"))
		}
	}
	p.run("--threads", "8")
	p.run("--threads", "8")
	for _, s := range incrementStyles {
		for _, out := range mergeOutputs {
			m := p.moved(s.name + "_" + out)
			seesSource := strings.Contains("jinja_not_in jinja_differs jinja_join jinja_count", s.name)
			back := s.name == "window_lookback" // what it looks back on is read and applied again
			for _, src := range m.Sources {
				if seesSource && src.Index == "" {
					continue
				}
				if limit := map[bool]int64{true: 1, false: 0}[back]; src.Rows > limit || src.Bytes > 0 && !back {
					t.Errorf("%s on %s: %d rows and %d bytes of %s moved", s.name, out, src.Rows, src.Bytes, src.Relation)
				}
			}
			if len(m.Sources) == 0 || !back && m.Inserted+m.Updated+m.Deleted != 0 {
				t.Errorf("%s on %s: %+v", s.name, out, m)
			}
			if seesSource && s.name != "jinja_count" && m.thisRows() != 0 {
				t.Errorf("%s on %s: the index is not used: %+v", s.name, out, m.Sources)
			}
		}
	}
}

// TestTwoRuns: two dvt run one model at the same time, on each target, by window and by
// set logic: both end well, the rows are right, and the state never goes back.
func TestTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("its runs are processes")
	}
	t.Setenv("SLING_STATE", "")
	p := newCase(t)
	p.write("dvt_project.yml", "federation_memory_limit: 512MB\nlock_wait: 300s\nstate: pg/"+p.schema+"\n")
	p.exec("my", "CREATE TABLE $S.src (id int PRIMARY KEY, v varchar(20), ts datetime)")
	p.source("my", "src")
	for _, out := range mergeOutputs {
		p.write("models/w_"+out+".sql", modelText("window_plain", out, "{{ source('my', 'src') }}"))
		p.write("models/n_"+out+".sql", modelText("jinja_not_in", out, "{{ source('my', 'src') }}"))
	}
	last := ""
	for round := range 3 {
		p.exec("my", fmt.Sprintf("INSERT INTO $S.src SELECT seq, 'x', timestamp('2024-01-01') + interval seq hour FROM seq_%d_to_%d", 1+round*100, 100+round*100))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if out, err := exec.Command("dvt", "--project-dir", p.dir, "run").CombinedOutput(); err != nil {
					t.Errorf("round %d: %v\n%s", round, err, out)
				}
			})
		}
		wg.Wait()
		want := fmt.Sprintf("%d\t%d", 100+round*100, 100+round*100)
		for _, out := range mergeOutputs {
			for _, m := range []string{"w_", "n_"} {
				p.is(out, "SELECT count(*), count(DISTINCT id) FROM $S."+m+out, want)
			}
		}
		marks := p.rows("pg", "SELECT DISTINCT left(value, 10) FROM $S._sling_state")
		if strings.Contains(marks, "\n") || marks <= last {
			t.Errorf("round %d: the states are %q after %q", round, marks, last)
		}
		last = marks
	}
}
