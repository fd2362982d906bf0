package project

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dvt-dev/dvt/connectors"
	"github.com/dvt-dev/dvt/jinja/dbt"
)

// contextCases are templates and what they print in model m of project shop, whose
// relation is pg.analytics.m.
var contextCases = map[string]struct{ src, want string }{
	"this":           {"{{ this }} {{ this.schema }} {{ this.identifier }} {{ this.name }} {{ this.database }}", `"pg__dvtcat"."analytics"."m" analytics m m pg`},
	"this parts":     {"{{ this.include(database=false) }} {{ this.quote(identifier=false, schema=false, database=false) }}", `"analytics"."m" pg.analytics.m`},
	"target":         {"{{ target.name }} {{ target.type }} {{ target.schema }} {{ target.host }} {{ target.dbname }} {{ target.threads }} {{ target['user'] }} {{ target.profile_name }}", "pg postgres analytics localhost shop 3 me shop"},
	"target get":     {"{{ target.get('schema') }} {{ target.get('nothing', 'x') }} {{ 'password' in target }}", "analytics x False"},
	"model":          {"{{ model.name }} {{ model.unique_id }} {{ model.fqn | join('.') }} {{ model.config.materialized }} {{ model['tags'] }} {{ model.schema }}", "m model.shop.m shop.m f_table ['t'] analytics"},
	"config":         {"{{ config.get('materialized') }} {{ config.get('no', 'd') }} {{ config.require('tags') }} {{ config.get('update_key') }}", "f_table d ['t'] at"},
	"vars":           {"{{ var('a') }} {{ var('b', 5) }} {{ var('list') }} {{ var.has_var('zz') }} {{ var('cli') }}", "1 5 ['x', 'y'] False from cli"},
	"env":            {"{{ env_var('HOME_X') }} {{ env_var('NONE', 'd') }}", "set d"},
	"execute":        {"{{ execute }} {{ flags.WHICH }} {{ flags.FULL_REFRESH }} {{ invocation_id[:4] }} {{ project_name }} {{ schema }} {{ database }}", "True run False 0000 shop analytics pg"},
	"run start":      {"{{ run_started_at.strftime('%Y-%m-%d %H:%M:%S') }} {{ run_started_at }}", "2026-03-04 05:06:07 2026-03-04 05:06:07.123456+00:00"},
	"datetime":       {"{{ modules.datetime.datetime(2024, 2, 28) + modules.datetime.timedelta(days=2) }} {{ modules.datetime.datetime.now().year }} {{ modules.datetime.date(2024,1,31) }}", "2024-03-01 00:00:00 2026 2024-01-31"},
	"pytz":           {"{{ modules.pytz.timezone('America/New_York').localize(modules.datetime.datetime(2024, 7, 1, 12)) }} {{ run_started_at.astimezone(modules.pytz.utc).isoformat() }}", "2024-07-01 12:00:00-04:00 2026-03-04T05:06:07.123456+00:00"},
	"re":             {"{{ modules.re.sub('(?<!a)b', 'X', 'ab cb') }} {{ modules.re.match('(?P<y>\\d{4})-(\\d\\d)', '2024-05-06').group('y') }} {{ modules.re.findall('\\d+', 'a1b22') }} {{ modules.re.search('q(?!u)', 'quq') is not none }}", "ab cX 2024 ['1', '22'] True"},
	"json":           {`{{ tojson({'b': 1, 'a': [none, true]}) }} {{ fromjson('{"k": [1, 2.5]}')['k'][1] }} {{ fromjson('nope', 'd') }}`, `{"b": 1, "a": [null, true]} 2.5 d`},
	"yaml":           {"{{ fromyaml('a: [1, two]\nb: 2024-01-01').a[1] }}|{{ toyaml({'x': [1, 'two']}) }}", "two|x:\n  - 1\n  - two\n"},
	"set and zip":    {"{{ set([1, 1, 2]) | length }} {{ zip([1, 2], ['a', 'b']) | list }} {{ set(5, 'd') }} {{ local_md5('x') }}", "2 [(1, 'a'), (2, 'b')] d 9dd4e461268c8034f5c8564e155c67a6"},
	"builtins":       {"{{ builtins.ref('other') }} {{ dbt_version }}", `"pg__dvtcat"."analytics"."other" 1.11.0`},
	"api":            {"{{ api.Relation.create(database='pg', schema='s', identifier='t') }} {{ api.Column.translate_type('string') }}", `"pg__dvtcat"."s"."t" TEXT`},
	"adapter":        {"{{ adapter.quote('a\"b') }} {{ adapter.type() }}", `"a""b" duckdb`},
	"return":         {"{{ pick([3, 4]) }} {{ early(5) }}", "4 big"},
	"dispatch":       {"{{ greet() }} {{ adapter.dispatch('greet')() }}", "duck duck"},
	"macro features": {"{{ args(1, 2, 3, z=4) }} {% call wrap('a') %}b{% endcall %}", "1 (2, 3) {'z': 4} a(b)"},
	"override":       {"{{ ref('other') }}", `"pg__dvtcat"."analytics"."other"`},
	"context":        {"{{ context['greet']() }} {{ context.get('nothing') is none }}", "duck True"},
	"print and log":  {"{{ print('x') }}{{ log('y', info=True) }}{% do exceptions.warn('w') %}ok", "ok"},
	"versions":       {"{{ ref('other', v=2) }} {{ ref('shop', 'other') }}", `"pg__dvtcat"."analytics"."other" "pg__dvtcat"."analytics"."other"`},
	"equal":          {"{{ ref('other') == ref('shop', 'other') }} {{ this == ref('other') }} {{ this is mapping }}", "True False True"},
	"first window":   {"{{ incremental_where_cond() }} {{ incremental_value() }} {{ should_full_refresh() }}", "1=1 null False"},
	"first run":      {"{{ is_incremental() }}", "False"},
	"graph":          {"{{ graph.nodes['model.shop.other'].name }} {{ graph.sources.values() | map(attribute='name') | join(',') }}", "other t"},
	"render":         {"{{ render('{{ 1 + 1 }} {{ this.name }}') }}", "2 m"},
	"selected":       {"{{ selected_resources }}", "['model.shop.m']"},
}

