package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// size is n of a full run, less in a sample.
func size(sample, all int) int {
	if full() {
		return all
	}
	return sample
}

// measured is one run of the program as the operating system saw it.
type measured struct {
	out     string
	code    int // -1: killed
	elapsed time.Duration
	peak    int64 // resident bytes
}

// measure runs the program, which is this test's own binary: testscript has put it into
// PATH. when, if given, is asked from time to time, and true kills the run.
func (p *caseProject) measure(when func() bool, args ...string) measured {
	p.t.Helper()
	cmd := exec.Command("dvt", append([]string{"--project-dir", p.dir, "run"}, args...)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var peak int64
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			peak = max(peak, residentPeak(cmd.Process.Pid))
			if when != nil && when() {
				_ = cmd.Process.Kill()
				when = nil
			}
		}
	}
	return measured{out: out.String(), code: cmd.ProcessState.ExitCode(), elapsed: time.Since(start), peak: peak}
}

// residentPeak is a process's peak resident memory in bytes. (The resource usage that a
// parent gets of its child has the parent's own memory at the time of the fork in it.)
func residentPeak(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		var kb int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// within holds a run that must succeed to a limit of so many MB + 300, and logs its figures.
func (p *caseProject) within(limit int, rows int, what string, m measured) {
	p.t.Helper()
	if m.code != 0 {
		p.t.Fatalf("%s: exit code %d\n%s", what, m.code, m.out)
	}
	p.t.Logf("%s: %d rows  %.1f s  %.0f krows/s  peak %d MB of %d + 300", what, rows, m.elapsed.Seconds(), float64(rows)/1000/m.elapsed.Seconds(), m.peak>>20, limit)
	if m.peak > int64(limit+300)<<20 {
		p.t.Errorf("%s: peak resident memory %d MB, the limit allows %d MB", what, m.peak>>20, limit+300)
	}
	p.noSpill()
}

func (p *caseProject) noSpill() {
	p.t.Helper()
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".dvt", "tmp", "*")); len(left) > 0 {
		p.t.Errorf("%s is left in .dvt/tmp", left[0])
	}
}

// spilled is what run_results.json says that the last run wrote to temporary files.
func (p *caseProject) spilled() int64 {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "target", "run_results.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	var results struct {
		Results []struct {
			DVT struct {
				Spilled int64 `json:"spilled_bytes"`
			} `json:"dvt"`
		} `json:"results"`
	}
	if err := json.Unmarshal(text, &results); err != nil || len(results.Results) == 0 {
		p.t.Fatal(err, string(text))
	}
	return results.Results[0].DVT.Spilled
}

// TestAcceptanceSpill joins a relation of PostgreSQL to one of ClickHouse, numbers the rows
// of each group and sorts them all: many times what the limit holds. It finishes by
// spilling, and nothing of that is left.
func TestAcceptanceSpill(t *testing.T) {
	facts, dims, limit := size(800_000, 20_000_000), size(200_000, 5_000_000), size(128, 512)
	p := newCase(t)
	p.write("dvt_project.yml", fmt.Sprintf("federation_memory_limit: %dMB\n", limit))
	p.source("pg", "f")
	p.source("ch", "d")
	p.exec("pg", fmt.Sprintf("CREATE VIEW $S.f AS SELECT i AS id, i * 7919 %% %d AS k, (i %% 1000)::int AS g, i * 31 %% 1000003 AS v FROM (SELECT generate_series(1::bigint, %d) AS i) s", dims, facts))
	p.exec("ch", fmt.Sprintf("CREATE TABLE $S.d ENGINE = MergeTree ORDER BY k AS SELECT toInt64(number) AS k, concat('name of ', toString(number)) AS name FROM numbers(%d)", dims))
	p.model("m", "target='lake'", `select f.id, f.k, f.g, d.name, row_number() over (partition by f.g order by f.v desc, f.id) as rn
from {{ source('pg', 'f') }} f join {{ source('ch', 'd') }} d on d.k = f.k order by rn, f.id`)
	p.within(limit, facts, fmt.Sprintf("join of %d × %d rows, window, sort", facts, dims), p.measure(nil))
	spilled := p.spilled()
	t.Logf("spilled %d MB", spilled>>20)
	if spilled < int64(limit)<<16 { // how much depends on the machine's pace
		t.Errorf("spilled only %d bytes: the limit was not put to the test", spilled)
	}
	each := int64(facts / 1000)
	p.is("lake", "SELECT count(*)::VARCHAR, sum(id)::VARCHAR, sum(rn)::VARCHAR, (count(*) FILTER (WHERE name = 'name of ' || k))::VARCHAR FROM "+p.parquet("m.parquet"),
		fmt.Sprintf("%d\t%d\t%d\t%d", facts, int64(facts)*(int64(facts)+1)/2, 1000*each*(each+1)/2, facts))
	p.is("lake", "SELECT (count(*) FILTER (WHERE rn < before))::VARCHAR FROM (SELECT rn, lag(rn) OVER (ORDER BY file_row_number) AS before FROM read_parquet('"+
		filepath.Join(p.dir, "lake", "m.parquet")+"', file_row_number = true) LIMIT 3000000)", "0")
}

