{# some value that is not NULL #}
{% macro any_value(expression) %}{{ return(adapter.dispatch('any_value', 'dbt')(expression)) }}{% endmacro %}
{% macro default__any_value(expression) %}any_value({{ expression }}){% endmacro %}
{# any_value came with version 16, and min knows no booleans #}
{% macro postgres__any_value(expression) %}(array_agg({{ expression }}) filter (where ({{ expression }}) is not null))[1]{% endmacro %}
{# MySQL's any_value may give NULL where there is a value #}
{% macro mysql__any_value(expression) %}min({{ expression }}){% endmacro %}
{% macro sqlite__any_value(expression) %}min({{ expression }}){% endmacro %}
{% macro clickhouse__any_value(expression) %}any({{ expression }}){% endmacro %}

{% macro bool_or(expression) %}{{ return(adapter.dispatch('bool_or', 'dbt')(expression)) }}{% endmacro %}
{% macro default__bool_or(expression) %}bool_or({{ expression }}){% endmacro %}
{% macro mysql__bool_or(expression) %}max({{ expression }}){% endmacro %}
{% macro sqlite__bool_or(expression) %}max({{ expression }}){% endmacro %}
{% macro clickhouse__bool_or(expression) %}max({{ expression }}){% endmacro %}

{#
    Texts of a group in one, NULLs left out. delimiter_text is an SQL literal,
    order_by_clause is "order by ...", limit_num keeps the first values.
#}
{% macro listagg(measure, delimiter_text="','", order_by_clause=none, limit_num=none) %}{{ return(adapter.dispatch('listagg', 'dbt')(measure, delimiter_text, order_by_clause, limit_num)) }}{% endmacro %}

{% macro default__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- set order = ' ' ~ order_by_clause if order_by_clause else '' -%}
    {%- if limit_num -%}
    array_to_string(list_slice(list_filter(list({{ measure }}{{ order }}), lambda x: x is not null), 1, {{ limit_num }}), {{ delimiter_text }})
    {%- else -%}
    string_agg({{ measure }}, {{ delimiter_text }}{{ order }})
    {%- endif -%}
{%- endmacro %}

{% macro postgres__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- set order = ' ' ~ order_by_clause if order_by_clause else '' -%}
    {%- if limit_num -%}
    array_to_string((array_remove(array_agg({{ measure }}{{ order }}), null))[1:{{ limit_num }}], {{ delimiter_text }})
    {%- else -%}
    string_agg({{ measure }}, {{ delimiter_text }}{{ order }})
    {%- endif -%}
{%- endmacro %}

{% macro mysql__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- set all = "group_concat(" ~ measure ~ (' ' ~ order_by_clause if order_by_clause else '') ~ " separator " ~ delimiter_text ~ ")" -%}
    {{ "substring_index(" ~ all ~ ", " ~ delimiter_text ~ ", " ~ limit_num ~ ")" if limit_num else all }}
{%- endmacro %}

{% macro sqlite__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- if limit_num -%}
        {{ exceptions.raise_compiler_error("listagg: SQLite has no limit_num; make the model a federated one") }}
    {%- endif -%}
    group_concat({{ measure }}, {{ delimiter_text }}{{ ' ' ~ order_by_clause if order_by_clause else '' }})
{%- endmacro %}

{% macro clickhouse__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
    {%- if order_by_clause -%}
        {{ exceptions.raise_compiler_error("listagg: ClickHouse aggregates have no order by; make the model a federated one") }}
    {%- endif -%}
    arrayStringConcat(groupArray{{ '(' ~ limit_num ~ ')' if limit_num else '' }}({{ measure }}), {{ delimiter_text }})
{%- endmacro %}
