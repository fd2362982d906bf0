package main

import (
	"slices"
	"strings"
	"testing"
)

// held is one row of a history as text that compares like its time; to is "" while it
// is open.
type held struct{ v, from, to string }

// versions reads a history by its own engine: per key its versions in order.
func versions(p *caseProject, output, table string) map[string][]held {
	p.t.Helper()
	clean := strings.NewReplacer("T", " ", "Z", "", "+00:00", "")
	db := p.open(output)
	defer func() { _ = db.Close() }()
	_, rows := mustQuery(p.t, db, p.sql(output, "SELECT k, v, dbt_valid_from, dbt_valid_to FROM $S."+table))
	all := map[string][]held{}
	for _, r := range rows {
		v := held{v: *r[1], from: clean.Replace(*r[2])}
		if r[3] != nil {
			v.to = clean.Replace(*r[3])
		}
		all[*r[0]] = append(all[*r[0]], v)
	}
	for key := range all {
		slices.SortFunc(all[key], func(a, b held) int {
			if a.from == b.from {
				return strings.Compare(a.to+"~", b.to+"~")
			}
			return strings.Compare(a.from, b.from)
		})
	}
	return all
}

// sound fails if two versions of a key overlap, or one ends before it begins.
func sound(t *testing.T, all map[string][]held, want map[string]string) {
	t.Helper()
	for key, list := range all {
		var values []string
		for i, v := range list {
			values = append(values, v.v)
			if v.to != "" && v.to < v.from || i+1 < len(list) && (v.to == "" || list[i+1].from < v.to) {
				t.Errorf("key %s: versions overlap: %v", key, list)
			}
		}
		if got := strings.Join(values, " "); got != want[key] {
			t.Errorf("key %s has the versions %s, want %s", key, got, want[key])
		}
	}
	if len(all) != len(want) {
		t.Errorf("the keys %v, want %v", all, want)
	}
}

// later moves all times of a history an hour on: what a run writes whose clock was ahead.
func later(p *caseProject, output, table string) {
	p.t.Helper()
	at := "$S." + table
	switch output {
	case "ch": // without a mutation, which ends some time later
		p.exec("ch", "CREATE TABLE $S.moved AS "+at,
			"INSERT INTO $S.moved SELECT k, v, ts, dbt_scd_id, dbt_updated_at, dbt_valid_from + 3600, dbt_valid_to + 3600 FROM "+at,
			"DROP TABLE "+at, "RENAME TABLE $S.moved TO "+at)
	case "lite":
		p.exec("lite", "UPDATE "+at+" SET dbt_valid_from = strftime('%Y-%m-%d %H:%M:%f', dbt_valid_from, '+1 hour'), dbt_valid_to = strftime('%Y-%m-%d %H:%M:%f', dbt_valid_to, '+1 hour')")
	default:
		hour := map[string]string{"pg": "INTERVAL '1 hour'", "my": "INTERVAL 1 HOUR", "duck": "INTERVAL 1 HOUR"}[output]
		p.exec(output, "UPDATE "+at+" SET dbt_valid_from = dbt_valid_from + "+hour+", dbt_valid_to = dbt_valid_to + "+hour)
	}
}

// A clock that goes back, and runs within one second: no two versions of a key overlap,
// whatever became of it meanwhile, under both strategies and with keys that go and return.
func TestSnapshotClock(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of models one after another, of which the race detector learns nothing new")
	}
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "src")
		p.exec("pg", "CREATE TABLE $S.src (k int, v text, ts timestamp)", "INSERT INTO $S.src SELECT i, 'a', '2024-01-01' FROM generate_series(1, 3) AS i")
		tables := map[string]string{"h_check": "strategy='check', check_cols=['v']", "h_time": "strategy='timestamp', updated_at='ts'"}
		for name, how := range tables {
			p.model(name, "materialized='f_snapshot', target='"+out+"', unique_key='k', "+how+", hard_deletes='invalidate'", "select k, v, ts from {{ source('pg', 'src') }}")
		}
		step := func(stmts ...string) {
			t.Helper()
			p.exec("pg", stmts...)
			p.run()
		}
		are := func(want map[string]string) {
			t.Helper()
			for name := range tables {
				sound(t, versions(p, out, name), want)
			}
		}
		// Runs within one second, each with a change of 1; 2 goes, returns and goes.
		step()
		step("UPDATE $S.src SET v = 'b', ts = '2024-01-02' WHERE k = 1", "DELETE FROM $S.src WHERE k = 2")
		step("UPDATE $S.src SET v = 'c', ts = '2024-01-03' WHERE k = 1", "INSERT INTO $S.src VALUES (2, 'b', '2024-01-01')")
		step("UPDATE $S.src SET v = 'd', ts = '2024-01-04' WHERE k = 1", "DELETE FROM $S.src WHERE k = 2")
		are(map[string]string{"1": "a b c d", "2": "a b", "3": "a"})
		// The clock goes back an hour.
		for name := range tables {
			later(p, out, name)
		}
		step("UPDATE $S.src SET v = 'e', ts = '2024-01-05' WHERE k = 1", "INSERT INTO $S.src VALUES (2, 'c', '2024-01-01')", "DELETE FROM $S.src WHERE k = 3")
		are(map[string]string{"1": "a b c d e", "2": "a b c", "3": "a"})
		step("UPDATE $S.src SET v = 'f', ts = '2024-01-06' WHERE k = 1", "UPDATE $S.src SET v = 'd', ts = '2024-01-02' WHERE k = 2", "INSERT INTO $S.src VALUES (3, 'b', '2024-01-01')")
		are(map[string]string{"1": "a b c d e f", "2": "a b c d", "3": "a b"})
		if text := p.run(); strings.Count(text, " 0 rows out") != len(tables) {
			t.Errorf("a run without changes applies something:\n%s", text)
		}
		if out == "my" { // open versions are found without a look at the closed ones
			p.is("my", "SELECT count(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '"+p.schema+"' AND COLUMN_NAME = 'dbt_valid_to' AND SEQ_IN_INDEX = 1", "2")
		}
	})
}
