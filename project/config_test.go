package project

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dvt-dev/dvt/connectors"
)

func TestFrontMatterForms(t *testing.T) {
	for name, c := range map[string]struct {
		src      string
		mat      string
		bodyLine int
		body     string
		warns    bool
	}{
		"yaml block":          {"/**\nmode: incremental\nupdate_key: at\nunique_key: id\n**/\nselect 1", FIncremental, 5, "\nselect 1", false},
		"flow block":          {"/* {materialized: f_table, tags: [a]} */\nselect 1", FTable, 1, "\nselect 1", false},
		"json block":          {"/*\n{\"materialized\": \"f_table\"}\n*/ select 1", FTable, 3, " select 1", false},
		"line":                {"-- {materialized: f_table}\nselect 1", FTable, 1, "\nselect 1", false},
		"lines":               {"-- {materialized: f_table,\n--  tags: [a]}\nselect 1", FTable, 2, "\nselect 1", false},
		"after blank lines":   {"\n\n  /** materialized: f_table **/select 1", FTable, 3, "select 1", false},
		"no known key":        {"/**\nauthor: me\n**/\nselect 1", View, 1, "/**\nauthor: me\n**/\nselect 1", false},
		"a comment":           {"/* by: me */\nselect 1", View, 1, "/* by: me */\nselect 1", false},
		"prose":               {"/** This model: counts, and more: so **/ select 1", View, 1, "/** This model: counts, and more: so **/ select 1", false},
		"line comment":        {"-- all of it\nselect 1", View, 1, "-- all of it\nselect 1", false},
		"broken yaml warns":   {"/**\nmaterialized: [f_table\n**/\nselect 1", View, 1, "/**\nmaterialized: [f_table\n**/\nselect 1", true},
		"not the first thing": {"select 1\n/** materialized: f_table **/", View, 1, "select 1\n/** materialized: f_table **/", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := load(t, map[string]string{"models/m.sql": c.src})
			n := p.Nodes["model.shop.m"]
			if n.Config.Materialized != c.mat || n.Body != c.body || n.BodyLine != c.bodyLine {
				t.Errorf("materialized %s, line %d, body %q", n.Config.Materialized, n.BodyLine, n.Body)
			}
			if (len(p.Warnings) > 0) != c.warns {
				t.Errorf("warnings: %q", p.Warnings)
			}
		})
	}
}

