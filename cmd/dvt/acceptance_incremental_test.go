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

// increment styles of the model-based test, as models over {{ source('s', 'src') }}.
var incrementStyles = map[string]string{
	"watermark_merge":  "{{ config(materialized='f_incremental', unique_key='id', watermark_column='ts') }}\nselect id, v, ts from {{ source('s', 'src') }}",
	"watermark_delete": "{{ config(materialized='f_incremental', unique_key='id', incremental_strategy='delete+insert', watermark_column='ts') }}\nselect id, v, ts from {{ source('s', 'src') }}",
	"watermark_append": "{{ config(materialized='f_incremental', incremental_strategy='append', watermark_column='ts') }}\nselect id, v, ts from {{ source('s', 'src') }}",
	"watermark_nulls":  "{{ config(materialized='f_incremental', unique_key='id', watermark_column='ts', watermark_nulls='include') }}\nselect id, v, ts from {{ source('s', 'src') }}",
	"jinja_max":        "{{ config(materialized='f_incremental', unique_key='id') }}\nselect id, v, ts from {{ source('s', 'src') }}\n{% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}",
	"jinja_not_in":     "{{ config(materialized='f_incremental', unique_key='id') }}\nselect id, v, ts from {{ source('s', 'src') }}\n{% if is_incremental() %} where id not in (select id from {{ this }} where id is not null) {% endif %}",
	"window_plain":     "/** {mode: incremental, unique_key: id, update_key: ts, merge_strategy: update+insert} **/\nselect id, v, ts from {{ source('s', 'src') }} where {{ incremental_where_cond() }}",
}

// row is one row of source or target; at is seconds after an epoch, -1 for NULL.
type row struct {
	id, at int
	v      string
}

// history is the specification in a few lines: what source and target hold.
type history struct {
	style          string
	source, target map[int]row
	extra          []row // rows that append adds a second time under one id
}

func highest(rows map[int]row, extra []row) int {
	top := -1
	for _, r := range rows {
		top = max(top, r.at)
	}
	for _, r := range extra {
		top = max(top, r.at)
	}
	return top
}

// run applies one run to the model of the target. It reports false when the run must
// fail and change nothing.
func (h *history) run(refresh bool) bool {
	if refresh || len(h.target)+len(h.extra) == 0 {
		h.target, h.extra = map[int]row{}, nil
		for id, r := range h.source {
			h.target[id] = r
		}
		return true
	}
	mark := highest(h.target, h.extra)
	byKey := h.style != "watermark_append"
	if mark < 0 && h.style != "jinja_not_in" && !byKey {
		return len(h.source) == 0 && false
	}
	have := map[int]bool{}
	for id := range h.target {
		have[id] = true
	}
	for id, r := range h.source {
		fresh := r.at > mark
		switch {
		case h.style == "jinja_not_in":
			fresh = !have[id]
		case mark < 0:
			fresh = true
		case h.style == "watermark_nulls":
			fresh = fresh || r.at < 0
		}
		switch {
		case !fresh:
		case byKey || !have[id]:
			h.target[id] = r
		default:
			h.extra = append(h.extra, r)
		}
	}
	return true
}

