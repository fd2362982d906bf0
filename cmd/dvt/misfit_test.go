package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// misfit is a column of a target that does not hold 70000, or whose format has no NaN.
type misfit struct {
	name, output, config string
	nan                  bool
	read                 string // FROM item over a file, of its path without extension
}

// A value that does not fit is an error that names column, value and the row's key, on
// every target and under every strategy, and the target keeps what it had.
func TestMisfit(t *testing.T) {
	small := func(typ string) string { return ", column_types={'v': '" + typ + "'}" }
	targets := []misfit{
		{name: "pg", output: "pg", config: small("smallint")},
		{name: "my", output: "my", config: small("smallint")},
		{name: "ch", output: "ch", config: small("Nullable(Int16)")},
		{name: "lite", output: "lite", nan: true},
		{name: "duck", output: "duck", config: small("SMALLINT")},
		{name: "parquet", output: "lake", config: small("SMALLINT") + ", format='parquet'", read: "read_parquet('%s.parquet')"},
		{name: "csv", output: "lake", config: small("SMALLINT") + ", format='csv'", read: "read_csv('%s.csv')"},
		{name: "json", output: "lake", nan: true, config: ", format='json'", read: "read_json('%s.json')"},
	}
	for _, m := range targets {
		t.Run(m.name, m.play)
	}
}

// play has a model for each strategy that the target takes, all over one source.
func (m misfit) play(t *testing.T) {
	p := newCase(t)
	p.source("pg", "src")
	p.exec("pg", "CREATE TABLE $S.src (id int, v double precision)", "INSERT INTO $S.src VALUES (1, 5), (2, 6)")
	p.write("macros/names.sql", "{% macro generate_schema_name(name, node) %}{{ name if name else target.schema }}{% endmacro %}\n")
	value, shown, column := "70000", "70000", "v::int AS v"
	if m.nan {
		value, shown, column = "'NaN'", "nan in row", "v"
	}
	models := map[string]string{"keyed": "'f_table', unique_key='id'", "plain": "'f_table'"}
	if m.output != "lake" {
		models["inc"] = "'f_incremental', unique_key='id'"
		models["snap"] = "'f_snapshot', unique_key='id', strategy='check', check_cols='all'"
	}
	for name, config := range models {
		p.model(name, "materialized="+config+", target='"+m.output+"', schema='"+schemaOf(p, m.output)+"'"+m.config,
			"select id, "+column+" from {{ source('pg', 'src') }}{% if is_incremental() %} where true{% endif %}")
	}
	holds := func() {
		t.Helper()
		for name := range models {
			from := "$S." + name
			if m.read != "" {
				from = fmt.Sprintf(m.read, filepath.Join(p.dir, "lake", "main", name))
			}
			p.is(m.output, "SELECT id, v FROM "+from+" ORDER BY id", "1\t5\n2\t6")
		}
	}
	p.run()
	holds()
	p.exec("pg", "UPDATE $S.src SET v = "+value+" WHERE id = 2")
	out := p.fails(nil)
	for name := range models {
		_, said, _ := strings.Cut(out, "Model '"+name+"'")
		said, _, _ = strings.Cut(said, "\n")
		if !strings.Contains(said, `column "v"`) || !strings.Contains(strings.ToLower(said), shown) || !strings.Contains(said, "id = 2") {
			t.Errorf("model %s: the error does not name column, value and row: %s", name, said)
		}
	}
	holds()
	p.exec("pg", "UPDATE $S.src SET v = 7 WHERE id = 2")
	p.run()
}

func schemaOf(p *caseProject, output string) string {
	if output == "pg" || output == "my" || output == "ch" {
		return p.schema
	}
	return "main"
}
