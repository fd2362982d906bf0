package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// moved is what one model's run read and wrote, from run_results.json.
type moved struct {
	Lane    string
	Sources []struct {
		Relation, Connection, SQL, Index string
		Rows, Bytes                      int64
	}
	Inserted int64 `json:"rows_inserted"`
	Updated  int64 `json:"rows_updated"`
	Deleted  int64 `json:"rows_deleted"`
}

func (p *caseProject) moved(model string) moved {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "target", "run_results.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	var doc struct {
		Results []struct {
			ID  string `json:"unique_id"`
			Dvt moved
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		p.t.Fatal(err)
	}
	for _, r := range doc.Results {
		if strings.HasSuffix(r.ID, "."+model) {
			return r.Dvt
		}
	}
	p.t.Fatalf("run_results.json has no result of %s", model)
	return moved{}
}

// thisRows are the rows of {{ this }} that a run read from the target, -1 when it did
// not use the index.
func (m moved) thisRows() int64 {
	for _, s := range m.Sources {
		if s.Index != "" {
			return s.Rows
		}
	}
	return -1
}

// indexModels have the same SQL on each output: rows whose id the target lacks.
func indexModels(p *caseProject, outputs []string) {
	p.exec("my", "CREATE TABLE $S.src (id int, v varchar(20), ts datetime(6))")
	p.source("my", "src")
	for _, out := range outputs {
		p.model("seen_"+out, "materialized='f_incremental', unique_key='id', target='"+out+"'",
			"select id, v, ts from {{ source('my', 'src') }} {% if is_incremental() %} where id not in (select id from {{ this }} where id is not null) {% endif %}")
	}
}

// TestIndexOfThis: the copy is made with the first load, follows every later one, and
// after anything that happens to it or to the target the rows are right, at the price of
// one reading of the target.
func TestIndexOfThis(t *testing.T) {
	t.Parallel()
	p := newCase(t)
	indexModels(p, mergeOutputs)
	p.exec("my", "INSERT INTO $S.src VALUES (1, 'a', '2024-01-01'), (2, 'b', '2024-01-02'), (3, NULL, NULL)")
	p.run()
	next, outputs := 3, mergeOutputs
	// step adds a source row, runs, and says what the index must have cost.
	step := func(what string, rows func(held int64) int64) {
		t.Helper()
		held := int64(next)
		next++
		p.exec("my", fmt.Sprintf("INSERT INTO $S.src VALUES (%d, 'new', '2024-02-01')", next))
		args := []string{}
		for _, out := range outputs {
			args = append(args, "-s", "seen_"+out)
		}
		p.run(args...)
		for _, out := range outputs {
			if got, want := p.moved("seen_"+out).thisRows(), rows(held); got != want {
				t.Errorf("%s, %s: %d rows of the target were read, want %d", what, out, got, want)
			}
			var want strings.Builder
			for i := 1; i <= next; i++ {
				fmt.Fprintf(&want, "%d\n", i)
			}
			if got := p.rows(out, "SELECT id FROM $S.seen_"+out+" ORDER BY id") + "\n"; got != want.String() {
				t.Errorf("%s, %s: the target holds %q, want %q", what, out, got, want.String())
			}
		}
	}
	none := func(int64) int64 { return 0 }
	all := func(held int64) int64 { return held }
	path := func(out string) string { return filepath.Join(p.dir, ".dvt", "index", out, "seen_"+out) }
	damage := func(how func(out, path string)) {
		for _, out := range outputs {
			how(out, path(out))
		}
	}

	for _, out := range mergeOutputs {
		info, err := os.Stat(path(out))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the index after the first load: %v %v", out, info, err)
		}
	}
	step("after the first load", none)
	step("after a delta", none)

	damage(func(out, _ string) {
		stmt := "DELETE FROM $S.seen_" + out + " WHERE id = 2"
		if out == "ch" { // the old server has no DELETE that waits
			p.exec(out, "CREATE TABLE $S.rest ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM $S.seen_ch WHERE id != 2", "DROP TABLE $S.seen_ch", "RENAME TABLE $S.rest TO $S.seen_ch")
			return
		}
		p.exec(out, stmt)
	})
	step("a row deleted outside", func(held int64) int64 { return held - 1 })
	step("and after it", none)

	// What follows is the same on all of them.
	outputs = []string{"pg"}
	damage(func(_, path string) { must(t, os.Remove(path)) })
	step("the file is gone", all)
	damage(func(_, path string) { must(t, os.Truncate(path, 4096)) })
	step("the file is cut", all)
	damage(func(_, path string) { must(t, os.WriteFile(path, []byte("no database"), 0o600)) })
	step("the file is something else", all)
	damage(func(_, path string) { must(t, os.WriteFile(path+".wal", []byte("no log of it"), 0o600)) })
	step("a broken log beside it", none)
	damage(func(_, path string) { flip(t, path) })
	step("bytes of it are changed", all)
	damage(func(_, to string) {
		data, err := os.ReadFile(path("my"))
		must(t, err)
		must(t, os.WriteFile(to, data, 0o600))
	})
	step("the index of another target", all)
	damage(func(_, path string) {
		onIndex(t, path, "UPDATE note SET note = replace(note, '\"version\":\"', '\"version\":\"0.0.1')")
	})
	step("made by another version", all)
	damage(func(_, path string) { onIndex(t, path, "UPDATE this SET id = 77 WHERE id = 1") })
	step("a stale row in it", all)
	damage(func(_, path string) { onIndex(t, path, "INSERT INTO this VALUES (NULL)") })
	step("a row too many in it", all)
	damage(func(_, path string) { onIndex(t, path, "DROP TABLE this") })
	step("its table gone", all)
	damage(func(_, path string) { onIndex(t, path, "DROP TABLE note") })
	step("a rebuild that was killed", all)
	step("in the end", none)

	p.run("--full-refresh", "-s", "seen_pg")
	step("after a full refresh", none)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// flip changes one byte in each kilobyte behind the header.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	for i := 3*4096 + 100; i < len(data); i += 1024 {
		data[i] ^= 0x5a
	}
	must(t, os.WriteFile(path, data, 0o600))
}

func onIndex(t *testing.T, path, stmt string) {
	t.Helper()
	db, err := enginetest.Open("duckdb", path)
	must(t, err)
	defer func() { _ = db.Close() }()
	mustExec(t, db, stmt)
}
