package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moves runs and says how many rows the models read and wrote.
func (p *caseProject) moves(want map[string][2]int64, args ...string) {
	p.t.Helper()
	p.run(args...)
	for model, w := range want {
		m := p.moved(model)
		var in int64
		for _, s := range m.Sources {
			in += s.Rows
		}
		if got := [2]int64{in, m.Inserted + m.Updated}; got != w {
			p.t.Errorf("%s read and wrote %v rows, want %v", model, got, w)
		}
	}
}

// Appending styles add nothing when there is nothing new, though the newest rows tie.
func TestCaseC1(t *testing.T) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamp)", "INSERT INTO $S.src VALUES (1, '2024-01-01'), (2, '2024-01-02'), (3, '2024-01-02'), (4, '2024-01-02')")
	for _, out := range mergeOutputs {
		p.model("w_"+out, "materialized='f_incremental', incremental_strategy='append', watermark_column='ts', target='"+out+"'", "select * from {{ source('pg', 'src') }}")
		p.model("j_"+out, "materialized='f_incremental', target='"+out+"'", "select * from {{ source('pg', 'src') }} {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}")
		p.write("models/p_"+out+".sql", "/** {target: "+out+", mode: incremental, update_key: ts, incremental_strategy: append} **/\nselect * from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}\n")
	}
	p.run()
	p.run()
	p.exec("pg", "INSERT INTO $S.src VALUES (5, '2024-01-03'), (6, '2024-01-03')")
	p.run()
	p.run()
	for _, out := range mergeOutputs {
		for _, m := range []string{"w_", "j_", "p_"} {
			p.is(out, "SELECT count(*), count(DISTINCT id) FROM $S."+m+out, "6\t6")
		}
	}
}

// Rows that share a cursor and have no key are there once, however often it runs.
func TestCaseC3(t *testing.T) {
	p := newCase(t)
	p.source("my", "src")
	p.exec("my", "CREATE TABLE $S.src (v varchar(5), at int)", "INSERT INTO $S.src VALUES ('a', 7), ('a', 7), ('a', 7)")
	p.model("m", "materialized='f_incremental', incremental_strategy='append', watermark_column='at', target='pg'", `select v, "at" from {{ source('my', 'src') }}`)
	p.run()
	p.run()
	p.is("pg", "SELECT count(*) FROM $S.m", "3")
}

// What is remembered between runs does not grow with the rows that share a cursor.
func TestCaseC4(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "marks")
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src AS SELECT i AS id, timestamp '2024-01-01' AS ts FROM generate_series(1, 50000) i")
	p.write("models/m.sql", "/** {target: my, mode: incremental, unique_key: id, update_key: ts} **/\nselect * from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run()
	p.moves(map[string][2]int64{"m": {0, 0}})
	var kept int64
	for _, root := range []string{"marks", ".dvt"} {
		_ = filepath.Walk(filepath.Join(p.dir, root), func(_ string, info os.FileInfo, err error) error {
			if err == nil && !info.IsDir() {
				kept += info.Size()
			}
			return nil
		})
	}
	if kept > 1000 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// A NULL cursor: left out as SQL says, or read with every delta where that is asked for;
// one among many, and many before the first value.
func TestCaseC5(t *testing.T) { nullCursors(t, 1) }
func TestCaseC6(t *testing.T) { nullCursors(t, 10) }
func TestCaseC7(t *testing.T) { nullCursors(t, 20000) }

func nullCursors(t *testing.T, n int) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamp)", "INSERT INTO $S.src VALUES (0, '2024-01-01')")
	for _, out := range []string{"my", "duck"} {
		p.model("out_"+out, "materialized='f_incremental', unique_key='id', watermark_column='ts', target='"+out+"'", "select * from {{ source('pg', 'src') }}")
		p.model("in_"+out, "materialized='f_incremental', unique_key='id', watermark_column='ts', watermark_nulls='include', target='"+out+"'", "select * from {{ source('pg', 'src') }}")
	}
	p.run()
	p.exec("pg", fmt.Sprintf("INSERT INTO $S.src SELECT i, NULL FROM generate_series(1, %d) i", n), "INSERT INTO $S.src VALUES (-1, '2024-01-02'), (-2, '2024-01-03')")
	p.run()
	p.run()
	for _, out := range []string{"my", "duck"} {
		p.is(out, "SELECT count(*), count(ts) FROM $S.out_"+out, "3\t3")
		p.is(out, "SELECT count(*), count(ts) FROM $S.in_"+out, fmt.Sprintf("%d\t3", n+3))
	}
}

