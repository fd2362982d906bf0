package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// period is one row of a history: its values and times in the reference's own clock,
// to < 0 while it is open. at is the row's own time.
type period struct {
	v            string
	at, from, to int
}

// scd is a type-2 history in a few lines.
type scd struct {
	timestamp, deletes bool
	versions           map[string][]period
}

// run records the state of one run at time now: rows by key, each with its own time.
func (s *scd) run(rows map[string]row, now int) {
	for key, r := range rows {
		at := now
		if s.timestamp {
			at = r.at
		}
		all := s.versions[key]
		open := len(all) > 0 && all[len(all)-1].to < 0
		from := at
		switch {
		case !open:
			if len(all) > 0 && at < all[len(all)-1].to {
				from = now // when it was seen again: its row was not touched
			}
			s.versions[key] = append(all, period{r.v, at, from, -1})
		case s.timestamp && at > all[len(all)-1].at, !s.timestamp && r.v != all[len(all)-1].v:
			from = max(from, all[len(all)-1].from+1)
			all[len(all)-1].to = from
			s.versions[key] = append(all, period{r.v, at, from, -1})
		}
	}
	if !s.deletes {
		return
	}
	for key, all := range s.versions {
		if _, ok := rows[key]; !ok && all[len(all)-1].to < 0 {
			all[len(all)-1].to = now
		}
	}
}

