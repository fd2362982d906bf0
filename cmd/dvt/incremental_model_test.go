package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dvt-dev/dvt/internal/enginetest"
)

// The styles of the model-based test: what stands in the model's configuration and its
// SQL over $SRC.
var incrementStyles = []struct{ name, config, sql string }{
	{"watermark_merge", "unique_key='id', watermark_column='ts'", "select id, v, ts from $SRC"},
	{"watermark_delete", "unique_key='id', incremental_strategy='delete+insert', watermark_column='ts'", "select id, v, ts from $SRC"},
	{"watermark_append", "incremental_strategy='append', watermark_column='ts'", "select id, v, ts from $SRC"},
	{"watermark_nulls", "unique_key='id', watermark_column='ts', watermark_nulls='include'", "select id, v, ts from $SRC"},
	{"jinja_max", "unique_key='id'", "select id, v, ts from $SRC {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}"},
	{"jinja_keyless", "", "select id, v, ts from $SRC {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}"},
	{"jinja_not_in", "unique_key='id'", "select id, v, ts from $SRC {% if is_incremental() %} where id not in (select id from {{ this }} where id is not null) {% endif %}"},
	{"jinja_differs", "unique_key='id', incremental_strategy='delete+insert'", "select s.id, s.v, s.ts from $SRC as s {% if is_incremental() %} where not exists (select 1 from {{ this }} as t where t.id = s.id and t.v = s.v) {% endif %}"},
	{"jinja_join", "unique_key='id'", "select s.id, s.v, s.ts from $SRC as s {% if is_incremental() %} left join {{ this }} as t on t.id = s.id where t.id is null or s.ts > t.ts {% endif %}"},
	{"jinja_count", "unique_key='id'", "select id, v, ts from $SRC {% if is_incremental() %} where id > (select count(distinct v) from {{ this }}) {% endif %}"},
	{"window_plain", "front unique_key: id, update_key: ts, merge_strategy: update+insert", "select id, v, ts from $SRC where {{ incremental_where_cond() }}"},
	{"window_lookback", "front unique_key: id, update_key: ts, range: {lookback: 10s}", "select id, v, ts from $SRC where {{ incremental_where_cond() }}"},
	{"window_delete", "front unique_key: id, update_key: ts, merge_strategy: delete+insert", "select id, v, ts from $SRC where {{ incremental_where_cond() }}"},
}

func modelText(style, target, src string) string {
	at := slices.IndexFunc(incrementStyles, func(s struct{ name, config, sql string }) bool { return s.name == style })
	s := incrementStyles[at]
	head := "{{ config(materialized='f_incremental', target='" + target + "', " + strings.TrimSuffix(s.config, ", ") + ") }}\n"
	if s.config == "" {
		head = "{{ config(materialized='f_incremental', target='" + target + "') }}\n"
	}
	if keys, front := strings.CutPrefix(s.config, "front "); front {
		head = "/** {target: " + target + ", mode: incremental, " + keys + "} **/\n"
	}
	return head + strings.ReplaceAll(s.sql, "$SRC", src) + "\n"
}

// row is one row of source or target; at is seconds after an epoch, -1 for NULL.
type row struct {
	id, at int
	v      string
}

func rowsOf(rows map[int]row) []row {
	var out []row
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, rows[id])
	}
	return out
}

// history is the specification in a few lines: what a target and its state hold.
type history struct {
	style    string
	stateful bool
	target   map[int]row
	extra    []row // rows that append adds a second time under one id
	state    *int
}

