package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// TestAcceptanceIncremental plays random sequences of source changes, runs, full
// refreshes, outside changes to the target, killed runs and switches to another target,
// and compares every target after every run with what the specification says.
//
// Up to 60 sequences share their runs, each with a model of its own. DVT_FUZZ_SEED and
// DVT_SEQUENCES choose the seed and how many sequences there are.
func TestAcceptanceIncremental(t *testing.T) {
	sequences := number("DVT_SEQUENCES", map[bool]uint64{true: 5000, false: 50}[full()])
	seed := number("DVT_FUZZ_SEED", uint64(time.Now().UnixNano()))
	t.Logf("seed %d (DVT_FUZZ_SEED), %d sequences (DVT_SEQUENCES)", seed, sequences)
	for played, batch := 0, 0; played < int(sequences); batch++ {
		n := min(60, int(sequences)-played)
		b := &playground{t: t, rng: rand.New(rand.NewPCG(seed, uint64(batch)))}
		start := time.Now()
		b.play(n)
		if t.Failed() {
			t.Fatalf("batch %d of seed %d", batch, seed)
		}
		if played += n; full() {
			fmt.Printf("%d sequences passed, %d runs of models, the last %d sequences in %s\n", played, b.runs, n, time.Since(start).Round(time.Millisecond))
		}
	}
}

