package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// reliabilityDoc is the table of what all cells came to; a full run writes it.
const reliabilityDoc = "../../docs/reliability.md"

// The order of rows and columns.
var (
	faultSteps = []string{"connect", "describe", "lock", "extract first", "extract middle", "extract last", "compute",
		"stage", "stage first", "stage middle", "stage last", "count check", "apply", "applied", "state", "cleanup", "any", "beside"}
	faultColumns = []string{"cut", "down", "restart", "stall", "slow", "truncate", "kill", "int", "term",
		"held", "reader", "second", "full", "server full", "spill full", "memory", "revoked", "clock"}
	faultEngines = map[string]string{"pg": "PostgreSQL", "my": "MariaDB", "ch": "ClickHouse", "lite": "SQLite", "duck": "DuckDB file", "lake": "Parquet file", "s3": "S3"}
)

const reliabilityHead = `# Reliability

Runs that were broken on purpose: at each step, in each way, on each target engine. This page is
written by ` + "`make acceptance-full`" + `; every run of CI plays a random sample of 60 cells.

After each cell the test demands that
- the target holds the old content or the new one as a whole,
- the exit code and the message are as specified, no secret is printed and nothing hangs,
- no statement is left running on any server,
- the next run succeeds without help and its content is right,
- no staging table, lock, spill file or run folder is left after it.

A cell shows the exit code and the target's content after the broken run: ` + "`0 new`" + ` was survived (by a
new attempt, by waiting, or by finding out what became of a lost answer), ` + "`1 old`" + ` failed and changed
nothing, ` + "`1 new`" + ` failed after the swap because nobody could be asked, ` + "`130`" + ` was interrupted and ` + "`kill`" + `ed
runs have no code. An asterisk marks a fault whose moment did not come before the run's end.

| fault | what is done |
|---|---|
| cut | every connection to the server is reset; new ones are accepted |
| down | every connection is reset, new ones as well, for as long as the run lasts |
| restart | as down, for one second |
| stall | nothing passes any more, connections stay open (query_timeout: 2) |
| slow | 3 MB/s |
| truncate | the stream ends in an orderly way before its end |
| kill, int, term | SIGKILL, SIGINT, SIGTERM to dvt |
| held | another run, stalled, holds the model's lock (lock_wait: 1s) |
| reader | a session has read the target and keeps its transaction, or its hold on the file, open for 1 to 3 s |
| second | the same model is run twice at once |
| full | no file may grow beyond 60 kB |
| server full | no file of the target's server may grow beyond what half of the staging table needs |
| spill full | max_temp_directory_size: 1MB |
| memory | federation_memory_limit: 70MB |
| revoked | the user may not read the source, create beside the target, or change the target; of a bucket it may read all, and write locks at most |
| clock | the files of the project and of its state were written a day from now, or a day ago |

Steps: apply is the statement that swaps or merges, before it has reached the server; applied, when
it has but its answer has not come back. Sources are PostgreSQL, MariaDB and ClickHouse, the lane
is direct or compute: both are drawn per cell. ClickHouse 18 has rights for a database as a whole
only: who may stage there may change the target.
`

// writeReliability writes the page from what has been played of all cells.
func writeReliability(played []outcome, all int) error {
	commit, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	var b strings.Builder
	b.WriteString(reliabilityHead)
	bad, reached := 0, 0
	for _, o := range played {
		if len(o.faults) > 0 {
			bad++
		}
		if o.reached {
			reached++
		}
	}
	fmt.Fprintf(&b, "\nPlayed %d of %d cells on %s, commit %s: %d faults were reached, %d cells are bad.\n",
		len(played), all, time.Now().UTC().Format("2006-01-02"), strings.TrimSpace(string(commit)), reached, bad)
	for _, target := range faultTargets {
		for _, kind := range []string{"f_table", "merge", "window"} {
			b.WriteString(reliabilityTable(target, kind, played))
		}
	}
	return os.WriteFile(reliabilityDoc, []byte(b.String()), 0o644)
}

// reliabilityTable is one kind of model on one engine.
func reliabilityTable(target, kind string, played []outcome) string {
	cells := map[[2]string][]string{}
	columns := map[string]bool{}
	for _, o := range played {
		if o.cell.target == target && o.cell.kind == kind {
			at := [2]string{o.cell.step, o.cell.fault}
			cells[at] = append(cells[at], o.short())
			columns[o.cell.fault] = true
		}
	}
	if len(cells) == 0 {
		return ""
	}
	names := slices.DeleteFunc(slices.Clone(faultColumns), func(f string) bool { return !columns[f] })
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s, %s\n\n| step | %s |\n|---|%s\n", faultEngines[target], map[string]string{"f_table": "full rebuild", "merge": "merge by watermark", "window": "window with state"}[kind],
		strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, step := range faultSteps {
		line := "| " + step + " |"
		some := false
		for _, f := range names {
			got := cells[[2]string{step, f}]
			slices.Sort(got)
			got = slices.Compact(got)
			some = some || len(got) > 0
			line += " " + strings.Join(got, ", ") + " |"
		}
		if some {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// short is an outcome in a cell of the table.
func (o outcome) short() string {
	s := o.content
	if o.code >= 0 {
		s = fmt.Sprintf("%d %s", o.code, o.content)
	}
	if len(o.faults) > 0 {
		s = "**bad** " + s
	}
	if !o.reached {
		s += "*"
	}
	return s
}
