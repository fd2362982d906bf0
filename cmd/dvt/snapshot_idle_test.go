package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// written is what an engine itself counts of writes to table h: another text after any
// write. Of files it is what they hold.
func written(p *caseProject, output string) string {
	p.t.Helper()
	switch output {
	case "pg": // versions of rows and the file that holds them
		return p.rows("pg", "SELECT pg_relation_filenode(c.oid), c.xmin, (SELECT string_agg(h.ctid::text || ' ' || h.xmin::text || ' ' || h.xmax::text, ',' ORDER BY h.ctid) FROM $S.h AS h) FROM pg_class c WHERE c.oid = '"+p.schema+".h'::regclass")
	case "my": // InnoDB's own id of the table and its count of row operations
		return p.rows("my", "SELECT TABLE_ID, MODIFIED_COUNTER, NUM_ROWS FROM information_schema.INNODB_SYS_TABLESTATS WHERE NAME = '"+p.schema+"/h'") +
			p.rows("my", "SELECT CREATE_TIME, UPDATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+p.schema+"' AND TABLE_NAME = 'h'")
	case "ch": // parts are never changed, only made anew
		return p.rows("ch", "SELECT name, active, modification_time, rows FROM system.parts WHERE database = '"+p.schema+"' AND table = 'h' ORDER BY name")
	}
	data, err := os.ReadFile(filepath.Join(p.dir, map[string]string{"lite": "out.sqlite", "duck": "out.duckdb"}[output]))
	if err != nil {
		p.t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A snapshot run with nothing changed reads the open versions once and writes nothing, by
// the servers' own account.
func TestSnapshotWritesNothing(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "src")
		p.exec("pg", "CREATE TABLE $S.src (k int, v text, ts timestamp)", "INSERT INTO $S.src SELECT i, 'a', '2024-01-01' FROM generate_series(1, 100) AS i")
		p.model("h", "materialized='f_snapshot', target='"+out+"', unique_key='k', strategy='check', check_cols=['v'], hard_deletes='invalidate'", "select k, v, ts from {{ source('pg', 'src') }}")
		for _, change := range []string{"UPDATE $S.src SET v = 'b' WHERE k <= 50", "UPDATE $S.src SET v = 'c' WHERE k <= 50", "DELETE FROM $S.src WHERE k > 90"} {
			p.run()
			p.exec("pg", change)
		}
		p.run()
		p.is(out, "SELECT count(*) FROM $S.h", "200")
		before := written(p, out)
		p.run()
		if after := written(p, out); before == "" || before != after {
			t.Errorf("the target was written:\n%s\nwas\n%s", after, before)
		}
		if rows, sql := openReads(t, p); rows != 90 || !strings.Contains(sql, "dbt_valid_to") {
			t.Errorf("%d rows were read back by %s, want the 90 open versions", rows, sql)
		}
		// What is compared does see a write.
		p.exec(out, map[string]string{"ch": "OPTIMIZE TABLE $S.h FINAL"}[out]+map[string]string{
			"pg": "UPDATE $S.h SET v = v WHERE k = 1", "my": "UPDATE $S.h SET v = 'z' WHERE k = 1", "lite": "UPDATE $S.h SET v = 'z' WHERE k = 1", "duck": "UPDATE $S.h SET v = 'z' WHERE k = 1"}[out])
		if before == written(p, out) {
			t.Error("a write is not seen")
		}
	})
}

// openReads are the rows and the SQL of the one read of the target in the last run.
func openReads(t *testing.T, p *caseProject) (rows int64, sql string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "target", "run_results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Results []struct {
			DVT struct {
				Sources []struct {
					Relation, SQL string
					Rows          int64
				}
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	reads := 0
	for _, s := range doc.Results[0].DVT.Sources {
		if s.Relation == "this" {
			reads++
			rows, sql = s.Rows, s.SQL
		}
	}
	if reads != 1 {
		t.Errorf("the target was read %d times: %s", reads, data)
	}
	return rows, sql
}