func TestFrontMatterKeys(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": `/**
mode: incremental
update_key: created_at
unique_key: [id, day]
merge_strategy: delete+insert
range: {lookback: 2d}
hooks: {start: "delete from log", end: ["analyze {{ this }}"]}
column_types: {id: bigint}
indexes: [{columns: [id], unique: true, type: hash}]
meta: {owner: me}
**/
{{ config(materialized='table', unique_key='other') }}
select 1 as id where {{ incremental_where_cond() }}`})
	n := p.Nodes["model.shop.m"]
	c := n.Config
	want := Config{
		Materialized: FIncremental, ModeIncremental: true, Enabled: true, UniqueKey: []string{"id", "day"}, Strategy: "delete+insert",
		WatermarkColumn: "created_at", WatermarkNulls: "exclude", Range: &Range{Lookback: "2d"}, OnSchemaChange: "ignore", Lane: "auto",
		PreHook: []string{"delete from log"}, PostHook: []string{"analyze {{ this }}"}, ColumnTypes: map[string]string{"id": "bigint"},
		Indexes: []connectors.Index{{Columns: []string{"id"}, Unique: true, Type: "hash"}}, Meta: map[string]any{"owner": "me"},
	}
	c.Raw = nil
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
	if !n.WindowStyle || n.IsIncrementalStyle {
		t.Errorf("window %v, is_incremental %v", n.WindowStyle, n.IsIncrementalStyle)
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "models/m.sql: config() is ignored") {
		t.Errorf("notes: %q", p.Notes)
	}
}

func TestMaterializationSpellings(t *testing.T) {
	for in, want := range map[string]string{
		"f_table": FTable, "F-Table": FTable, "fed_table": FTable, "federated-table": FTable, "Federated_Incremental": FIncremental,
		"f-incremental": FIncremental, "view": View, "TABLE": Table, "incremental": Incremental, "ephemeral": Ephemeral,
	} {
		got, ok := canonical(in, false)
		if !ok || got != want {
			t.Errorf("canonical(%q) = %q, %v", in, got, ok)
		}
	}
	for in, want := range map[string]string{"incremental": FIncremental, "full-refresh": FTable, "Table": FTable, "view": View, "f_snapshot": FSnapshot} {
		if got, ok := canonical(in, true); !ok || got != want {
			t.Errorf("mode %q = %q, %v", in, got, ok)
		}
	}
}

func TestCarriers(t *testing.T) {
	files := map[string]string{
		"dbt_project.yml": `
name: shop
profile: shop
models:
  +tags: all
  shop:
    +schema: base
    marts:
      +materialized: f_table
      schema: marts
      +meta: {team: data, tier: 1}
      pre-hook: "{{ log('project') }}"
`,
		"models/marts/a.sql": "{{ config(tags=['inline'], post_hook='vacuum', meta={'tier': 2}) }}select 1",
		"models/marts/b.sql": "/** {schema: front, materialized: view} **/ select 1",
		"models/other/c.sql": "select 1",
		"models/schema.yml": `
models:
  - name: a
    description: the a
    config: {tags: [yml], alias: a_alias, pre_hook: [one]}
    columns:
      - {name: id, data_type: integer, description: the id, tests: []}
`,
	}
	p := load(t, files)
	a, b, c := p.Nodes["model.shop.a"], p.Nodes["model.shop.b"], p.Nodes["model.shop.c"]
	if a.Config.Materialized != FTable || a.Schema != "analytics_marts" || a.Alias != "a_alias" || a.Description != "the a" {
		t.Errorf("a: %+v", a.Config)
	}
	if want := []string{"all", "yml", "inline"}; !cmp.Equal(a.Tags, want) {
		t.Errorf("tags of a: %v", a.Tags)
	}
	if want := []string{"{{ log('project') }}", "one"}; !cmp.Equal(a.Config.PreHook, want) {
		t.Errorf("pre-hooks of a: %q", a.Config.PreHook)
	}
	if want := map[string]any{"team": "data", "tier": int64(2)}; !cmp.Equal(a.Config.Meta, want) {
		t.Errorf("meta of a: %v", a.Config.Meta)
	}
	if want := []ColumnSpec{{Name: "id", DataType: "integer", Description: "the id", Meta: map[string]any{}}}; !cmp.Equal(a.Columns, want) {
		t.Errorf("columns of a: %+v", a.Columns)
	}
	if b.Config.Materialized != View || b.Schema != "analytics_front" {
		t.Errorf("b: %s in %s", b.Config.Materialized, b.Schema)
	}
	if c.Config.Materialized != View || c.Schema != "analytics_base" {
		t.Errorf("c: %s in %s", c.Config.Materialized, c.Schema)
	}
}

func TestConfigErrors(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"unknown materialization": {"{{ config(materialized='f_tabel') }}select 1",
			"models/m.sql:1:4: model 'm': unknown materialization 'f_tabel': known are ephemeral, f_incremental, f_snapshot, f_table, incremental, table, view. Did you mean: f_table?"},
		"unknown target": {"\n/** {target: pgg, materialized: f_table} **/select 1",
			"models/m.sql:2:6: model 'm': target 'pgg' is not an output of profile 'shop': there are pg, pg2, crm_mysql. Did you mean: pg, pg2?"},
		"unknown strategy": {"{{ config(materialized='f_incremental', incremental_strategy='insert_overwrite') }}select 1",
			"model 'm': incremental_strategy 'insert_overwrite' is not supported: known are merge (= update+insert), append, insert, delete+insert"},
		"microbatch":       {"{{ config(materialized='incremental', incremental_strategy='microbatch') }}select 1", "'microbatch' is not supported"},
		"schema change":    {"{{ config(on_schema_change='sync_all') }}select 1", "on_schema_change 'sync_all' is not known: known are ignore, fail, append_new_columns, sync_all_columns"},
		"chunk size":       {"{{ config(materialized='f_table', chunk_column='id', chunk_size=0) }}select 1", "chunk_size must be a whole number above 0, not 0"},
		"chunk half":       {"{{ config(materialized='f_table', chunk_column='id') }}select 1", "chunk_column and chunk_size belong together"},
		"snapshot key":     {"{{ config(materialized='f_snapshot', strategy='timestamp', updated_at='t') }}select 1", "model 'm': a snapshot needs unique_key"},
		"snapshot updated": {"{{ config(materialized='f_snapshot', strategy='timestamp', unique_key='id') }}select 1", "strategy 'timestamp' needs updated_at"},
		"snapshot columns": {"{{ config(materialized='f_snapshot', strategy='check', unique_key='id') }}select 1", "strategy 'check' needs check_cols: a list of columns, or all"},
		"snapshot none":    {"{{ config(materialized='f_snapshot', unique_key='id') }}select 1", "a snapshot needs strategy: timestamp or check"},
		"bad boolean":      {"{{ config(enabled='perhaps') }}select 1", "enabled must be true or false, not 'perhaps'"},
		"watermark nulls":  {"{{ config(materialized='f_incremental', watermark_column='a', watermark_nulls='include') }}select 1", "watermark_nulls: include needs unique_key"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := loadError(t, map[string]string{"models/m.sql": c.src}); !strings.Contains(got, c.want) {
				t.Errorf("error %q\nwants %q", got, c.want)
			}
		})
	}
}

func TestSnapshotConfig(t *testing.T) {
	p := load(t, map[string]string{
		"models/all.sql":  "{{ config(materialized='f-snapshot', unique_key='id', strategy='check', check_cols='all', invalidate_hard_deletes=true) }}select 1",
		"models/some.sql": "{{ config(materialized='f_snapshot', unique_key=['a','b'], strategy='check', check_cols=['x', 'y'], hard_deletes='new_record', dbt_valid_to_current=\"to_date('9999-12-31')\") }}select 1",
	})
	all, some := p.Nodes["model.shop.all"].Config, p.Nodes["model.shop.some"].Config
	if !all.CheckAll || all.HardDeletes != "invalidate" || all.Strategy != "check" {
		t.Errorf("all: %+v", all)
	}
	if some.CheckAll || !cmp.Equal(some.CheckCols, []string{"x", "y"}) || some.HardDeletes != "new_record" || some.ValidToCurrent != "to_date('9999-12-31')" {
		t.Errorf("some: %+v", some)
	}
}

func TestStrategySpellings(t *testing.T) {
	for in, want := range map[string][2]any{
		"merge": {"merge", false}, "update+insert": {"merge", false}, "Update_Insert": {"merge", false}, "append": {"append", false},
		"insert": {"append", true}, "delete+insert": {"delete+insert", false}, "delete_insert": {"delete+insert", false},
	} {
		p := load(t, map[string]string{"models/m.sql": "{{ config(materialized='f_incremental', unique_key='id', merge_strategy='" + in + "') }}select 1"})
		c := p.Nodes["model.shop.m"].Config
		if c.Strategy != want[0] || c.StrategyInsert != want[1] {
			t.Errorf("%s: %s, insert %v", in, c.Strategy, c.StrategyInsert)
		}
	}
}