func contextProject(t *testing.T, src string) (*Project, error) {
	t.Helper()
	return tryLoad(t, map[string]string{
		"dbt_project.yml":  "name: shop\nprofile: shop\nvars:\n  a: 1\n  list: [x, y]\n  shop: {cli: project}\n",
		"models/m.sql":     "{{ config(materialized='f_table', tags=['t'], update_key='at') }}" + src,
		"models/other.sql": "select 1",
		"models/s.yml":     "sources: [{name: s, connection: pg, tables: [{name: t}]}]",
		"macros/m.sql": `
{% macro pick(l) %}{% do l.append(1) %}{{ return(l[1]) }}{% endmacro %}
{% macro early(n) %}{% if n > 3 %}{{ return('big') }}{% endif %}small{% endmacro %}
{% macro greet() %}{{ return(adapter.dispatch('greet', 'shop')()) }}{% endmacro %}
{% macro default__greet() %}default{% endmacro %}
{% macro duckdb__greet() %}duck{% endmacro %}
{% macro postgres__greet() %}post{% endmacro %}
{% macro args(a) %}{{ a }} {{ varargs }} {{ kwargs }}{% endmacro %}
{% macro for_ever() %}{{ for_ever() }}{% endmacro %}
{% macro wrap(x) %}{{ x }}({{ caller() }}){% endmacro %}
`,
	}, Options{Vars: map[string]any{"cli": "from cli"}, Env: env("HOME_X", "set")})
}

