package project

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestResolveErrors(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"unknown ref": {map[string]string{"models/a.sql": "select *\nfrom {{ ref('stg_order') }}", "models/stg_orders.sql": "select 1"},
			"models/a.sql:2:9: ref('stg_order') not found. Did you mean: stg_orders?"},
		"unknown ref by name": {map[string]string{"models/a.sql": "{% set n = 'nothing_like_it' %}select *\nfrom {{ ref(n) }}"},
			"models/a.sql: ref('nothing_like_it') not found"},
		"unknown package": {map[string]string{"models/a.sql": "select * from {{ ref('other', 'b') }}", "models/b.sql": "select 1"},
			"models/a.sql:1:18: ref('other', 'b') not found"},
		"unknown source": {map[string]string{"models/a.sql": "select * from {{ source('crm', 'customer') }}", "models/s.yml": sourcesYML},
			"models/a.sql:1:18: source('crm', 'customer') not found. Did you mean: crm.customers?"},
		"disabled": {map[string]string{"models/a.sql": "select * from {{ ref('b') }}", "models/b.sql": "{{ config(enabled=false) }}select 1"},
			"models/a.sql:1:18: ref('b') names a model that is disabled in models/b.sql"},
		"cycle": {map[string]string{"models/a.sql": "{{ ref('c') }}", "models/b.sql": "{{ ref('a') }}", "models/c.sql": "{{ ref('b') }}"},
			"models/a.sql: cycle detected in model dependencies: a -> c -> b -> a"},
		"self": {map[string]string{"models/a.sql": "{{ ref('a') }}"}, "cycle detected in model dependencies: a -> a"},
		"two models": {map[string]string{"models/x/a.sql": "select 1", "models/y/a.sql": "select 2"},
			"models/y/a.sql: two resources are named 'a': model 'a' in models/x/a.sql and model 'a' in models/y/a.sql"},
		"model and seed": {map[string]string{"models/a.sql": "select 1", "seeds/a.csv": "x\n1\n"},
			"two resources are named 'a': model 'a' in models/a.sql and seed 'a' in seeds/a.csv"},
		"one relation": {map[string]string{"models/a.sql": "{{ config(alias='t') }}select 1", "models/b.sql": "{{ config(alias='t') }}select 1"},
			"models/b.sql: model 'a' in models/a.sql and model 'b' in models/b.sql both write the relation analytics/t on 'pg'"},
		"two patches": {map[string]string{"models/a.sql": "select 1", "models/x.yml": "models: [{name: a}]", "models/y.yml": "models: [{name: a}]"},
			"models/y.yml:1:10: 'a' is described twice under 'models': in models/x.yml:1 and in models/y.yml:1"},
		"two sources": {map[string]string{"models/x.yml": "sources: [{name: s, tables: [{name: t}]}]", "models/y.yml": "sources: [{name: s, tables: [{name: t}]}]"},
			"source 's.t' is defined twice: in models/x.yml:1 and in models/y.yml:1"},
		"unknown test": {map[string]string{"models/a.sql": "select 1", "models/x.yml": "models:\n  - name: a\n    columns:\n      - name: id\n        tests: [not_nul]\n"},
			"models/x.yml:5:17: test 'not_nul' on 'a' is not defined. Did you mean: not_null?"},
		"ref in test": {map[string]string{"models/a.sql": "select 1", "models/x.yml": "models:\n  - name: a\n    columns:\n      - name: id\n        tests:\n          - relationships: {to: ref('bb'), field: id}\n"},
			"models/x.yml:6: ref('bb') not found"},
		"ref arguments":    {map[string]string{"models/a.sql": "{{ ref() }}"}, "models/a.sql:1:4: ref() takes at most two arguments (0 given)"},
		"source arguments": {map[string]string{"models/a.sql": "{{ source('a') }}"}, "models/a.sql:1:4: source() takes exactly two arguments (1 given)"},
		"snapshot tag":     {map[string]string{"snapshots/a.sql": "\n{% snapshot a %}\nselect 1"}, "snapshots/a.sql:2:1: snapshot 'a' has no endsnapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := loadError(t, c.files); !strings.Contains(got, c.want) {
				t.Errorf("error %q\nwants %q", got, c.want)
			}
		})
	}
}