// Zone and every digit of a second's fraction are in the literal that is sent.
func TestCaseC9(t *testing.T) {
	p := newCase(t)
	p.source("pg", "src")
	p.source("duck", "nano")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamptz)", "INSERT INTO $S.src VALUES (1, '2024-01-01 10:00:00.123456+05:30')")
	p.exec("duck", "CREATE TABLE nano (id int, ts timestamp_ns)", "INSERT INTO nano VALUES (1, '2024-01-01 10:00:00.123456789')")
	for _, out := range []string{"pg", "my", "lite", "duck"} {
		p.model("z_"+out, "materialized='f_incremental', unique_key='id', watermark_column='ts', target='"+out+"'", "select * from {{ source('pg', 'src') }}")
	}
	p.model("n", "materialized='f_incremental', unique_key='id', watermark_column='ts', target='duck'", "select * from {{ source('duck', 'nano') }}")
	p.run()
	none := map[string][2]int64{"n": {0, 0}}
	one := map[string][2]int64{"n": {1, 1}}
	for _, out := range []string{"pg", "my", "lite", "duck"} {
		none["z_"+out], one["z_"+out] = [2]int64{0, 0}, [2]int64{1, 1}
	}
	p.moves(none)
	p.exec("pg", "INSERT INTO $S.src VALUES (2, '2024-01-01 04:30:00.123457+00:00'), (3, '2024-01-01 05:30:00.123455+01:00')")
	p.exec("duck", "INSERT INTO nano VALUES (2, '2024-01-01 10:00:00.123456790'), (3, '2024-01-01 10:00:00.123456788')")
	p.moves(one)
	p.moves(none)
}