func (h *history) clone() *history {
	c := *h
	c.target, c.extra = maps.Clone(h.target), slices.Clone(h.extra)
	return &c
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
func (h *history) run(source map[int]row, refresh bool) bool {
	whole := refresh || len(h.target)+len(h.extra) == 0
	if whole {
		h.target, h.extra = maps.Clone(source), nil
	} else if !h.delta(source) {
		return false
	}
	if !h.stateful || !strings.HasPrefix(h.style, "window") {
		return true
	}
	// State follows the target, and back only with a load of everything.
	if top := highest(h.target, h.extra); top >= 0 && (whole || h.state == nil || top > *h.state) {
		h.state = &top
	}
	return true
}

func (h *history) delta(source map[int]row) bool {
	mark := highest(h.target, h.extra)
	if h.state != nil {
		mark = *h.state
	}
	byKey := h.style != "watermark_append" && h.style != "jinja_keyless"
	if mark < 0 && !byKey {
		return false
	}
	have, values := maps.Clone(h.target), map[string]bool{}
	for _, r := range have {
		values[r.v] = true
	}
	for id, r := range source {
		was, known := have[id]
		var fresh bool
		switch h.style {
		case "jinja_not_in":
			fresh = !known
		case "jinja_differs":
			fresh = !known || was.v != r.v
		case "jinja_join":
			fresh = !known || was.at >= 0 && r.at > was.at
		case "jinja_count":
			fresh = id > len(values)
		case "watermark_nulls":
			fresh = mark < 0 || r.at > mark || r.at < 0
		case "window_lookback":
			fresh = mark < 0 || r.at >= 0 && r.at >= mark-10
		default:
			fresh = mark < 0 || r.at > mark
		}
		switch {
		case !fresh:
		case byKey || !known:
			h.target[id] = r
		default:
			h.extra = append(h.extra, r)
		}
	}
	return true
}

func (h *history) want() string {
	return asText(append(rowsOf(h.target), h.extra...))
}

func asText(rows []row) string {
	var lines []string
	for _, r := range rows {
		at := "NULL"
		if r.at >= 0 {
			at = strconv.Itoa(r.at)
		}
		lines = append(lines, fmt.Sprintf("%d|%s|%s", r.id, r.v, at))
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

func secondsOf(t *testing.T, text string) int {
	t.Helper()
	text = strings.TrimSuffix(strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z"), "+00:00")
	text, _, _ = strings.Cut(text, ".")
	when, err := time.Parse("2006-01-02 15:04:05", text)
	must(t, err)
	return int(when.Sub(epoch).Seconds())
}

// held reads the target with its own engine, as history.want prints rows.
func (s *sequence) held() string {
	s.b.t.Helper()
	var got []row
	s.b.use(s.to, func(db *enginetest.DB, prefix string) {
		_, rows, err := db.Query("SELECT id, v, ts FROM " + prefix + s.name)
		if err != nil && s.h().want() == "" {
			return // not made yet
		}
		must(s.b.t, err)
		for _, r := range rows {
			id, err := strconv.Atoi(*r[0])
			must(s.b.t, err)
			at := -1
			if r[2] != nil {
				at = secondsOf(s.b.t, *r[2])
			}
			got = append(got, row{id, at, *r[1]})
		}
	})
	return asText(got)
}

func (s *sequence) value() string {
	s.serial++
	return fmt.Sprintf("v%d", s.serial)
}

func (s *sequence) put(r row) {
	s.note("source: %v", r)
	s.source[r.id], s.changed = r, true
}

// change alters the source: new rows, updates, late rows, ties, NULL watermarks, deletes.
func (s *sequence) change() {
	top := highest(s.source, nil)
	rng := s.b.rng
	id := 1 + rng.IntN(8)
	switch rng.IntN(7) {
	case 0, 1:
		s.put(row{id, top + 1 + rng.IntN(5), s.value()})
	case 2: // a tie with the newest
		s.put(row{id, max(top, 0), s.value()})
	case 3: // late
		s.put(row{id, max(top-1-rng.IntN(50), 0), s.value()})
	case 4: // without a watermark
		s.put(row{id, -1, s.value()})
	case 5:
		s.note("source: delete %d", id)
		delete(s.source, id)
		s.changed = true
	case 6:
		if r, ok := s.source[id]; ok {
			r.v, r.at = s.value(), top+1
			s.put(r)
		}
	}
}

// outside changes the target behind dvt's back.
func (s *sequence) outside() {
	h, rng := s.h(), s.b.rng
	if len(h.target)+len(h.extra) == 0 {
		return // perhaps there is no table
	}
	id := 1 + rng.IntN(8)
	switch rng.IntN(5) {
	case 0:
		h.target, h.extra = map[int]row{}, nil
	case 1, 2:
		delete(h.target, id)
		h.extra = slices.DeleteFunc(h.extra, func(r row) bool { return r.id == id })
	case 3:
		if r, ok := h.target[id]; ok {
			r.v = s.value()
			h.target[id] = r
		}
	case 4:
		if _, ok := h.target[id]; !ok {
			h.target[id] = row{id, rng.IntN(100), s.value()}
		}
	}
	s.note("target: changed outside to\n%s", h.want())
	s.b.rewrite(s.to, s.name, append(rowsOf(h.target), h.extra...), s.from == "ch" && (s.to == "lite_out" || s.to == "pg"))
	if got := s.held(); got != h.want() {
		s.fail("after the outside change the target holds\n%s", got)
	}
}

// ran compares after a run.
func (s *sequence) ran(refresh, succeeded bool, out string) {
	s.b.t.Helper()
	s.note("run, full refresh %v", refresh)
	out = s.said(out)
	should := s.h().run(s.source, refresh)
	if succeeded != should {
		s.fail("the run should succeed: %v\n%s", should, out)
		return
	}
	if got, want := s.held(), s.h().want(); got != want {
		s.fail("the target holds\n%s\nwant\n%s\n%s", got, want, out)
	}
}

// said is what a run printed about the sequence.
func (s *sequence) said(out string) string {
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, s.name) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (s *sequence) fail(format string, args ...any) {
	s.b.t.Helper()
	s.b.t.Errorf("%s: %s from %s to %s, state %v\n%s\n%s", s.name, s.style, s.from, s.to, os.Getenv("SLING_STATE"), fmt.Sprintf(format, args...), strings.Join(s.story, "\n"))
}

// statuses are how the models of the last run ended.
func statuses(t *testing.T, dir string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "target", "run_results.json"))
	must(t, err)
	var doc struct {
		Results []struct {
			ID     string `json:"unique_id"`
			Status string
		}
	}
	must(t, json.Unmarshal(data, &doc))
	found := map[string]string{}
	for _, r := range doc.Results {
		found[r.ID[strings.LastIndex(r.ID, ".")+1:]] = r.Status
	}
	return found
}