func TestContext(t *testing.T) {
	for name, c := range contextCases {
		t.Run(name, func(t *testing.T) {
			p, err := contextProject(t, c.src)
			if err != nil {
				t.Fatal(err)
			}
			rc := run
			rc.Selected = []string{"model.shop.m"}
			if got := compile(t, p, "model.shop.m", rc).SQL; got != strings.TrimSuffix(c.want, "\n") && got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestIncrementalRender(t *testing.T) {
	p, err := contextProject(t, "{{ incremental_where_cond('o.at') }} {{ incremental_where_cond() }} {{ incremental_value() }} {{ should_full_refresh() }}")
	if err != nil {
		t.Fatal(err)
	}
	got := compile(t, p, "model.shop.m", Render{Execute: true, FullRefresh: true,
		WhereCond:        func(c string) (string, error) { return "[" + c + "]", nil },
		IncrementalValue: func(c string) (string, error) { return "'v'", nil }}).SQL
	if got != "[o.at] [] 'v' True" {
		t.Errorf("got %q", got)
	}
	p, err = contextProject(t, "{% if is_incremental() %}again{% else %}first{% endif %}")
	if err != nil {
		t.Fatal(err)
	}
	if got := compile(t, p, "model.shop.m", Render{Execute: true, IsIncremental: true}).SQL; got != "again" {
		t.Errorf("got %q", got)
	}
}

func TestRunQuery(t *testing.T) {
	p, err := contextProject(t, `{% set r = run_query("select * from " ~ ref('other')) %}{% if execute %}{% for row in r.rows %}{{ row[0] }}={{ row['B'] }} {% endfor %}{{ r.columns[1].values() }} {{ r.column_names }} {{ r.columns['a'].name }} {{ r | length }}{% endif %}
{%- call statement('s', fetch_result=True) %}select 2{% endcall %} {{ load_result('s')['data'][0][1] }} {{ load_result('s') }}`)
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	rc := run
	rc.RunQuery = func(_ context.Context, sql string) (*dbt.Table, error) {
		sent = append(sent, sql)
		return &dbt.Table{Names: []string{"a", "b"}, Rows: [][]dbt.V{{int64(1), "x"}, {int64(2), nil}}}, nil
	}
	got := compile(t, p, "model.shop.m", rc).SQL
	if want := "1=x 2=None ('x', None) ('a', 'b') a 2 x None"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if want := []string{`select * from "pg__dvtcat"."analytics"."other"`, "select 2"}; !cmp.Equal(sent, want) {
		t.Errorf("sent %q", sent)
	}
	uses := p.Relations(p.Nodes["model.shop.m"], sent[0])
	if len(uses) != 1 || uses[0].NodeID != "model.shop.other" || uses[0].Connection != "pg" {
		t.Errorf("relations of the query: %+v", uses)
	}
	// In a native rendering a query is DuckDB SQL all the same.
	sent = nil
	rc.Dialect, rc.Quote = "postgres", func(_, s, n string) string { return s + "." + n }
	if compile(t, p, "model.shop.m", rc); sent[0] != `select * from "pg__dvtcat"."analytics"."other"` {
		t.Errorf("native rendering sent %q", sent[0])
	}
	if _, err := p.Compile(context.Background(), p.Nodes["model.shop.m"], run); err == nil || !strings.Contains(err.Error(), "models/m.sql:1:") || !strings.Contains(err.Error(), "run_query is not possible here") {
		t.Errorf("without a database: %v", err)
	}
	rc.RunQuery = func(context.Context, string) (*dbt.Table, error) { return nil, errors.New("no such table") }
	if _, err := p.Compile(context.Background(), p.Nodes["model.shop.m"], rc); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("a failing query: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	p, err := contextProject(t, `{% for c in adapter.get_columns_in_relation(source('s','t')) %}{{ c.name }}:{{ c.dtype }}:{{ c.quoted }}:{{ c.is_string() }} {% endfor %}{{ adapter.get_relation(database='pg', schema='gone', identifier='x') }} {{ load_relation(ref('other')) }}`)
	if err != nil {
		t.Fatal(err)
	}
	rc := run
	rc.Describe = func(_ context.Context, u RelationUse) ([]*dbt.Column, bool, error) {
		if u.Relation == (connectors.Relation{Schema: "s", Name: "t"}) && u.Connection == "pg" && u.Label == "s.t" {
			return []*dbt.Column{{Name: "a", Type: "VARCHAR(3)"}, {Name: "B", Type: "INTEGER"}}, true, nil
		}
		return nil, u.NodeID == "model.shop.other", nil
	}
	if got, want := compile(t, p, "model.shop.m", rc).SQL, `a:VARCHAR(3):"a":True B:INTEGER:"B":False None "pg__dvtcat"."analytics"."other"`; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if _, err := p.Compile(context.Background(), p.Nodes["model.shop.m"], run); err == nil || !strings.Contains(err.Error(), "are not known here") {
		t.Errorf("without a database: %v", err)
	}
}

func TestNativeRender(t *testing.T) {
	p := load(t, map[string]string{
		"models/v.sql":   "{{ config(materialized='view', post_hook=\"grant select on {{ this }} to x\") }}select * from {{ source('raw', 'events') }} -- {{ this }} {{ adapter.type() }} {{ greet() }} {{ this.database }} {{ this.include(database=false) }}",
		"models/s.yml":   sourcesYML,
		"macros/g.sql":   "{% macro greet() %}{{ return(adapter.dispatch('greet')()) }}{% endmacro %}{% macro default__greet() %}d{% endmacro %}{% macro postgres__greet() %}pg{% endmacro %}",
		"models/far.sql": "{{ config(materialized='f_table') }}select * from {{ source('crm', 'orders') }}",
	})
	quote := func(db, schema, name string) string {
		var out []string
		for _, s := range []string{db, schema, name} {
			if s != "" {
				out = append(out, "["+s+"]")
			}
		}
		return strings.Join(out, ".")
	}
	rc := Render{Execute: true, Dialect: "postgres", Quote: quote}
	v := p.Nodes["model.shop.v"]
	c := compile(t, p, v.UniqueID, rc)
	if want := "select * from [shop].[raw_data].[events] -- [shop].[analytics].[v] postgres pg shop [analytics].[v]"; c.SQL != want {
		t.Errorf("got  %q\nwant %q", c.SQL, want)
	}
	hook, err := p.RenderHook(context.Background(), v, v.Config.PostHook[0], rc)
	if err != nil || hook != "grant select on [shop].[analytics].[v] to x" {
		t.Errorf("hook %q, %v", hook, err)
	}
	_, err = p.RenderHook(context.Background(), v, "insert into x select * from {{ source('crm','orders') }}", rc)
	if err == nil || !strings.Contains(err.Error(), "model 'v' runs SQL on 'pg', which cannot read crm.orders on 'crm_mysql'") {
		t.Errorf("hook on another connection: %v", err)
	}
	// A federated model's own relations in its hooks.
	hook, err = p.RenderHook(context.Background(), p.Nodes["model.shop.far"], "analyze {{ this }}", rc)
	if err != nil || hook != "analyze [shop].[analytics].[far]" {
		t.Errorf("hook %q, %v", hook, err)
	}
}

func TestCompileErrors(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"undefined name":        {"select 1,\n  {{ targt }}", "models/m.sql:2:6: 'targt' is undefined. Did you mean 'target'?"},
		"undefined macro":       {"select\n{{ gret() }}", "models/m.sql:2:4: 'gret' is undefined. Did you mean 'greet'?"},
		"attribute":             {"{{ this.schema.nope.x }}", "models/m.sql:1:"},
		"raise":                 {"{% do exceptions.raise_compiler_error('no way') %}", "no way"},
		"var":                   {"{{ var('nope') }}", "Required var 'nope' not found"},
		"env":                   {"{{ env_var('NOPE', none) }}", "Env var required but not provided: 'NOPE'"},
		"late ref":              {"{% set n = ['ot', 'her'] %}{% if execute and flags.WHICH == 'run' %}{{ ref(n | join) }}{% endif %}", "ref('other') was not found when the project was parsed"},
		"type":                  {"{{ 'a' + 1 }}", `can only concatenate str (not "int") to str`},
		"adapter writes":        {"{% if execute %}{% do adapter.drop_relation(this) %}{% endif %}", "adapter.drop_relation would change a database"},
		"endless":               {"{{ loop_for_ever() }}", "models/m.sql"},
		"statement that writes": {"{% call statement('a') %}delete from x{% endcall %}", "statement() only reads"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := contextProject(t, c.src)
			if err == nil {
				_, err = p.Compile(context.Background(), p.Nodes["model.shop.m"], run)
			}
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v\nwants %q", err, c.want)
			}
		})
	}
}

func TestCancelledCompile(t *testing.T) {
	p, err := contextProject(t, "{% for i in range(10) %}x{% endfor %}")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Compile(ctx, p.Nodes["model.shop.m"], run); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEphemeral(t *testing.T) {
	p := load(t, map[string]string{
		"models/s.yml":  sourcesYML,
		"models/e1.sql": "{{ config(materialized='ephemeral') }}select * from {{ source('crm','orders') }}; ",
		"models/e2.sql": "{{ config(materialized='ephemeral') }}select * from {{ ref('e1') }} -- end",
		"models/m.sql":  "{{ config(materialized='f_table') }}-- top\nwith a as (select 1)\nselect * from {{ ref('e2') }}, {{ ref('e1') }}, a",
		"models/n.sql":  "/* note */ select * from {{ ref('e1') }}",
		"models/r.sql":  "{{ config(materialized='f_table') }}WITH RECURSIVE t as (select 1) select * from t, {{ ref('e1') }}",
	})
	e1 := "__dbt__cte__e1 as (\nselect * from \"crm_mysql\".\"crm\".\"ORDERS\"\n)"
	for id, want := range map[string]string{
		"m": "-- top\nwith " + e1 + ", __dbt__cte__e2 as (\nselect * from __dbt__cte__e1 -- end\n), a as (select 1)\nselect * from __dbt__cte__e2, __dbt__cte__e1, a",
		"n": "/* note */ with " + e1 + "\nselect * from __dbt__cte__e1",
		"r": "WITH RECURSIVE " + e1 + ", t as (select 1) select * from t, __dbt__cte__e1",
	} {
		c := compile(t, p, "model.shop."+id, run)
		if got := Display(c.SQL); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", id, got, want)
		}
		if len(c.Relations) != 1 || c.Relations[0].Label != "crm.orders" || c.Relations[0].Relation.Name != "ORDERS" {
			t.Errorf("%s reads %+v", id, c.Relations)
		}
	}
	n := p.Nodes["model.shop.n"]
	if !n.Promoted || n.Config.Materialized != FTable {
		t.Errorf("a view over an ephemeral model of another connection: %+v", n.Config)
	}
	if got := p.Connections(n); !cmp.Equal(got, []string{"pg", "crm_mysql"}) {
		t.Errorf("connections %v", got)
	}
}

func TestPromotion(t *testing.T) {
	p := load(t, map[string]string{
		"models/s.yml":         sourcesYML,
		"models/my_view.sql":   "select * from {{ source('crm','orders') }}",
		"models/local.sql":     "select * from {{ source('raw','events') }}",
		"models/inc.sql":       "{{ config(materialized='incremental', unique_key='id') }}select * from {{ ref('my_view') }} join {{ source('crm','customers') }} using (id)",
		"models/of_view.sql":   "{{ config(materialized='table') }}select * from {{ ref('my_view') }}",
		"models/elsewhere.sql": "{{ config(materialized='table', target='crm_mysql') }}select * from {{ source('crm','orders') }}",
		"models/far.sql":       "{{ config(materialized='table', target='pg2') }}select * from {{ ref('local') }}",
		"models/federated.sql": "{{ config(materialized='f_table') }}select * from {{ source('crm','orders') }}",
		"models/literal.sql":   "select 1",
	})
	promoted := map[string]string{}
	for _, n := range p.Nodes {
		if n.Promoted {
			promoted[n.Name] = n.PromotedFrom + " " + n.Config.Materialized
		}
	}
	if want := map[string]string{"my_view": "view f_table", "inc": "incremental f_incremental", "far": "table f_table"}; !cmp.Equal(promoted, want) {
		t.Errorf("promoted %v", promoted)
	}
	want := []string{
		"Model 'far' is materialized as 'table' but reads federated sources — running it as 'f_table'. Set materialized='f_table' explicitly to silence this.",
		"Model 'inc' is materialized as 'incremental' but reads federated sources — running it as 'f_incremental'. Set materialized='f_incremental' explicitly to silence this.",
		"Model 'my_view' is materialized as 'view' but reads federated sources — running it as 'f_table'. Set materialized='f_table' explicitly to silence this.",
	}
	if d := cmp.Diff(want, p.Warnings); d != "" {
		t.Errorf("warnings:\n%s", d)
	}
}

func TestRelationsScan(t *testing.T) {
	p, err := contextProject(t, "select 1")
	if err != nil {
		t.Fatal(err)
	}
	sql := `select '"pg__dvtcat"."analytics"."other"', $$ "x__dvtcat"."y"."z" $$ -- "x__dvtcat"."y"."z"
/* "x__dvtcat"."y"."z" /* nested */ "x__dvtcat"."y"."z" */
from "pg__dvtcat" . "s"."t" a, pg__dvtcat.analytics.other b, "pg__dvtcat"."s"."t" c, "odd""one__dvtcat"."a""b"."c" d, "pg__dvtcat"."analytics"."m" e, e'\'"x__dvtcat"."y"."z"'`
	var got []string
	for _, u := range p.Relations(p.Nodes["model.shop.m"], sql) {
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%s|%v", u.Catalog, u.Schema, u.Name, u.Label, u.NodeID, u.IsThis))
	}
	want := []string{"pg|s|t|s.t|source.shop.s.t|false", "pg|analytics|other|other|model.shop.other|false", `odd"one|a"b|c|a"b.c||false`, "pg|analytics|m|this|model.shop.m|true"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Display(`"pg__dvtcat"."s"."t"`); got != `"pg"."s"."t"` {
		t.Error(got)
	}
}

func TestInline(t *testing.T) {
	p, err := contextProject(t, "select 1")
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Inline("select * from {{ ref('m') }}")
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Compile(context.Background(), n, run)
	if err != nil || c.SQL != `select * from "pg__dvtcat"."analytics"."m"` || len(c.Relations) != 1 || c.Relations[0].IsThis {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := p.Inline("select * from {{ ref('mm') }}"); err == nil || !strings.Contains(err.Error(), "ref('mm') not found. Did you mean: m?") {
		t.Errorf("unknown ref: %v", err)
	}
}