// A literal is of the column's own type and digits.
func TestCaseC10(t *testing.T) {
	ownTypes(t, "my", "CREATE TABLE $S.src (id int, ts datetime(3))", "'2024-01-01 10:00:00.123'", "'2024-01-01 10:00:00.124'")
}
func TestCaseC11(t *testing.T) {
	ownTypes(t, "my", "CREATE TABLE $S.src (id int, ts datetime)", "'2024-01-01 10:00:00'", "'2024-01-01 10:00:01'")
	ownTypes(t, "pg", "CREATE TABLE $S.src (id int, ts date)", "'2024-01-01'", "'2024-01-02'")
}
func TestCaseC13(t *testing.T) {
	ownTypes(t, "ch", "CREATE TABLE $S.src (id Int32, ts DateTime) ENGINE = MergeTree ORDER BY id", "'2024-01-01 10:00:00'", "'2024-01-01 10:00:01'")
	p := newCase(t)
	p.source("ch", "src")
	p.exec("ch", "CREATE TABLE $S.src (id Int32, ts DateTime('UTC')) ENGINE = MergeTree ORDER BY id", "INSERT INTO $S.src VALUES (1, '2024-01-01 10:00:00'), (2, '2024-01-02 10:00:00')")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: ts} **/\nselect * from {{ source('ch', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run("--range", "2024-01-01T00:00:00,2024-01-02T00:00:00")
	p.is("pg", "SELECT id FROM $S.m", "1")
}
func TestCaseC14(t *testing.T) {
	ownTypes(t, "pg", "CREATE TABLE $S.src (id int, ts timestamptz)", "'2024-01-01 10:00:00+02:00'", "'2024-01-01 08:00:01+00:00'")
	ownTypes(t, "my", "CREATE TABLE $S.src (id int, ts timestamp(6))", "'2024-01-01 10:00:00.5'", "'2024-01-01 10:00:00.500001'")
}

func ownTypes(t *testing.T, from, create, first, second string) {
	t.Helper()
	p := newCase(t)
	p.source(from, "src")
	p.exec(from, create, "INSERT INTO $S.src VALUES (1, "+first+")")
	none, one := map[string][2]int64{}, map[string][2]int64{}
	for _, out := range mergeOutputs {
		p.model("m_"+out, "materialized='f_incremental', unique_key='id', watermark_column='ts', target='"+out+"'", "select * from {{ source('"+from+"', 'src') }}")
		if out != "ch" { // whose old server has no fractions
			none["m_"+out], one["m_"+out] = [2]int64{0, 0}, [2]int64{1, 1}
		}
	}
	p.run("--exclude", excluded(from, create))
	p.moves(none, "--exclude", excluded(from, create))
	p.exec(from, "INSERT INTO $S.src VALUES (2, "+second+")")
	p.moves(one, "--exclude", excluded(from, create))
	p.moves(none, "--exclude", excluded(from, create))
}

// excluded is the target that refuses what a source's column holds.
func excluded(_, create string) string {
	if strings.Contains(create, "(3)") || strings.Contains(create, "(6)") {
		return "m_ch"
	}
	return "nothing"
}

// An expression is no column: said before anything is read; under a name of its own it is.
func TestCaseC15(t *testing.T) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, updated_at timestamp, created_at timestamp)", "INSERT INTO $S.src VALUES (1, NULL, '2024-01-01'), (2, '2024-01-03', '2024-01-02')")
	p.model("m", "materialized='f_incremental', unique_key='id', watermark_column='coalesce(updated_at,created_at)', target='my'", "select * from {{ source('pg', 'src') }}")
	p.model("named", "materialized='f_incremental', unique_key='id', watermark_column='at_last', target='my'", "select *, coalesce(updated_at, created_at) as at_last from {{ source('pg', 'src') }}")
	p.run("-s", "named")
	p.exec("pg", "INSERT INTO $S.src VALUES (3, NULL, '2024-01-04')")
	p.run("-s", "named")
	p.is("my", "SELECT count(*) FROM $S.named", "3")
	p.fails([]string{"coalesce(updated_at,created_at)", "is not a column of the model: it has id, updated_at, created_at"}, "-s", "m")
}

