package main

import (
	"strings"
	"testing"
)

// TestIncrementalRefusals: what an incremental model must not say, each with its exact
// message, before anything is read.
func TestIncrementalRefusals(t *testing.T) {
	t.Setenv("SLING_STATE", "")
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, v text, ts timestamp, d date)", "INSERT INTO $S.src VALUES (1, 'a', '2024-01-01', '2024-01-01'), (2, 'b', '2024-01-03', '2024-01-03')")
	const window = "select id, v, ts, d from {{ source('pg', 'src') }} where {{ incremental_where_cond() }}"
	const plain = "select id, v, ts, d from {{ source('pg', 'src') }}"
	const dbt = plain + " {% if is_incremental() %} where ts > (select max(ts) from {{ this }}) {% endif %}"
	const notIn = plain + " {% if is_incremental() %} where id not in (select id from {{ this }}) {% endif %}"
	front := func(keys, sql string) string { return "/** {target: my, " + keys + "} **/\n" + sql }
	config := func(keys, sql string) string {
		return "{{ config(materialized='f_incremental', target='my', " + keys + ") }}\n" + sql
	}
	for _, c := range []struct{ name, state, model, args, says string }{
		{"start without advance", "", front("mode: incremental, unique_key: id, update_key: ts, range: {start: '2024-01-01'}", window), "", "model 'm': range.start requires range.advance"},
		{"range of a table", "", front("mode: table, range: {advance: 7d}, update_key: ts", plain), "", "model 'm': range.* requires mode: incremental"},
		{"advance without key", "", front("mode: incremental, unique_key: id, range: {advance: 7d}", window), "", "model 'm': range.advance requires update_key"},
		{"range in dbt style", "", front("mode: incremental, unique_key: id, update_key: ts, range: {lookback: 7d}", dbt), "", "model 'm': range.* requires incremental_where_cond() (sling style); is_incremental() is not compatible with range.*"},
		{"mode without key", "", front("mode: incremental, unique_key: id", dbt), "", "model 'm': mode 'incremental' requires update_key"},
		{"window without key", "", config("unique_key='id'", window), "", "model 'm': mode 'incremental' requires update_key"},
		{"advance without state", "", front("mode: incremental, unique_key: id, update_key: ts, range: {advance: 7d}", window), "", "model 'm': range.advance requires SLING_STATE to be configured"},
		{"bad duration", "", front("mode: incremental, unique_key: id, update_key: ts, range: {lookback: 7x}", window), "", "invalid duration '7x': expected <int><unit> with unit in ms,s,m,h,d,w,mo,y"},
		{"range of dbt style", "", config("unique_key='id'", dbt), "--range 2024-01-01,2024-02-01", "model 'm' uses is_incremental() (dbt style); --range requires incremental_where_cond() (sling style)"},
		{"one bound", "", front("mode: incremental, unique_key: id, update_key: ts", window), "--range 2024-01-01", `invalid --range "2024-01-01": expected 'start,end' or 'start,end,step'`},
		{"empty bound", "", front("mode: incremental, unique_key: id, update_key: ts", window), "--range 2024-01-01,", `invalid --range "2024-01-01,": start and end must be non-empty`},
		{"step of no date, start", "", front("mode: incremental, unique_key: id, update_key: ts", window), "--range soon,2024-01-01,1d", "--range with step requires ISO date/timestamp start"},
		{"step of no date, end", "", front("mode: incremental, unique_key: id, update_key: ts", window), "--range 2024-01-01,later,1d", "--range with step requires ISO date/timestamp end"},
		{"advance on text", "marks", front("mode: incremental, unique_key: id, update_key: v, range: {advance: 7d}", window), "", `range.advance/lookback requires datetime/date update_key, got "varchar"`},
		{"hours on a date", "marks", front("mode: incremental, unique_key: id, update_key: d, range: {advance: 7h}", window), "", "model 'm': 7h is less than a day, which a date update_key cannot move by"},
		{"range in config()", "", config("unique_key='id', watermark_column='ts', range={'lookback': '1d'}", window), "", "model 'm': range is a front-matter-only key"},
		{"two styles", "", front("mode: incremental, unique_key: id, update_key: ts", window+" {% if is_incremental() %} and id in (select id from {{ this }}) {% endif %}"), "",
			"cannot mix is_incremental() and incremental_where_cond() in the same model. Choose one pattern: either dbt-compatible (is_incremental() + {{ this }}) or sling-native ({{ incremental_where_cond() }})"},
		{"unsafe without key", "", "{{ config(materialized='f_incremental', target='my') }}\n" + notIn, "", "model 'm': without unique_key only the pattern <col> > (SELECT MAX(<col>) FROM {{ this }}) is safe to append; set unique_key"},
		{"window without unique key", "", front("mode: incremental, update_key: ts", window), "", "model 'm': an incremental_where_cond() model needs unique_key, or incremental_strategy: append without range.lookback"},
		{"insert_overwrite", "", config("unique_key='id', incremental_strategy='insert_overwrite'", dbt), "", "is not supported: known are merge (= update+insert), append, insert, delete+insert"},
		{"microbatch", "", config("unique_key='id', incremental_strategy='microbatch'", dbt), "", "is not supported: known are merge (= update+insert), append, insert, delete+insert"},
		{"merge into files", "", strings.Replace(config("unique_key='id'", dbt), "target='my'", "target='lake'", 1), "", "it can only append, not merge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("SLING_STATE", c.state)
			q := *p
			q.t = t
			q.write("models/m.sql", c.model+"\n")
			q.fails([]string{c.says}, strings.Fields(c.args)...)
		})
	}
	if got := p.rows("my", "SELECT count(*) FROM information_schema.tables WHERE table_schema = '"+p.schema+"'"); got != "0" {
		t.Errorf("%s tables were made by models that are refused", got)
	}
	// A mention in a comment is no use of it.
	p.write("models/m.sql", front("mode: incremental, unique_key: id, update_key: ts", window+"\n-- not is_incremental() {# is_incremental() #}\n"))
	p.run()
	p.is("my", "SELECT count(*) FROM $S.m", "2")
}