func TestDisabledTwinIsNoDuplicate(t *testing.T) {
	p := load(t, map[string]string{"models/x/a.sql": "{{ config(enabled=false) }}select 1", "models/y/a.sql": "select 2", "models/b.sql": "{{ ref('a') }}"})
	if n := p.Nodes["model.shop.a"]; n.Path != "models/y/a.sql" || len(p.Disabled) != 1 {
		t.Errorf("a is %s, disabled %d", n.Path, len(p.Disabled))
	}
}

func TestIncrementalBranchCounts(t *testing.T) {
	p := load(t, map[string]string{
		"models/a.sql": "{{ config(materialized='f_incremental', unique_key='id') }}{% if is_incremental() %}select * from {{ ref('b') }} join {{ ref('gone') }}{% else %}select * from {{ ref('c') }}{% endif %}",
		"models/b.sql": "select 1", "models/c.sql": "select 1",
		"models/d.sql": "{% if target.name == 'other' %}{{ ref('gone') }}{% endif %}select 1",
	})
	if got, want := p.Nodes["model.shop.a"].DependsOn, []string{"model.shop.b", "model.shop.c"}; !cmp.Equal(got, want) {
		t.Errorf("depends on %v", got)
	}
}

func TestDAGOrder(t *testing.T) {
	p := load(t, map[string]string{
		"models/z.sql": "select 1", "models/a.sql": "{{ ref('z') }}", "models/b.sql": "select 1", "models/c.sql": "{{ ref('b') }}{{ ref('a') }}",
	})
	nodes, warnings, err := p.Select(nil, nil, TypeModel)
	if err != nil || warnings != nil {
		t.Fatal(err, warnings)
	}
	if got := names(nodes); !cmp.Equal(got, []string{"b", "z", "a", "c"}) {
		t.Errorf("order %v", got)
	}
	if got := p.Parents("model.shop.c"); !cmp.Equal(got, []string{"model.shop.a", "model.shop.b"}) {
		t.Errorf("parents %v", got)
	}
	if got := p.Children("model.shop.z"); !cmp.Equal(got, []string{"model.shop.a"}) {
		t.Errorf("children %v", got)
	}
}