// A record that cannot be read is an error, not a beginning.
func TestCaseC17(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "marks")
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamptz)", "INSERT INTO $S.src VALUES (1, '2024-01-01 10:00:00+02:00')")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: ts} **/\nselect * from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run()
	files, _ := filepath.Glob(filepath.Join(p.dir, "marks", "*.json"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	if !strings.Contains(string(text), `"2024-01-01T08:00:00Z"`) && !strings.Contains(string(text), `"2024-01-01T08:00:00+00:00"`) {
		t.Errorf("no instant with its offset: %s", text)
	}
	for _, bad := range []string{"2024-01-01 10:00:00 +0200 +0200", "soon"} {
		must(t, os.WriteFile(files[0], []byte(strings.NewReplacer("2024-01-01T08:00:00Z", bad, "2024-01-01T08:00:00+00:00", bad).Replace(string(text))), 0o600))
		p.fails([]string{"the state of model 'm' cannot be read", bad})
	}
	must(t, os.WriteFile(files[0], []byte("{"), 0o600))
	p.fails([]string{"cannot be read"})
}

// The record is the target's maximum, with its type, whatever the spelling of the column.
func TestCaseC18(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "pg/"+p.schema)
	p.source("my", "src")
	p.exec("my", "CREATE TABLE $S.src (Id int, UpdatedAt datetime)", "INSERT INTO $S.src VALUES (1, '2024-01-01 10:00:00'), (2, '2024-01-02 10:00:00')")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: updatedat} **/\nselect * from {{ source('my', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run()
	p.is("pg", `SELECT value, column_type, (SELECT max("UpdatedAt") FROM $S.m)::text FROM $S._sling_state`, "2024-01-02 10:00:00\tTIMESTAMP\t2024-01-02 10:00:00")
	p.moves(map[string][2]int64{"m": {0, 0}})
}

// A target that is missing, or is a view, is a first run, in each style.
func TestCaseC19(t *testing.T) { firstRun(t, "") }
func TestCaseC21(t *testing.T) { firstRun(t, "CREATE VIEW $S.%s AS SELECT 7 AS other") }

func firstRun(t *testing.T, before string) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, v text, ts timestamp)", "INSERT INTO $S.src VALUES (1, 'a', '2024-01-01'), (2, 'b', NULL)")
	for _, out := range mergeOutputs {
		for _, s := range []string{"watermark_merge", "jinja_max", "jinja_not_in", "window_plain"} {
			p.write("models/"+s+"_"+out+".sql", modelText(s, out, "{{ source('pg', 'src') }}"))
			if before != "" {
				p.exec(out, fmt.Sprintf(before, s+"_"+out))
			}
		}
	}
	p.run()
	for _, out := range mergeOutputs {
		for _, s := range []string{"watermark_merge", "jinja_max", "jinja_not_in", "window_plain"} {
			p.is(out, "SELECT count(*), count(ts) FROM $S."+s+"_"+out, "2\t1")
		}
	}
}

func TestCaseC23(t *testing.T) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamp)")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: ts} **/\nselect * from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}\n")
	for _, bounds := range []string{"2024-02-01,2024-01-01", "2024-01-01,2024-01-01", "2024-02-01,2024-01-01,1d"} {
		p.fails([]string{"start must be before end"}, "--range", bounds)
	}
}

// A record without a zone and a column that has one now: said, or read as UTC; never a
// wrong place to go on from.
func TestCaseC24(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "marks")
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, ts timestamp)", "INSERT INTO $S.src VALUES (1, '2024-01-01 10:00:00')")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: ts} **/\nselect * from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run()
	p.exec("pg", "ALTER TABLE $S.m ALTER COLUMN ts TYPE timestamptz USING ts AT TIME ZONE 'UTC'", "ALTER TABLE $S.src ALTER COLUMN ts TYPE timestamptz USING ts AT TIME ZONE 'UTC'",
		"INSERT INTO $S.src VALUES (2, '2024-01-01 10:00:01+00:00'), (3, '2024-01-01 11:30:00+02:00')")
	out, code := dvtIn(t, p.dir, "run")
	if code == 0 {
		p.is("pg", "SELECT id FROM $S.m ORDER BY id", "1\n2")
	} else if !strings.Contains(out, "cannot be read") {
		t.Error(out)
	}
}

// Numbers compare as numbers, also out of a record.
func TestCaseC25(t *testing.T) {
	p := newCase(t)
	t.Setenv("SLING_STATE", "marks")
	p.source("my", "src")
	p.exec("my", "CREATE TABLE $S.src (id int, n bigint)", "INSERT INTO $S.src VALUES (1, 2), (2, 9)")
	p.write("models/m.sql", "/** {target: pg, mode: incremental, unique_key: id, update_key: n} **/\nselect * from {{ source('my', 'src') }} where {{ incremental_where_cond() }}\n")
	p.run()
	p.moves(map[string][2]int64{"m": {0, 0}})
	p.exec("my", "INSERT INTO $S.src VALUES (3, 10), (4, 9007199254740993)")
	p.moves(map[string][2]int64{"m": {2, 2}})
	p.exec("my", "INSERT INTO $S.src VALUES (5, 9007199254740992), (6, 9007199254740994)")
	p.moves(map[string][2]int64{"m": {1, 1}})
}