// TestIncrementalExamples are the models of the documents that users come from, as they
// stand there, but for the names of their connections.
func TestIncrementalExamples(t *testing.T) {
	t.Setenv("SLING_STATE", "marks")
	p := newCase(t)
	p.source("my", "raw")
	p.exec("my", "CREATE TABLE $S.raw (id int, name varchar(20), created_at datetime)", "INSERT INTO $S.raw VALUES (1, 'a', '2024-01-01 10:00:00'), (2, 'b', '2024-01-02 11:00:00'), (3, 'c', '2024-01-09')")
	p.model("stg_orders", "materialized='f_table'", "select * from {{ source('my', 'raw') }}")
	p.write("models/style_a.sql", `{%- config(
    mode='incremental',
    unique_key='id',
    merge_strategy='delete+insert',
    update_key='created_at'
) -%}

SELECT id, name, created_at
FROM {{ ref('stg_orders') }}
{% if is_incremental() %}
WHERE created_at > (SELECT MAX(created_at) FROM {{ this }})
{% endif %}
`)
	native := func(name, keys string) {
		p.write("models/"+name+".sql", `/**
mode: incremental
unique_key: id
update_key: created_at
merge_strategy: delete+insert
`+keys+`**/

SELECT id, name, created_at::date AS created_at
FROM {{ ref('stg_orders') }}
WHERE {{ incremental_where_cond() }}
`)
	}
	native("plain", "")
	native("back", "range:\n  lookback: 2d\n")
	native("paged", "range:\n  advance: 7d\n")
	native("started", "range:\n  start: '2024-01-01'\n  advance: 7d\n")
	native("both", "range:\n  advance: 7d\n  lookback: 2d\n")
	p.run()
	count := func(model, want string) {
		t.Helper()
		p.is("pg", "SELECT count(*), max(id) FROM $S."+model, want)
	}
	for _, m := range []string{"style_a", "plain", "back"} {
		count(m, "3\t3")
	}
	for _, m := range []string{"paged", "started", "both"} {
		count(m, "2\t2") // the first week
	}
	p.exec("my", "INSERT INTO $S.raw VALUES (4, 'd', '2024-01-10'), (5, 'late', '2024-01-08')", "UPDATE $S.raw SET name = 'C' WHERE id = 3")
	p.run()
	p.is("pg", "SELECT id, name FROM $S.style_a ORDER BY id", "1\ta\n2\tb\n3\tc\n4\td")
	p.is("pg", "SELECT id, name FROM $S.plain ORDER BY id", "1\ta\n2\tb\n3\tc\n4\td")
	p.is("pg", "SELECT id, name FROM $S.back ORDER BY id", "1\ta\n2\tb\n3\tC\n4\td\n5\tlate")
	for _, m := range []string{"paged", "started", "both"} {
		count(m, "5\t5")
	}
	p.run("--range", "2024-01-01,2024-12-31,1mo", "-s", "plain")
	p.is("pg", "SELECT id, name FROM $S.plain ORDER BY id", "1\ta\n2\tb\n3\tC\n4\td\n5\tlate")
	if out := p.run("--range", "2024-01-01,2024-12-31,1mo", "-s", "plain"); !strings.Contains(out, "chunk 12/12 created_at=[2024-12-01, 2024-12-31) OK (") {
		t.Error(out)
	}
}
