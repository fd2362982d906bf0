{#
    The four generic tests. Each is a query for the rows that fail. The bodies can be
    overridden per engine: default__test_<name>, postgres__test_<name> and so on.
#}

{% test unique(model, column_name) %}{{ return(adapter.dispatch('test_unique', 'dbt')(model, column_name)) }}{% endtest %}
{% macro default__test_unique(model, column_name) -%}
    select {{ column_name }} as unique_field, count(*) as n_records
    from {{ model }}
    where {{ column_name }} is not null
    group by {{ column_name }}
    having count(*) > 1
{%- endmacro %}

{% test not_null(model, column_name) %}{{ return(adapter.dispatch('test_not_null', 'dbt')(model, column_name)) }}{% endtest %}
{% macro default__test_not_null(model, column_name) -%}
    select {{ column_name }}
    from {{ model }}
    where {{ column_name }} is null
{%- endmacro %}

{# NULL is accepted always; quote=false takes the values as SQL #}
{% test accepted_values(model, column_name, values, quote=True) %}{{ return(adapter.dispatch('test_accepted_values', 'dbt')(model, column_name, values, quote)) }}{% endtest %}
{% macro default__test_accepted_values(model, column_name, values, quote=True) -%}
    {%- if values | length == 0 -%}
        {{ exceptions.raise_compiler_error("accepted_values of " ~ column_name ~ ": the list of values is empty") }}
    {%- endif -%}
    select {{ column_name }} as value_field, count(*) as n_records
    from {{ model }}
    where {{ column_name }} is not null and {{ column_name }} not in (
        {%- for value in values %}
        {{ dbt.string_literal(dbt.escape_single_quotes(value | string)) if quote else value }}
        {{- ',' if not loop.last }}
        {%- endfor %}
    )
    group by {{ column_name }}
{%- endmacro %}

{% test relationships(model, column_name, to, field) %}{{ return(adapter.dispatch('test_relationships', 'dbt')(model, column_name, to, field)) }}{% endtest %}
{% macro default__test_relationships(model, column_name, to, field) -%}
    select child.from_field
    from (
        select {{ column_name }} as from_field
        from {{ model }}
        where {{ column_name }} is not null
    ) as child
    left join (
        select {{ field }} as to_field
        from {{ to }}
        where {{ field }} is not null
        group by {{ field }}
    ) as parent on child.from_field = parent.to_field
    where parent.to_field is null
{%- endmacro %}

{# what a test's failing rows come to; fail_calc, warn_if and error_if are its config #}
{% macro get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) %}{{ return(adapter.dispatch('get_test_sql', 'dbt')(main_sql, fail_calc, warn_if, error_if, limit)) }}{% endmacro %}
{% macro default__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) -%}
    select
        {{ fail_calc }} as failures,
        {{ fail_calc }} {{ warn_if }} as should_warn,
        {{ fail_calc }} {{ error_if }} as should_error
    from (
        {{ main_sql }}
        {{ 'limit ' ~ limit if limit is not none }}
    ) as dbt_internal_test
{%- endmacro %}

{# whether a test keeps its failing rows, so that it can select more of them #}
{% macro should_store_failures() %}
    {{ return(flags.STORE_FAILURES if config.get('store_failures') is none else config.get('store_failures')) }}
{% endmacro %}
