package dbt

import (
	"database/sql"
	"strings"
	"testing"
)

// Macros whose answer is text or a Python value, not SQL.
func TestMacroTexts(t *testing.T) {
	duck := engines[0]
	for _, c := range []struct {
		name, src, want string
		project         []string
	}{
		{"schema", "{{ generate_schema_name(none, none) }}|{{ generate_schema_name(' raw ', none) }}", "analytics|analytics_raw", nil},
		{"schema of the project", "{{ generate_schema_name('raw', none) }}", "RAW",
			[]string{"{% macro generate_schema_name(custom_schema_name, node) %}{{ custom_schema_name | upper }}{% endmacro %}"}},
		{"schema by dispatch", "{{ generate_schema_name('raw', none) }}", "<raw>",
			[]string{"{% macro default__generate_schema_name(custom_schema_name, node) %}<{{ custom_schema_name }}>{% endmacro %}"}},
		{"schema for env", "{{ generate_schema_name_for_env('raw') }}", "analytics", nil},
		{"database", "{{ generate_database_name() }}|{{ generate_database_name('other') }}", "db|other", nil},
		{"alias", "{{ generate_alias_name(' a ', {'name': 'n'}) }}|{{ generate_alias_name(none, {'name': 'n'}) }}|{{ generate_alias_name(none, {'name': 'n', 'version': 1.5}) }}", "a|n|n_v1_5", nil},
		{"a project's variant for the engine wins", "{{ dbt.type_string() }}|{{ dbt.concat(['a']) }}", "txt|a",
			[]string{"{% macro duckdb__type_string() %}txt{% endmacro %}"}},
		{"a project's default wins over dvt's", "{{ dbt.length('x') }}", "len(x)",
			[]string{"{% macro default__length(expression) %}len({{ expression }}){% endmacro %}"}},
		{"dates_in_range", "{{ dbt.dates_in_range('20240228', '20240301', out_fmt='%m/%d') }}", "['02/28', '02/29', '03/01']", nil},
		{"dates_in_range of one", "{{ dbt.dates_in_range('20240228') }}", "['20240228']", nil},
		{"partition_range", "{{ dbt.partition_range('20231231, 20240101') }}", "['20231231', '20240101']", nil},
		{"quoted csv", "{{ dbt.get_quoted_csv(['a', 'b']) }}", `"a", "b"`, nil},
		{"intervals while parsing", "{{ dbt.get_powers_of_two(2) }}", "1", nil},
		{"temp relation", "{{ dbt.make_temp_relation(api.Relation.create(schema='s', identifier='t')) }}", `"t__dbt_tmp"`, nil},
		{"empty query", "{{ dbt.get_empty_subquery_sql('select 1 as a') | replace('\n', ' ') }}", "select * from (         select 1 as a     ) as dbt_empty where 1 = 0", nil},
	} {
		got, err := duck.render(t, c.src, c.project...)
		if err != nil || strings.TrimSpace(got) != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	for _, src := range []string{
		"{{ dbt.dates_in_range('20240301', '20240228') }}", "{{ dbt.partition_range('1,2,3') }}", "{{ dbt.dateadd('eon', 1, 'x') }}",
		"{{ dbt.create_schema('x') }}", "{{ dbt.drop_relation('x') }}", "{{ dbt.test_accepted_values('m', 'c', []) }}", "{{ dbt.type_strng() }}",
	} {
		if got, err := duck.render(t, src); err == nil {
			t.Errorf("%s: no error, but %q", src, got)
		}
	}
}

// The generic tests find just the rows that fail.
func TestGenericTests(t *testing.T) {
	const data = "(select 1 as id, 'a' as v union all select 2, 'it''s' union all select 2, null union all select null, 'b\\') as m"
	const parents = "(select 1 as id union all select null) as p"
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			db, err := sql.Open(e.driver, e.dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			rows := data
			if e.dialects[len(e.dialects)-1] == "mysql" || e.name == "clickhouse" {
				rows = strings.ReplaceAll(rows, `\`, `\\`)
			}
			for _, c := range []struct{ name, src, want string }{
				{"not_null", "{{ dbt.test_not_null(m, 'id') }}", "NULL"},
				{"unique", "{{ dbt.test_unique(m, 'id') }}", "2|2"},
				{"accepted_values", `{{ dbt.test_accepted_values(m, 'v', ["it's", "b\\"]) }}`, "a|1"},
				{"accepted_values holds", `{{ dbt.test_accepted_values(m, 'v', ['a', "it's", "b\\"]) }}`, ""},
				{"accepted_values of numbers", "{{ dbt.test_accepted_values(m, 'id', [1, 3], quote=false) }}", "2|2"},
				{"relationships", "{{ dbt.test_relationships(m, 'id', p, 'id') }}", "2; 2"},
				{"test sql", "{{ dbt.get_test_sql(dbt.test_unique(m, 'id'), 'count(*)', '!= 0', '> 9', none) }}", "1|1|0"},
			} {
				q, err := e.render(t, "{% set m = \""+strings.ReplaceAll(rows, `\`, `\\`)+"\" %}{% set p = \""+parents+"\" %}"+c.src)
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				if got, err := query(t, db, q); err != nil || got != c.want {
					t.Errorf("%s: %s: got %q, %v, want %q", c.name, q, got, err, c.want)
				}
			}
		})
	}
}
