{#
    Helpers of packages that work with relations. What would change a database goes to
    the adapter, which decides whether that is allowed where the macro runs.
#}

{% macro make_temp_relation(base_relation, suffix='__dbt_tmp') %}{{ return(adapter.dispatch('make_temp_relation', 'dbt')(base_relation, suffix)) }}{% endmacro %}
{% macro default__make_temp_relation(base_relation, suffix) %}{{ return(base_relation.incorporate(path={'identifier': base_relation.identifier ~ suffix})) }}{% endmacro %}

{% macro make_intermediate_relation(base_relation, suffix='__dbt_tmp') %}{{ return(adapter.dispatch('make_intermediate_relation', 'dbt')(base_relation, suffix)) }}{% endmacro %}
{% macro default__make_intermediate_relation(base_relation, suffix) %}{{ return(dbt.make_temp_relation(base_relation, suffix)) }}{% endmacro %}

{# a pair: whether it exists, and the relation #}
{% macro get_or_create_relation(database, schema, identifier, type) %}{{ return(adapter.dispatch('get_or_create_relation', 'dbt')(database, schema, identifier, type)) }}{% endmacro %}
{% macro default__get_or_create_relation(database, schema, identifier, type) -%}
    {%- set found = adapter.get_relation(database=database, schema=schema, identifier=identifier) -%}
    {%- if found -%}{{ return([true, found]) }}{%- endif -%}
    {{ return([false, api.Relation.create(database=database, schema=schema, identifier=identifier, type=type)]) }}
{%- endmacro %}

{% macro create_schema(relation) %}{% do adapter.create_schema(relation) %}{% endmacro %}
{% macro drop_schema(relation) %}{% do adapter.drop_schema(relation) %}{% endmacro %}
{% macro drop_relation(relation) %}{% do adapter.drop_relation(relation) %}{% endmacro %}
{% macro drop_relation_if_exists(relation) %}{% if relation is not none %}{% do adapter.drop_relation(relation) %}{% endif %}{% endmacro %}
{% macro truncate_relation(relation) %}{% do adapter.truncate_relation(relation) %}{% endmacro %}
{% macro rename_relation(from_relation, to_relation) %}{% do adapter.rename_relation(from_relation, to_relation) %}{% endmacro %}
{% macro get_columns_in_relation(relation) %}{{ return(adapter.get_columns_in_relation(relation)) }}{% endmacro %}

{# the same columns and no rows #}
{% macro get_empty_subquery_sql(select_sql, select_sql_header=none) %}{{ return(adapter.dispatch('get_empty_subquery_sql', 'dbt')(select_sql, select_sql_header)) }}{% endmacro %}
{% macro default__get_empty_subquery_sql(select_sql, select_sql_header=none) -%}
    {{ select_sql_header if select_sql_header is not none }}
    select * from (
        {{ select_sql }}
    ) as dbt_empty where 1 = 0
{%- endmacro %}

{% macro get_columns_in_query(select_sql) %}{{ return(adapter.dispatch('get_columns_in_query', 'dbt')(select_sql)) }}{% endmacro %}
{% macro default__get_columns_in_query(select_sql) -%}
    {%- set answer = run_query(dbt.get_empty_subquery_sql(select_sql)) -%}
    {{ return(answer.column_names | list if execute and answer else []) }}
{%- endmacro %}

{% macro get_quoted_csv(column_names) -%}
    {%- set quoted = [] -%}
    {%- for name in column_names -%}{%- do quoted.append(adapter.quote(name)) -%}{%- endfor -%}
    {{ return(quoted | join(', ')) }}
{%- endmacro %}

{# the columns of source that target lacks, by name #}
{% macro diff_columns(source_columns, target_columns) -%}
    {%- set known = target_columns | map(attribute='column') | list -%}
    {%- set missing = [] -%}
    {%- for column in source_columns if column.column not in known -%}{%- do missing.append(column) -%}{%- endfor -%}
    {{ return(missing) }}
{%- endmacro %}
