package main

import (
	"strings"
	"testing"
)

// snapshotTypes are columns of a PostgreSQL source with a value each. Some come back from
// some targets as another type than they went.
var snapshotTypes = []struct{ name, native, value string }{
	{"small", "smallint", "-32768"}, {"num", "integer", "-2147483648"}, {"big", "bigint", "9223372036854775807"}, {"flag", "boolean", "true"},
	{"price", "numeric(12,3)", "1.250"}, {"long", "numeric(38,9)", "12345678901234567890.000000001"}, {"ratio", "double precision", "0.1"}, {"single", "real", "0.1"},
	{"word", "varchar(20)", "'it''s'"}, {"day", "date", "'2024-02-29'"}, {"clock", "time", "'23:59:59.5'"}, {"span", "interval", "'1 month 2 days 03:04:05'"},
	{"naive", "timestamp", "'2024-03-10 02:30:00'"}, {"instant", "timestamptz", "'2024-03-10 02:30:00+00'"}, {"id4", "uuid", "'00112233-4455-6677-8899-aabbccddeeff'"},
	{"doc", "json", `'{"b": 1, "a": [1.0, null]}'`}, {"docb", "jsonb", `'{"b": 1, "a": [1.0, null]}'`}, {"list", "integer[]", "'{1,NULL,3}'"}, {"raw", "bytea", `'\x00ff'`},
}

// A history compares what the target gives back with what the model gives, whatever type
// the target has for it: nothing changed opens no version, a change opens one.
func TestSnapshotTypes(t *testing.T) {
	each(t, mergeOutputs, func(t *testing.T, out string) {
		p := newCase(t)
		p.source("pg", "src")
		ddl, values := "CREATE TABLE $S.src (k int", "INSERT INTO $S.src VALUES (1"
		for _, c := range snapshotTypes {
			ddl += ", " + c.name + " " + c.native
			values += ", " + c.value
		}
		p.exec("pg", ddl+")", values+")", "INSERT INTO $S.src (k, list) VALUES (2, '{}')")
		columns := "*"
		if out == "ch" { // which has no fraction of a second and no NULL in these
			columns = "* EXCLUDE (raw)"
		}
		p.model("h", "materialized='f_snapshot', target='"+out+"', unique_key='k', strategy='check', check_cols='all'", "select "+columns+" from {{ source('pg', 'src') }}")
		p.run()
		if text := p.run(); !strings.Contains(text, " 0 rows out") {
			t.Errorf("nothing changed, but rows were applied:\n%s", text)
		}
		open := "SELECT count(*) FROM $S.h WHERE dbt_valid_to IS NULL"
		p.is(out, "SELECT count(*) FROM $S.h", "2")
		for _, c := range snapshotTypes {
			if c.name == "raw" && out == "ch" {
				continue
			}
			value := map[string]string{"boolean": "false", "json": "'{}'", "jsonb": "'{}'", "integer[]": "'{1}'", "date": "'2024-03-01'", "time": "'00:00'", "interval": "'1 day'",
				"timestamp": "'2024-03-10 02:30:01'", "timestamptz": "'2024-03-10 02:30:01+00'", "uuid": "'00112233-4455-6677-8899-aabbccddee00'", "bytea": `'\x00'`, "varchar(20)": "''"}[c.native]
			if value == "" {
				value = "7"
			}
			p.exec("pg", "UPDATE $S.src SET "+c.name+" = "+value+" WHERE k = 1")
		}
		p.run()
		p.is(out, "SELECT count(*) FROM $S.h", "3")
		p.is(out, open, "2")
		p.exec("pg", "UPDATE $S.src SET num = 8 WHERE k = 2")
		p.run()
		if text := p.run(); !strings.Contains(text, " 0 rows out") {
			t.Errorf("nothing changed, but rows were applied:\n%s", text)
		}
		p.is(out, "SELECT count(*) FROM $S.h", "4")
		p.is(out, open, "2")
	})
}