func (h *history) want() string {
	var lines []string
	add := func(r row) {
		at := "NULL"
		if r.at >= 0 {
			at = strconv.Itoa(r.at)
		}
		lines = append(lines, fmt.Sprintf("%d|%s|%s", r.id, r.v, at))
	}
	for _, r := range h.target {
		add(r)
	}
	for _, r := range h.extra {
		add(r)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

var epoch = time.Date(2024, 3, 10, 1, 59, 0, 0, time.UTC)

func stampOf(at int) string {
	if at < 0 {
		return "NULL"
	}
	return "'" + epoch.Add(time.Duration(at)*time.Second).Format("2006-01-02 15:04:05") + "'"
}

// targetRows reads a target with its own engine, as history.want prints rows.
func targetRows(t *testing.T, db *enginetest.DB, table string) string {
	t.Helper()
	_, rows := mustQuery(t, db, "SELECT id, v, ts FROM "+table)
	var lines []string
	for _, r := range rows {
		at := "NULL"
		if r[2] != nil {
			text := strings.NewReplacer("T", " ", "Z", "").Replace(*r[2])
			text, _, _ = strings.Cut(text, ".")
			when, err := time.Parse("2006-01-02 15:04:05", strings.TrimSuffix(text, "+00:00"))
			if err != nil {
				t.Fatal(err)
			}
			at = strconv.Itoa(int(when.Sub(epoch).Seconds()))
		}
		lines = append(lines, *r[0]+"|"+*r[1]+"|"+at)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// TestAcceptanceIncremental plays random sequences of source changes, runs, full
// refreshes and outside changes to the target, and compares the target after every run
// with what the specification says.
func TestAcceptanceIncremental(t *testing.T) {
	sequences := 50
	if full() {
		sequences = 5000
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("DVT_FUZZ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("seed %d (DVT_FUZZ_SEED), %d sequences", seed, sequences)
	schema := newSchema(t)
	t.Setenv("SCHEMA", schema)
	t.Setenv("SLING_STATE", "")
	dir := t.TempDir()
	copyTree(t, "../../testdata/projects/chinook", dir)
	if err := os.RemoveAll(filepath.Join(dir, "models")); err != nil {
		t.Fatal(err)
	}
	pg, my := openDB(t, "pg", ""), openDB(t, "my", "")
	mustExec(t, pg, "CREATE TABLE "+schema+".src (id int, v text, ts timestamp)")
	mustExec(t, my, "CREATE TABLE "+schema+".src (id int, v varchar(20), ts datetime)")
	var styles []string
	for s := range incrementStyles {
		styles = append(styles, s)
	}
	sort.Strings(styles)
	targets := []string{"pg", "my", "lite_out", "duck", "ch"}
	writeFile(t, filepath.Join(dir, "models", "sources.yml"), "sources:\n  - {name: s, meta: {connection: \"{{ var('from') }}\"}, schema: "+schema+", tables: [{name: src}]}\n")
	for _, target := range targets {
		for _, style := range styles {
			text := strings.Replace(incrementStyles[style], "config(", "config(target='"+target+"', ", 1)
			text = strings.Replace(text, "{mode:", "{target: "+target+", mode:", 1)
			writeFile(t, filepath.Join(dir, "models", target+"_"+style+".sql"), text)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := range sequences {
		p := &player{t: t, dir: dir, schema: schema, rng: rng, number: n, style: styles[n%len(styles)], target: targets[(n/len(styles))%len(targets)], from: []string{"pg", "my"}[rng.IntN(2)]}
		if full() {
			p.style, p.target = styles[rng.IntN(len(styles))], targets[rng.IntN(len(targets))]
		}
		p.source = map[string]*enginetest.DB{"pg": pg, "my": my}[p.from]
		p.play()
		if t.Failed() {
			t.Fatalf("sequence %d of seed %d: %s on %s from %s:\n%s", n, seed, p.style, p.target, p.from, strings.Join(p.story, "\n"))
		}
	}
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

// player plays one sequence.
type player struct {
	t                                *testing.T
	dir, schema, style, target, from string
	number                           int
	rng                              *rand.Rand
	source                           *enginetest.DB
	h                                history
	story                            []string
	serial                           int
}

func (p *player) note(format string, args ...any) {
	p.story = append(p.story, fmt.Sprintf(format, args...))
}

// onTarget opens the target's own engine for one use: a file has one user at a time.
func (p *player) onTarget(use func(db *enginetest.DB, table string)) {
	p.t.Helper()
	engine, path, table := p.target, "", p.schema+"."+p.target+"_"+p.style
	switch p.target {
	case "lite_out":
		engine, path, table = "sqlite", filepath.Join(p.dir, "out.sqlite"), p.target+"_"+p.style
	case "duck":
		engine, path, table = "duckdb", filepath.Join(p.dir, "out.duckdb"), p.target+"_"+p.style
	}
	db, err := enginetest.Open(engine, path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	use(db, table)
}

func (p *player) play() {
	p.h = history{style: p.style, source: map[int]row{}, target: map[int]row{}}
	mustExec(p.t, p.source, "DELETE FROM "+p.schema+".src")
	for id := 1; id <= 4; id++ {
		p.put(row{id, p.rng.IntN(100), p.value()})
	}
	p.run(true) // whatever an earlier sequence left in the target
	for range 4 + p.rng.IntN(3) {
		for range p.rng.IntN(4) {
			p.change()
		}
		if p.rng.IntN(6) == 0 && p.target != "ch" {
			p.outside()
		}
		p.run(p.rng.IntN(8) == 0)
		if p.t.Failed() {
			return
		}
	}
}

func (p *player) value() string {
	p.serial++
	return fmt.Sprintf("v%d", p.serial)
}

func (p *player) put(r row) {
	p.note("source: %v", r)
	p.h.source[r.id] = r
	mustExec(p.t, p.source, fmt.Sprintf("DELETE FROM %s.src WHERE id = %d", p.schema, r.id))
	mustExec(p.t, p.source, fmt.Sprintf("INSERT INTO %s.src VALUES (%d, '%s', %s)", p.schema, r.id, r.v, stampOf(r.at)))
}

// change alters the source: new rows, updates, late rows, ties, NULL watermarks, deletes.
func (p *player) change() {
	top := highest(p.h.source, nil)
	id := 1 + p.rng.IntN(8)
	switch p.rng.IntN(7) {
	case 0, 1:
		p.put(row{id, top + 1 + p.rng.IntN(5), p.value()})
	case 2: // a tie with the newest
		p.put(row{id, max(top, 0), p.value()})
	case 3: // late
		p.put(row{id, max(top-1-p.rng.IntN(50), 0), p.value()})
	case 4: // without a watermark
		p.put(row{id, -1, p.value()})
	case 5:
		p.note("source: delete %d", id)
		delete(p.h.source, id)
		mustExec(p.t, p.source, fmt.Sprintf("DELETE FROM %s.src WHERE id = %d", p.schema, id))
	case 6:
		if r, ok := p.h.source[id]; ok {
			r.v, r.at = p.value(), top+1
			p.put(r)
		}
	}
}

// outside changes the target behind dvt's back.
func (p *player) outside() {
	p.onTarget(func(db *enginetest.DB, table string) {
		if p.rng.IntN(3) == 0 {
			p.note("target: all rows deleted")
			p.h.target, p.h.extra = map[int]row{}, nil
			mustExec(p.t, db, "DELETE FROM "+table)
			return
		}
		id := 1 + p.rng.IntN(8)
		p.note("target: delete %d", id)
		delete(p.h.target, id)
		var rest []row
		for _, r := range p.h.extra {
			if r.id != id {
				rest = append(rest, r)
			}
		}
		p.h.extra = rest
		mustExec(p.t, db, fmt.Sprintf("DELETE FROM %s WHERE id = %d", table, id))
	})
}

func (p *player) run(refresh bool) {
	p.t.Helper()
	args := []string{"run", "-s", p.target + "_" + p.style, "--vars", "{from: " + p.from + "}"}
	if refresh {
		args = append(args, "--full-refresh")
	}
	p.note("run %v", refresh)
	ok := p.h.run(refresh)
	out, code := dvtIn(p.t, p.dir, args...)
	if (code == 0) != ok {
		p.t.Errorf("exit code %d, the run should succeed: %v\n%s", code, ok, out)
		return
	}
	p.onTarget(func(db *enginetest.DB, table string) {
		if got, want := targetRows(p.t, db, table), p.h.want(); got != want {
			p.t.Errorf("the target holds\n%s\nwant\n%s\n%s", got, want, out)
		}
	})
}