func number(name string, without uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return without
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The outputs of the project that are sources and targets.
var playOutputs = []string{"pg", "my", "lite_out", "duck", "ch"}

// playground is a project of sequences that are played side by side.
type playground struct {
	t           *testing.T
	rng         *rand.Rand
	dir, schema string
	sequences   []*sequence
	dbs         map[string]*enginetest.DB
	stateful    bool
	runs        int
	usual       time.Duration // of a run
}

// sequence is one model, its source and its targets.
type sequence struct {
	b           *playground
	name, from  string
	style       string
	to          string // where it lands now
	wanders     bool   // between targets
	source      map[int]row
	changed     bool
	at          map[string]*history // by target
	story       []string
	serial      int
	refreshNext bool
}

func (s *sequence) note(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

func (s *sequence) h() *history { return s.at[s.to] }

// play sets the project up, plays it and takes it down.
func (b *playground) play(n int) {
	t := b.t
	b.schema, b.dir, b.dbs = newSchema(t), t.TempDir(), map[string]*enginetest.DB{}
	t.Setenv("SCHEMA", b.schema)
	copyTree(t, "../../testdata/projects/chinook", b.dir)
	must(t, os.RemoveAll(filepath.Join(b.dir, "models")))
	state := []string{"", "states", "pg/" + b.schema, "my/" + b.schema}[b.rng.IntN(4)]
	t.Setenv("SLING_STATE", state)
	b.stateful = state != ""
	offset := b.rng.IntN(len(incrementStyles))
	for i := range n {
		s := &sequence{b: b, name: fmt.Sprintf("m%02d", i), style: incrementStyles[(i+offset)%len(incrementStyles)].name, from: playOutputs[b.rng.IntN(5)],
			to: playOutputs[(i/len(incrementStyles)+i)%5], wanders: b.rng.IntN(6) == 0, source: map[int]row{}, at: map[string]*history{}}
		for _, out := range playOutputs {
			s.at[out] = &history{style: s.style, stateful: b.stateful, target: map[int]row{}}
		}
		b.sequences = append(b.sequences, s)
		for id := 1; id <= 4; id++ {
			s.put(row{id, b.rng.IntN(100), s.value()})
		}
		b.use(s.from, func(db *enginetest.DB, prefix string) {
			mustExec(t, db, "CREATE TABLE "+prefix+"src_"+s.name+sourceTable[s.from])
		})
	}
	b.step(false)
	for range 3 + b.rng.IntN(3) {
		for _, s := range b.sequences {
			for range b.rng.IntN(4) {
				s.change()
			}
			if b.rng.IntN(5) == 0 {
				s.outside()
			}
			if s.wanders && b.rng.IntN(3) == 0 {
				s.to = playOutputs[b.rng.IntN(5)]
				s.note("moved to %s", s.to)
			}
			s.refreshNext = b.rng.IntN(8) == 0
		}
		b.step(b.rng.IntN(3) == 0)
		if t.Failed() {
			return
		}
	}
	b.step(false) // nothing new: nothing changes
	b.drop()
}

// drop removes what the batch made on servers at once: a long run would gather it.
func (b *playground) drop() {
	for _, engine := range []string{"pg", "my", "ch"} {
		kind, cascade := "DATABASE", ""
		if engine == "pg" {
			kind, cascade = "SCHEMA", " CASCADE"
		}
		b.use(engine, func(db *enginetest.DB, _ string) { mustExec(b.t, db, "DROP "+kind+" "+b.schema+cascade) })
	}
}

var sourceTable = map[string]string{
	"pg": " (id int, v text, ts timestamp)", "my": " (id int, v varchar(20), ts datetime)", "lite_out": " (id integer, v text, ts timestamp)",
	"duck": " (id integer, v varchar, ts timestamp)", "ch": " (id Int32, v String, ts Nullable(DateTime('UTC'))) ENGINE = MergeTree ORDER BY id",
}

// use lends the engine of an output; prefix stands before the names of its tables. A file
// has one user at a time.
func (b *playground) use(output string, do func(db *enginetest.DB, prefix string)) {
	b.t.Helper()
	switch output {
	case "lite_out", "duck":
		engine, file := "sqlite", "out.sqlite"
		if output == "duck" {
			engine, file = "duckdb", "out.duckdb"
		}
		if db := b.dbs[output]; db != nil { // open already: between runs
			do(db, "")
			return
		}
		db, err := enginetest.Open(engine, filepath.Join(b.dir, file))
		must(b.t, err)
		b.dbs[output] = db
		do(db, "")
		return
	}
	if b.dbs[output] == nil {
		b.dbs[output] = openDB(b.t, output, "")
	}
	do(b.dbs[output], b.schema+".")
}

// letGo closes the files before dvt opens them.
func (b *playground) letGo() {
	for _, out := range []string{"lite_out", "duck"} {
		if db := b.dbs[out]; db != nil {
			must(b.t, db.Close())
			delete(b.dbs, out)
		}
	}
}

// rewrite makes rows the content of a table, whose instants may be texts with a zone.
func (b *playground) rewrite(output, table string, rows []row, zoned bool) {
	b.t.Helper()
	b.use(output, func(db *enginetest.DB, prefix string) {
		clear := "DELETE FROM "
		if output == "ch" {
			clear = "TRUNCATE TABLE "
		}
		mustExec(b.t, db, clear+prefix+table)
		if len(rows) == 0 {
			return
		}
		var values []string
		for _, r := range rows {
			at := stampOf(r.at)
			if zoned && r.at >= 0 {
				at = strings.TrimSuffix(at, "'") + "Z'"
			}
			values = append(values, fmt.Sprintf("(%d, '%s', %s)", r.id, r.v, at))
		}
		mustExec(b.t, db, "INSERT INTO "+prefix+table+" (id, v, ts) VALUES "+strings.Join(values, ", "))
	})
}

// step writes the changed sources, runs all models, some of them with --full-refresh and
// perhaps killed on the way, and compares.
func (b *playground) step(kill bool) {
	b.t.Helper()
	for _, s := range b.sequences {
		if s.changed {
			b.rewrite(s.from, "src_"+s.name, rowsOf(s.source), false)
			s.changed = false
		}
	}
	b.models()
	for _, refresh := range []bool{true, false} {
		var names []string
		for _, s := range b.sequences {
			if s.refreshNext == refresh {
				names = append(names, s.name)
			}
		}
		if len(names) == 0 {
			continue
		}
		args := []string{"--project-dir", b.dir, "run", "--threads", "16", "-s", strings.Join(names, " ")}
		if refresh {
			args = append(args, "--full-refresh")
		}
		b.letGo()
		if kill && !refresh {
			b.kill(args)
			continue
		}
		start := time.Now()
		out, _ := dvtIn(b.t, b.dir, args[2:]...)
		b.usual, b.runs = time.Since(start), b.runs+len(names)
		status := statuses(b.t, b.dir)
		for _, s := range b.sequences {
			if s.refreshNext == refresh {
				s.ran(refresh, status[s.name] == "success", out)
			}
		}
	}
	if kill { // the run after it needs no help
		for _, s := range b.sequences {
			s.refreshNext = false
		}
		b.step(false)
	}
}

// models writes the project's models as they are now.
func (b *playground) models() {
	text := "sources:\n"
	for _, out := range playOutputs {
		schema := b.schema
		if out == "lite_out" || out == "duck" {
			schema = "main"
		}
		text += "  - name: s_" + out + "\n    meta: {connection: " + out + "}\n    schema: " + schema + "\n    tables:\n      - name: none\n"
		for _, s := range b.sequences {
			if s.from == out {
				text += "      - name: src_" + s.name + "\n"
			}
		}
	}
	writeFile(b.t, filepath.Join(b.dir, "models", "sources.yml"), text)
	for _, s := range b.sequences {
		writeFile(b.t, filepath.Join(b.dir, "models", s.name+".sql"), modelText(s.style, s.to, "{{ source('s_"+s.from+"', 'src_"+s.name+"') }}"))
	}
}

// kill ends a run by SIGKILL at some moment. Each target then has its old or its new
// content; which, decides what the model of it holds.
func (b *playground) kill(args []string) {
	cmd := exec.Command("dvt", args...) // this test's own binary, which testscript has put into PATH
	must(b.t, cmd.Start())
	timer := time.AfterFunc(time.Duration(b.rng.Float64()*float64(b.usual+300*time.Millisecond)), func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	timer.Stop()
	b.unlock()
	marks := b.marks()
	for _, s := range b.sequences {
		if s.refreshNext {
			continue
		}
		s.note("killed")
		before, after := s.h().clone(), s.h().clone()
		after.run(s.source, false)
		got := s.held()
		if got == after.want() {
			s.at[s.to] = after
		} else if got != before.want() {
			s.fail("after a kill the target holds\n%s\nneither the old\n%s\nnor the new\n%s", got, before.want(), after.want())
		}
		if b.stateful && s.windowed() {
			s.h().state = marks[s.name+" "+s.to]
		}
	}
}

func (s *sequence) windowed() bool { return strings.HasPrefix(s.style, "window") }

// unlock drops the locks that the dead run left on ClickHouse, which are void after a
// minute; that they are is tested elsewhere.
func (b *playground) unlock() {
	b.use("ch", func(db *enginetest.DB, _ string) {
		_, rows := mustQuery(b.t, db, "SELECT name FROM system.tables WHERE database = '"+b.schema+"' AND name LIKE '__dvt_lock%'")
		for _, r := range rows {
			mustExec(b.t, db, "DROP TABLE "+b.schema+"."+*r[0])
		}
	})
}

// marks are the state records, by model and output.
func (b *playground) marks() map[string]*int {
	found := map[string]*int{}
	if !b.stateful {
		return found
	}
	out, _ := dvtIn(b.t, b.dir, "state", "list")
	for _, line := range strings.Split(out, "\n") {
		f := strings.Fields(line)
		if len(f) < 5 || f[3] != "=" {
			continue
		}
		value, _, _ := strings.Cut(strings.Join(f[4:], " "), "  ")
		value, _, _ = strings.Cut(value, " (")
		at := secondsOf(b.t, value)
		output, _, _ := strings.Cut(f[1], ".")
		found[f[0]+" "+output] = &at
	}
	return found
}