func names(nodes []*Node) []string {
	var out []string
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

func TestNamingMacros(t *testing.T) {
	models := map[string]string{"models/a.sql": "{{ config(schema='marts', alias='x') }}select 1", "models/b.sql": "{{ config(target='crm_mysql', schema=' s ') }}select 1"}
	for name, c := range map[string]struct {
		macro      string
		a, b, seen string
	}{
		"default":       {"", "analytics_marts.x", "crm_s.b", ""},
		"schema":        {"{% macro generate_schema_name(custom_schema_name, node) %}{{ custom_schema_name or target.schema }}{% endmacro %}", "marts.x", "s.b", ""},
		"dispatched":    {"{% macro default__generate_schema_name(custom_schema_name, node) %}d_{{ custom_schema_name }}_{{ target.name }}{% endmacro %}", "d_marts_pg.x", "d_s_crm_mysql.b", ""},
		"of one engine": {"{% macro mysql__generate_schema_name(custom_schema_name, node) %}my_{{ node.name }}{% endmacro %}", "analytics_marts.x", "my_b.b", ""},
		"alias":         {"{% macro generate_alias_name(custom_alias_name=none, node=none) %}\n {{ custom_alias_name or node.name ~ '_t' }}\n{% endmacro %}", "analytics_marts.x", "crm_s.b_t", ""},
	} {
		t.Run(name, func(t *testing.T) {
			content := map[string]string{"macros/n.sql": c.macro}
			for k, v := range models {
				content[k] = v
			}
			p := load(t, content)
			a, b := p.Nodes["model.shop.a"].Relation().String(), p.Nodes["model.shop.b"].Relation().String()
			if a != c.a || b != c.b {
				t.Errorf("a is %s, b is %s", a, b)
			}
		})
	}
	models["macros/n.sql"] = "{% macro generate_alias_name(custom_alias_name=none, node=none) %}{% do exceptions.raise_compiler_error('no') %}{% endmacro %}"
	if got := loadError(t, models); !strings.Contains(got, "macros/n.sql:1:") {
		t.Error(got)
	}
}

func TestPackages(t *testing.T) {
	p, err := tryLoad(t, map[string]string{
		"dbt_project.yml":                          "name: shop\nprofile: shop\nvars:\n  util: {depth: 3, own: root}\n  own: global\ndispatch: [{macro_namespace: util, search_order: [shop, util]}]\nmodels:\n  util:\n    +schema: from_root\n    sub: {+tags: deep}\n",
		"macros/m.sql":                             "{% macro default__shout(x) %}root {{ x }}{% endmacro %}{% macro helper() %}root helper{% endmacro %}",
		"models/a.sql":                             "select '{{ util.shout('a') }} {{ util.inner() }} {{ var('own') }} {{ var('depth', 'none') }}' from {{ ref('util', 'pm') }}, {{ ref('b') }}",
		"models/b.sql":                             "select 1",
		"dbt_packages/util/dbt_project.yml":        "name: util\nprofile: whatever\nvars: {depth: 1, width: 2, own: util}\nmodels:\n  util: {+materialized: table, +schema: own}\n",
		"dbt_packages/util/macros/m.sql":           "{% macro shout(x) %}{{ return(adapter.dispatch('shout', 'util')(x)) }}{% endmacro %}{% macro default__shout(x) %}util {{ x }}{% endmacro %}{% macro inner() %}{{ helper() }}{% endmacro %}{% macro helper() %}util helper{% endmacro %}",
		"dbt_packages/util/models/sub/pm.sql":      "select {{ var('depth') }}, {{ var('width') }}, '{{ var('own') }} {{ helper() }}' from {{ ref('b') }}",
		"dbt_packages/util/models/b.sql":           "select 2",
		"dbt_packages/util/models/sub/schema.yml":  "models: [{name: pm, description: from the package}]",
		"dbt_packages/not_a_package/models/no.sql": "select 1",
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := compile(t, p, "model.shop.a", run)
	if want := `select 'root a root helper global none' from "pg__dvtcat"."analytics_from_root"."pm", "pg__dvtcat"."analytics"."b"`; a.SQL != want {
		t.Errorf("a:\n%s\nwant:\n%s", a.SQL, want)
	}
	pm := p.Nodes["model.util.pm"]
	if want := `select 3, 2, 'root util helper' from "pg__dvtcat"."analytics_from_root"."b"`; compile(t, p, pm.UniqueID, run).SQL != want {
		t.Errorf("pm: %s", compile(t, p, pm.UniqueID, run).SQL)
	}
	if pm.Config.Materialized != Table || pm.Path != "dbt_packages/util/models/sub/pm.sql" || !cmp.Equal(pm.FQN, []string{"util", "sub", "pm"}) ||
		!cmp.Equal(pm.Tags, []string{"deep"}) || pm.Description != "from the package" {
		t.Errorf("pm: %+v", pm)
	}
	for sel, want := range map[string][]string{"package:util": {"b", "pm"}, "util": {"b", "pm"}, "path:dbt_packages/util": {"b", "pm"}, "package:this": {"b", "a"}} {
		nodes, _, err := p.Select([]string{sel}, nil, TypeModel)
		if err != nil || !cmp.Equal(names(nodes), want) {
			t.Errorf("%s: %v, %v", sel, names(nodes), err)
		}
	}
}

func TestGenericTests(t *testing.T) {
	p := load(t, map[string]string{
		"macros/t.sql":        "{% test bigger(model, column_name, than, of=none) %}select * from {{ model }} where {{ column_name }} <= {{ than }} and {{ of }} {% endtest %}",
		"tests/singular.sql":  "{{ config(severity='warn', tags=['s']) }}select * from {{ ref('orders') }} where id < 0",
		"tests/generic/g.sql": "{% test odd(model, column_name) %}select 1 from {{ model }}{% endtest %}",
		"models/orders.sql":   "select 1 as id",
		"models/people.sql":   "select 1 as id",
		"seeds/codes.csv":     "a\n1\n",
		"models/s.yml": `
models:
  - name: orders
    tests:
      - bigger: {column_name: total, than: 3, name: total_is_big}
    columns:
      - name: id
        tags: [key]
        tests:
          - unique
          - not_null: {severity: warn, where: "id > 5", config: {limit: 7}}
          - relationships: {to: ref('people'), field: id}
          - odd
      - name: Status Text
        quote: true
        data_tests:
          - accepted_values:
              arguments: {values: [placed, shipped, "re turned", a_rather_long_value_that_fills_the_name]}
          - bigger: {than: "{{ var('x', 1) + 1 }}", of: "plain"}
          - not_null: {enabled: false}
seeds:
  - {name: codes, columns: [{name: a, tests: [unique]}]}
sources:
  - name: crm
    connection: crm_mysql
    tables:
      - {name: customers, columns: [{name: id, tests: [not_null]}]}
`})
	got := map[string]*Node{}
	for _, n := range p.Nodes {
		if n.ResourceType == TypeTest {
			got[n.Name] = n
		}
	}
	long := "accepted_values_orders_Status_Text___placed__shipped__re_turned__a_rather_long_value_that_fills_the_name"
	for _, name := range []string{"singular", "total_is_big", "unique_orders_id", "not_null_orders_id", "relationships_orders_id__id__ref_people_", "odd_orders_id",
		"bigger_orders__Status_Text___plain___var_x_1_1_", "unique_codes_a", "source_not_null_crm_customers_id"} {
		if got[name] == nil {
			t.Errorf("no test %s", name)
		}
	}
	var longNode *Node
	for name, n := range got {
		if strings.HasPrefix(name, "accepted_values_orders_") {
			longNode = n
		}
	}
	if len(got) != 10 || longNode == nil {
		t.Fatalf("%d tests: %v", len(got), keysOfNodes(got))
	}
	if len(longNode.Alias) > 63 || !strings.HasPrefix(longNode.Alias, "accepted_values_orders_") || longNode.Name == longNode.Alias {
		t.Errorf("long name %s (%s), alias %s", longNode.Name, long, longNode.Alias)
	}
	nn := got["not_null_orders_id"]
	if nn.Test.Severity != "warn" || nn.Test.Where != "id > 5" || nn.Test.Limit != 7 || nn.Test.Column != "id" || nn.Test.Attached != "model.shop.orders" ||
		!cmp.Equal(nn.Tags, []string{"key"}) || !cmp.Equal(nn.DependsOn, []string{"model.shop.orders"}) || !strings.HasPrefix(nn.UniqueID, "test.shop.not_null_orders_id.") {
		t.Errorf("not_null: %+v %+v", nn, nn.Test)
	}
	for name, want := range map[string]string{
		"not_null_orders_id":                              "from (select * from \"pg\".\"analytics\".\"orders\" where id > 5) dbt_subquery",
		"bigger_orders__Status_Text___plain___var_x_1_1_": "select * from \"pg\".\"analytics\".\"orders\" where \"Status Text\" <= 2 and plain ",
		"source_not_null_crm_customers_id":                "from \"crm_mysql\".\"crm\".\"customers\"",
		"relationships_orders_id__id__ref_people_":        "from \"pg\".\"analytics\".\"people\"",
		"singular": "select * from \"pg\".\"analytics\".\"orders\" where id < 0",
	} {
		if sql := Display(compile(t, p, got[name].UniqueID, run).SQL); !strings.Contains(sql, want) {
			t.Errorf("%s: %s\nwants %s", name, sql, want)
		}
	}
	rel := got["relationships_orders_id__id__ref_people_"]
	if !cmp.Equal(rel.DependsOn, []string{"model.shop.orders", "model.shop.people"}) {
		t.Errorf("relationships depends on %v", rel.DependsOn)
	}
	nodes, _, err := p.Select([]string{"people"}, nil, TypeTest)
	if err != nil || len(nodes) != 1 || nodes[0] != rel {
		t.Errorf("tests of people: %v, %v", names(nodes), err)
	}
	nodes, _, _ = p.Select([]string{"source:crm"}, nil, TypeTest)
	if !cmp.Equal(names(nodes), []string{"source_not_null_crm_customers_id"}) {
		t.Errorf("tests of source crm: %v", names(nodes))
	}
	nodes, _, _ = p.Select([]string{"test_type:singular"}, nil, TypeTest)
	if !cmp.Equal(names(nodes), []string{"singular"}) || nodes[0].Test.Severity != "warn" {
		t.Errorf("singular tests: %v", names(nodes))
	}
}

func keysOfNodes(m map[string]*Node) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return sorted(out)
}

func TestSnapshotFiles(t *testing.T) {
	p := load(t, map[string]string{
		"models/a.sql": "select 1",
		"snapshots/s.sql": `{# {% snapshot no %}{% endsnapshot %} #}
{% snapshot first %}
{{ config(target_schema='hist', unique_key='id', strategy='timestamp', updated_at='at') }}
select * from {{ ref('a') }}
{% endsnapshot %}
{%- snapshot second -%}
{{ config(unique_key='id', strategy='check', check_cols=['x']) }}select * from {{ ref('first') }}
{%- endsnapshot -%}`,
		"snapshots/y.yml": "snapshots:\n  - name: third\n    relation: ref('a')\n    description: d\n    config: {unique_key: id, strategy: check, check_cols: all, schema: s}\n",
	})
	first, second, third := p.Nodes["snapshot.shop.first"], p.Nodes["snapshot.shop.second"], p.Nodes["snapshot.shop.third"]
	if first == nil || second == nil || third == nil || len(p.Nodes) != 4 {
		t.Fatalf("nodes %v", p.ids())
	}
	if first.Schema != "hist" || first.Config.Materialized != "snapshot" || first.BodyLine != 2 || !cmp.Equal(first.FQN, []string{"shop", "s", "first"}) {
		t.Errorf("first: %+v", first)
	}
	if second.Schema != "analytics" || !cmp.Equal(second.DependsOn, []string{"snapshot.shop.first"}) || third.Schema != "analytics_s" || !third.Config.CheckAll || third.Description != "d" {
		t.Errorf("second: %+v\nthird: %+v", second, third)
	}
	if sql := Display(compile(t, p, third.UniqueID, run).SQL); sql != `select * from "pg"."analytics"."a"` {
		t.Errorf("third: %s", sql)
	}
}

func TestUnmatchedPatchWarns(t *testing.T) {
	p := load(t, map[string]string{"models/x.yml": "models:\n  - name: nobody\nexposures: [{name: e}]\nmetrics: [{name: m}]\nunheard_of: 1\n"})
	if want := []string{"Did not find matching node for patch with name 'nobody' in the 'models' section of file 'models/x.yml' (line 2)"}; !cmp.Equal(p.Warnings, want) {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestOnlySQLIsModel(t *testing.T) {
	p := load(t, map[string]string{"models/a.sql": "select 1", "models/a.sql.bak": "{{ broken", "models/b.md": "{{ broken", "models/.hidden.sql": "{{ broken", "models/.git/c.sql": "{{ broken"})
	if len(p.Nodes) != 1 {
		t.Errorf("nodes %v", p.ids())
	}
}

func TestConfiguredPaths(t *testing.T) {
	p := load(t, map[string]string{
		"dbt_project.yml": "name: shop\nprofile: shop\nmodel-paths: [sql, more/sql]\nseed-paths: [data]\nmacro-paths: [lib]\ntest-paths: [checks]\nclean-targets: [target, logs]\non-run-start: \"select 1\"\nunknown-key: {a: 1}\n",
		"sql/x/a.sql":     "select {{ one() }}", "more/sql/b.sql": "select 1", "data/c.csv": "a\n", "lib/m.sql": "{% macro one() %}1{% endmacro %}", "checks/t.sql": "select 1", "models/no.sql": "select 1",
	})
	if got, want := p.ids(), []string{"model.shop.a", "model.shop.b", "seed.shop.c", "test.shop.t"}; !cmp.Equal(got, want) {
		t.Errorf("nodes %v", got)
	}
	if !cmp.Equal(p.Nodes["model.shop.a"].FQN, []string{"shop", "x", "a"}) || !cmp.Equal(p.CleanTarget, []string{"target", "logs"}) || !cmp.Equal(p.OnRunStart, []string{"select 1"}) {
		t.Errorf("fqn %v, clean %v, start %v", p.Nodes["model.shop.a"].FQN, p.CleanTarget, p.OnRunStart)
	}
}

// A thousand models must be a matter of a second or two, whatever else the machine
// does; the limit here only catches what grows with the square.
func TestThousandModels(t *testing.T) {
	content := map[string]string{"models/s.yml": sourcesYML, "macros/m.sql": "{% macro cents(c) %}{{ c }} / 100{% endmacro %}"}
	var yml strings.Builder
	yml.WriteString("models:\n")
	for i := range 1000 {
		src := fmt.Sprintf("{{ config(materialized='f_table', tags=['t%d']) }}\nselect id, {{ cents('x') }} from {{ source('crm', 'orders') }}\n", i%7)
		if i > 0 {
			src += fmt.Sprintf("{%% for c in ['a', 'b'] %%} join {{ ref('m%d') }} using ({{ c }}){%% endfor %%}", i/2)
		}
		content[fmt.Sprintf("models/d%d/m%d.sql", i%10, i)] = src + strings.Repeat("-- a line of a model of usual length\n", 60)
		fmt.Fprintf(&yml, "  - name: m%d\n    columns: [{name: id, tests: [unique, not_null]}]\n", i)
	}
	content["models/schema.yml"] = yml.String()
	dir := files(t, content)
	start := time.Now()
	p, err := Load(context.Background(), Options{Dir: dir, Env: env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d nodes in %v", len(p.Nodes), time.Since(start))
	if len(p.Nodes) != 3000 || time.Since(start) > 20*time.Second {
		t.Errorf("%d nodes in %v", len(p.Nodes), time.Since(start))
	}
	start = time.Now()
	nodes, _, err := p.Select([]string{"+m999", "tag:t3"}, nil, TypeModel)
	if err != nil || len(nodes) < 140 {
		t.Errorf("%d selected, %v", len(nodes), err)
	}
	for _, n := range nodes {
		if _, err := p.Compile(context.Background(), n, run); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d compiled in %v", len(nodes), time.Since(start))
}

func TestHugeModelIsRefused(t *testing.T) {
	var e *Error
	_, err := readFile("/dev/zero", "models/m.sql", 1<<20)
	if !errors.As(err, &e) || err.Error() != "models/m.sql: the file is larger than 1 MB" {
		t.Errorf("error %v", err)
	}
}

func TestMisspelledKeyWarns(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": "{{ config(materialized='f_table',\n  uniqe_key='id', owner='x', my_setting=1) }}select 1"})
	if want := []string{"models/m.sql:1:4: model 'm' has an unknown config key 'uniqe_key': did you mean unique_key?"}; !cmp.Equal(p.Warnings, want) {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestReservedColumnIsQuotedInTests(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": "select 1", "models/s.yml": "models: [{name: m, columns: [{name: Order, tests: [not_null]}]}]"})
	nodes, _, _ := p.Select(nil, nil, TypeTest)
	if sql := compile(t, p, nodes[0].UniqueID, run).SQL; !strings.Contains(sql, `select "Order"`) {
		t.Error(sql)
	}
}

func TestModelText(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": "\ufeff/** {materialized: f_table} **/\r\nselect 1\r\n"})
	if sql := compile(t, p, "model.shop.m", run).SQL; sql != "\nselect 1" {
		t.Errorf("%q", sql)
	}
	if got := loadError(t, map[string]string{"models/m.sql": "select 1\n -- \xff"}); got != "models/m.sql:2:1: the line is not UTF-8 text" {
		t.Error(got)
	}
}

func TestUnreadableFilesAreErrors(t *testing.T) {
	dir := files(t, map[string]string{"models/a.sql": "select 1"})
	if err := os.Symlink("/nowhere/at/all.sql", dir+"/models/b.sql"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir+"/models", dir+"/models/again"); err != nil {
		t.Fatal(err)
	}
	_, err := Load(context.Background(), Options{Dir: dir, Env: env()})
	if err == nil || err.Error() != "models/b.sql: reading the file: no such file or directory" {
		t.Errorf("error %v", err)
	}
}

func FuzzFrontMatter(f *testing.F) {
	for _, s := range []string{"/** a: b **/x", "/* {mode: table} */", "-- {a: 1\n-- }", "/***/", "/**/", "--", "/* {", "\n\n-- {materialized: view}\nselect"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		fm, body, line, _ := splitFrontMatter(src, "m.sql")
		if !strings.HasSuffix(src, body) || line != 1+strings.Count(src[:len(src)-len(body)], "\n") {
			t.Fatalf("body %q on line %d of %q", body, line, src)
		}
		if fm == nil && body != src {
			t.Fatalf("%q lost its head", src)
		}
	})
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"select 'a''b' from \"x__dvtcat\".\"s\".\"t\"", "/* /* */", "$a$ $b$ $a$", "e'\\'' \"", "-- x", "\xff\"", "a.b.c", "with x as (select 1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		s := scanner{src: src}
		last := -1
		for tok := s.next(); tok.kind != tokEnd; tok = s.next() {
			if tok.start <= last || s.at <= tok.start || s.at > len(src) {
				t.Fatalf("token at %d after %d, now %d of %d", tok.start, last, s.at, len(src))
			}
			last = tok.start
		}
		if out := withCTEs(src, []cte{{"c", "select 1", ""}}); len(out) <= len(src) {
			t.Fatalf("%q became %q", src, out)
		}
	})
}

func FuzzCriterion(f *testing.F) {
	for _, s := range []string{"+a+", "2+a+3", "@x", "tag:y", "+", "a,b", "99999999999999999999+a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parseCriterion(s)
		if err == nil && (c.value == "" || c.method == "") {
			t.Fatalf("%q: %+v", s, c)
		}
	})
}

func TestDocsBlocks(t *testing.T) {
	p := load(t, map[string]string{
		"models/m.sql":  "select 1",
		"models/x.md":   "# title\n{% docs one %}\nThe *one*.\n{% enddocs %}\n{% docs two %}Two{% enddocs %}",
		"models/s.yml":  "models:\n  - name: m\n    description: \"{{ doc('one') }} and {{ doc('shop', 'two') }}, {{ doc('three') }}\"\n    columns: [{name: a, description: '{{ doc(\"two\") }}'}]\n",
		"packages.yml":  "packages: [{package: a/b, version: 1.0.0}, {local: x}]",
		"models/e.yaml": "",
	})
	n := p.Nodes["model.shop.m"]
	if n.Description != "The *one*. and Two, {{ doc('three') }}" || n.Columns[0].Description != "Two" {
		t.Errorf("%q, %q", n.Description, n.Columns[0].Description)
	}
	if want := []string{"packages.yml lists 2 packages but dbt_packages holds 0: install them with 'dbt deps'"}; !cmp.Equal(p.Warnings, want) {
		t.Errorf("warnings %q", p.Warnings)
	}
}

func TestExpressionTest(t *testing.T) {
	p := load(t, map[string]string{"models/m.sql": "select 1 as a",
		"models/s.yml": "models: [{name: m, tests: [{expression: {expression: a + b > 0}}], columns: [{name: a, tests: [{expression: {expression: '> 0'}}]}]}]"})
	nodes, _, _ := p.Select(nil, nil, TypeTest)
	var got []string
	for _, n := range nodes {
		got = append(got, strings.Join(strings.Fields(Display(compile(t, p, n.UniqueID, run).SQL)), " "))
	}
	if want := []string{`select * from "pg"."analytics"."m" where not (a + b > 0)`, `select * from "pg"."analytics"."m" where not (a > 0)`}; !cmp.Equal(sorted(got), want) {
		t.Errorf("%q", got)
	}
}
