package project

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestManifest(t *testing.T) {
	p := load(t, map[string]string{
		"models/s.yml":         sourcesYML,
		"models/marts/a.sql":   "{{ config(materialized='f_table', tags=['t'], post_hook='x') }}select * from {{ source('crm', 'orders') }} {{ one() }}",
		"models/e.sql":         "{{ config(materialized='ephemeral') }}select 1",
		"models/off.sql":       "{{ config(enabled=false) }}select 1",
		"seeds/c.csv":          "a\n",
		"macros/m.sql":         "{% macro one() %}{% endmacro %}",
		"models/marts/sch.yml": "models: [{name: a, description: d, columns: [{name: id, tests: [unique]}]}]",
	})
	compile(t, p, "model.shop.a", run)
	b, err := json.Marshal(p.Manifest())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"s3cret", "localhost", RelationMarker} {
		if strings.Contains(string(b), secret) {
			t.Errorf("the manifest holds %s", secret)
		}
	}
	var m struct {
		Metadata  map[string]any
		Nodes     map[string]map[string]any
		Sources   map[string]map[string]any
		Macros    map[string]map[string]any
		Disabled  map[string][]map[string]any
		ParentMap map[string][]string `json:"parent_map"`
		ChildMap  map[string][]string `json:"child_map"`
	}
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	a := m.Nodes["model.shop.a"]
	for key, want := range map[string]any{
		"resource_type": "model", "path": "marts/a.sql", "original_file_path": "models/marts/a.sql", "alias": "a", "schema": "analytics", "database": "pg",
		"relation_name": `"pg"."analytics"."a"`, "compiled": true, "compiled_code": `select * from "crm_mysql"."crm"."ORDERS" `, "description": "d",
		"compiled_path": "target/compiled/shop/models/marts/a.sql", "patch_path": "shop://models/marts/sch.yml", "package_name": "shop",
	} {
		if a[key] != want {
			t.Errorf("%s is %v, want %v", key, a[key], want)
		}
	}
	text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	for got, want := range map[string]string{
		text(a["depends_on"]): `{"macros":["macro.shop.one"],"nodes":["source.shop.crm.orders"]}`, text(a["sources"]): `[["crm","orders"]]`, text(a["refs"]): `[]`,
		text(a["fqn"]): `["shop","marts","a"]`, text(a["tags"]): `["t"]`, text(a["config"].(map[string]any)["post-hook"]): `[{"index":null,"sql":"x","transaction":true}]`,
		text(a["config"].(map[string]any)["materialized"]): `"f_table"`,
		text(m.ParentMap["model.shop.a"]):                  `["source.shop.crm.orders"]`, text(m.ChildMap["source.shop.crm.orders"]): `["model.shop.a"]`,
		text(m.Nodes["model.shop.e"]["relation_name"]): `null`, text(m.Metadata["dbt_schema_version"]): `"` + manifestSchema + `"`,
		text(m.Metadata["generated_at"]):                          `"2026-03-04T05:06:07.123456Z"`,
		text(m.Sources["source.shop.crm.orders"]["identifier"]):   `"ORDERS"`,
		text(len(m.Disabled["model.shop.off"])):                   `1`,
		text(m.Macros["macro.shop.one"]["package_name"]):          `"shop"`,
		text(m.Nodes["seed.shop.c"]["original_file_path"]):        `"seeds/c.csv"`,
		text(m.Nodes["model.shop.a"]["columns"].(map[string]any)): `{"id":{"constraints":[],"data_type":null,"description":"","meta":{},"name":"id","quote":null,"tags":[]}}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for id, n := range m.Nodes {
		if n["resource_type"] != "test" {
			continue
		}
		if want := `{"kwargs":{"column_name":"id","model":"{{ get_where_subquery(ref('a')) }}"},"name":"unique","namespace":null}`; text(n["test_metadata"]) != want || n["attached_node"] != "model.shop.a" {
			t.Errorf("%s: %s", id, text(n["test_metadata"]))
		}
	}
}

func TestCompatibilityStubsDoNotHide(t *testing.T) {
	p := load(t, map[string]string{
		"macros/dvt_compat.sql": "{% macro incremental_where_cond(c=none) %}stub{% endmacro %}{% macro incremental_value(c=none) %}stub{% endmacro %}{% materialization f_table, default %}{% endmaterialization %}",
		"models/m.sql":          "/** {mode: incremental, update_key: a, unique_key: a} **/ {{ incremental_where_cond() }} {{ incremental_value() }}",
	})
	if sql := compile(t, p, "model.shop.m", run).SQL; sql != " 1=1 null" {
		t.Errorf("%q", sql)
	}
}