// TestAcceptanceChunks loads a large table in chunks under a limit. Killed in the middle,
// --resume goes on after the chunks that are there, and a plain run starts over.
func TestAcceptanceChunks(t *testing.T) {
	rows, limit := size(400_000, 50_000_000), size(128, 512)
	p := newCase(t)
	p.write("dvt_project.yml", fmt.Sprintf("federation_memory_limit: %dMB\n", limit))
	p.source("pg", "t")
	p.exec("pg", fmt.Sprintf("CREATE UNLOGGED TABLE $S.t AS SELECT i AS id, (i * 7919 %% 1000003)::int AS k, i * 0.25::float8 AS amount, 'name_' || i AS name FROM (SELECT generate_series(1::bigint, %d) AS i) s", rows),
		"CREATE INDEX ON $S.t (id)", "ANALYZE $S.t", "CREATE TABLE $S.m AS SELECT 0 AS old")
	p.model("m", fmt.Sprintf("target='pg', chunk_column='id', chunk_size=%d", rows/40), "select * from {{ source('pg', 't') }}")
	parts := func() int {
		found, _ := filepath.Glob(filepath.Join(p.dir, ".dvt", "resume", "m", "*.parquet"))
		return len(found)
	}
	const sums = "SELECT count(*), sum(id), sum(k), sum(amount), min(name), max(name) FROM $S."
	want := p.rows("pg", sums+"t")
	killed := func() {
		t.Helper()
		if m := p.measure(func() bool { return parts() >= 15 }); m.code != -1 {
			t.Fatalf("it was not killed: exit code %d\n%s", m.code, m.out)
		}
		p.is("pg", "SELECT old FROM $S.m", "0")
	}
	killed()
	resumed := p.measure(nil, "--resume")
	p.within(limit, rows, "chunked load, killed and resumed", resumed)
	if !strings.Contains(resumed.out, "chunks kept from the run that failed") {
		t.Errorf("nothing was kept:\n%s", resumed.out)
	}
	p.is("pg", sums+"m", want)

	p.exec("pg", "DROP TABLE $S.m", "CREATE TABLE $S.m AS SELECT 0 AS old")
	killed()
	p.exec("pg", "UPDATE $S.t SET k = k + 1 WHERE id <= 10") // a chunk of yesterday must not be taken
	want = p.rows("pg", sums+"t")
	plain := p.measure(nil)
	p.within(limit, rows, "chunked load, started over", plain)
	if strings.Contains(plain.out, "kept from") {
		t.Errorf("a plain run took what was there:\n%s", plain.out)
	}
	p.is("pg", sums+"m", want)
	if left, _ := filepath.Glob(filepath.Join(p.dir, ".dvt", "resume", "*")); len(left) > 0 {
		t.Errorf("%s is left", left[0])
	}
}

// What the compute engine may not or cannot write to its temporary files ends the model
// with an error that says so, and leaves the target as it was.
func TestTemporaryFilesFull(t *testing.T) {
	p := newCase(t)
	p.rowsTable(200_000)
	p.exec("pg", "CREATE TABLE $S.m AS SELECT 'old' AS x")
	p.model("m", "lane='compute'", "select h, v, row_number() over (order by h || repeat(v, 40)) as rn from {{ source('pg', 't') }} order by repeat(h, 30)")
	p.write("dvt_project.yml", "federation_memory_limit: 256MB\nmax_temp_directory_size: 8MB\n")
	p.fails([]string{"max_temp_directory_size"})
	p.is("pg", "SELECT x FROM $S.m", "old")
	p.noSpill()

	p.write("dvt_project.yml", "federation_memory_limit: 96MB\n")
	cmd := exec.Command("/bin/sh", "-c", `trap "" XFSZ; ulimit -f 4096; exec "$@"`, "sh", "dvt", "--project-dir", p.dir, "run")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "writing temporary files") {
		t.Errorf("%v\n%s", err, out)
	}
	p.is("pg", "SELECT x FROM $S.m", "old")
	p.noSpill()
}