// want prints the history without clock times: per key its versions in order, with how
// each ends: open, followed at once by the next, or with a gap.
func (s *scd) want() string {
	var lines []string
	for key, all := range s.versions {
		line := key + ":"
		for i, v := range all {
			end := "open"
			switch {
			case v.to >= 0 && i+1 < len(all) && all[i+1].from == v.to:
				end = "next"
			case v.to >= 0:
				end = "gap"
			}
			line += " " + v.v + " " + end
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// keyText is a two-part key as the test prints it.
func keyText(a, b *string) string {
	show := func(s *string) string {
		if s == nil {
			return "NULL"
		}
		return "'" + *s + "'"
	}
	return show(a) + "," + show(b)
}

// gotHistory reads a history by the target's own engine and prints it like want.
func gotHistory(t *testing.T, db *enginetest.DB, table string) string {
	t.Helper()
	_, rows := mustQuery(t, db, "SELECT a, b, v, dbt_valid_from, dbt_valid_to, dbt_scd_id FROM "+table)
	type stored struct{ v, from, to string }
	byKey, ids := map[string][]stored{}, map[string]bool{}
	clean := strings.NewReplacer("T", " ", "Z", "", "+00:00", "")
	for _, r := range rows {
		to := ""
		if r[4] != nil {
			to = clean.Replace(*r[4])
		}
		key := keyText(r[0], r[1])
		byKey[key] = append(byKey[key], stored{*r[2], clean.Replace(*r[3]), to})
		if ids[*r[5]] {
			t.Errorf("dbt_scd_id %s stands twice", *r[5])
		}
		ids[*r[5]] = true
	}
	var lines []string
	for key, all := range byKey {
		sort.SliceStable(all, func(i, j int) bool {
			return all[i].from < all[j].from || all[i].from == all[j].from && all[i].to != "" && all[j].to == ""
		})
		line := key + ":"
		for i, v := range all {
			end := "open"
			switch {
			case v.to != "" && i+1 < len(all) && all[i+1].from == v.to:
				end = "next"
			case v.to != "":
				end = "gap"
			}
			line += " " + v.v + " " + end
		}
		lines = append(lines, line)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// snapshotKeys are chosen to collide where parts are joined carelessly.
var snapshotKeys = [][2]string{{"ab", "c"}, {"a", "bc"}, {"", "x"}, {"\x00", "x"}, {"x", ""}, {"x", "\x00"}, {"é", "É"}}

func sqlText(s string) (literal string, value *string) {
	if s == "\x00" { // stands for NULL
		return "NULL", nil
	}
	return "'" + s + "'", &s
}

// TestAcceptanceSnapshot plays random histories of a source over many runs and compares
// the snapshot with the reference after each.
func TestAcceptanceSnapshot(t *testing.T) {
	runs := 8
	if full() {
		runs = 50
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DVT_FUZZ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("seed %d (DVT_FUZZ_SEED), %d runs each", seed, runs)
	rng := rand.New(rand.NewPCG(seed, 2))
	schema := newSchema(t)
	t.Setenv("SCHEMA", schema)
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/chinook", dir)
	if err := os.RemoveAll(filepath.Join(dir, "models")); err != nil {
		t.Fatal(err)
	}
	my := openDB(t, "my", "")
	mustExec(t, my, "CREATE TABLE "+schema+".src (a varchar(10) collate utf8mb4_bin, b varchar(10) collate utf8mb4_bin, v varchar(20), ts datetime)")
	writeFile(t, filepath.Join(dir, "models", "sources.yml"), "sources:\n  - {name: s, meta: {connection: my}, schema: "+schema+", tables: [{name: src}]}\n")
	type play struct {
		name, target string
		ref          *scd
	}
	var plays []play
	for _, target := range []string{"pg", "my", "lite_out", "duck", "ch"} {
		for _, strategy := range []string{"timestamp", "check"} {
			deletes := rng.IntN(2) == 0
			name := "snap_" + target + "_" + strategy
			how := "strategy='timestamp', updated_at='ts'"
			if strategy == "check" {
				how = "strategy='check', check_cols=['v']"
			}
			writeFile(t, filepath.Join(dir, "models", name+".sql"), fmt.Sprintf("{{ config(materialized='f_snapshot', target='%s', unique_key=['a', 'b'], %s, invalidate_hard_deletes=%t) }}\nselect a, b, v, ts from {{ source('s', 'src') }}", target, how, deletes))
			plays = append(plays, play{name, target, &scd{timestamp: strategy == "timestamp", deletes: deletes, versions: map[string][]period{}}})
		}
	}
	rows, clock, serial := map[string]row{}, 0, 0
	for n := range runs {
		for range 1 + rng.IntN(4) {
			key := snapshotKeys[rng.IntN(len(snapshotKeys))]
			la, va := sqlText(key[0])
			lb, vb := sqlText(key[1])
			text := keyText(va, vb)
			mustExec(t, my, fmt.Sprintf("DELETE FROM %s.src WHERE a <=> %s AND b <=> %s", schema, la, lb))
			if rng.IntN(4) == 0 {
				delete(rows, text)
				continue
			}
			serial++
			clock += 1 + rng.IntN(3)
			rows[text] = row{at: clock, v: fmt.Sprintf("v%d", serial)}
			mustExec(t, my, fmt.Sprintf("INSERT INTO %s.src VALUES (%s, %s, 'v%d', %s)", schema, la, lb, serial, stampOf(clock)))
		}
		if len(rows) == 0 {
			continue
		}
		out, code := dvtIn(t, dir, "run")
		if code != 0 {
			t.Fatalf("run %d of seed %d: exit code %d\n%s", n, seed, code, out)
		}
		for _, p := range plays {
			// The reference's clock of runs is beyond every row's own time.
			p.ref.run(rows, 1_000_000+1000*n)
			db, table := openTarget(t, dir, schema, p.target, p.name)
			got, want := gotHistory(t, db, table), p.ref.want()
			if p.target == "ch" {
				// Its moments are seconds: a key that goes and comes back in two runs within one
				// leaves no gap.
				got, want = strings.ReplaceAll(got, " gap", " next"), strings.ReplaceAll(want, " gap", " next")
			}
			if got != want {
				t.Errorf("run %d of seed %d, %s:\n%s\nwant\n%s", n, seed, p.name, got, want)
			}
			_ = db.Close()
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	// Nothing changed: nothing is applied.
	out, code := dvtIn(t, dir, "run")
	if code != 0 || strings.Count(out, " 0 rows out") != len(plays) {
		t.Errorf("a run without changes: exit code %d\n%s", code, out)
	}
}

// openTarget opens a model's relation by its own engine.
func openTarget(t *testing.T, dir, schema, target, name string) (*enginetest.DB, string) {
	t.Helper()
	engine, path, table := target, "", schema+"."+name
	switch target {
	case "lite_out":
		engine, path, table = "sqlite", filepath.Join(dir, "out.sqlite"), name
	case "duck":
		engine, path, table = "duckdb", filepath.Join(dir, "out.duckdb"), name
	}
	db, err := enginetest.Open(engine, path)
	if err != nil {
		t.Fatal(err)
	}
	return db, table
}
