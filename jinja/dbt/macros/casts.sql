{% macro cast(field, type) %}{{ return(adapter.dispatch('cast', 'dbt')(field, type)) }}{% endmacro %}
{% macro default__cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}

{# safe_cast gives NULL for what cannot be converted, where the engine can #}
{% macro safe_cast(field, type) %}{{ return(adapter.dispatch('safe_cast', 'dbt')(field, type)) }}{% endmacro %}
{% macro default__safe_cast(field, type) %}try_cast({{ field }} as {{ type }}){% endmacro %}
{% macro postgres__safe_cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{% macro mysql__safe_cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{% macro sqlite__safe_cast(field, type) %}cast({{ field }} as {{ type }}){% endmacro %}
{% macro clickhouse__safe_cast(field, type) %}
    {%- set bare = type | trim -%}
    {%- if bare.startswith('Nullable(') -%}{%- set bare = bare[9:-1] -%}{%- endif -%}
    accurateCastOrNull({{ field }}, {{ dbt.string_literal(dbt.escape_single_quotes(bare)) }})
{%- endmacro %}

{% macro cast_bool_to_text(field) %}{{ return(adapter.dispatch('cast_bool_to_text', 'dbt')(field)) }}{% endmacro %}
{% macro default__cast_bool_to_text(field) %}cast({{ field }} as {{ dbt.type_string() }}){% endmacro %}
{# engines without a boolean type of their own would give 1 and 0 #}
{% macro mysql__cast_bool_to_text(field) %}case when {{ field }} then 'true' when not {{ field }} then 'false' end{% endmacro %}
{% macro sqlite__cast_bool_to_text(field) %}case when {{ field }} then 'true' when not {{ field }} then 'false' end{% endmacro %}
{% macro clickhouse__cast_bool_to_text(field) %}case when {{ field }} then 'true' when not {{ field }} then 'false' end{% endmacro %}

{# equality where two NULLs are equal #}
{% macro equals(expr1, expr2) %}{{ return(adapter.dispatch('equals', 'dbt')(expr1, expr2)) }}{% endmacro %}
{% macro default__equals(expr1, expr2) %}(({{ expr1 }}) is not distinct from ({{ expr2 }})){% endmacro %}
{% macro mysql__equals(expr1, expr2) %}(({{ expr1 }}) <=> ({{ expr2 }})){% endmacro %}
{% macro sqlite__equals(expr1, expr2) %}(({{ expr1 }}) is ({{ expr2 }})){% endmacro %}
{% macro clickhouse__equals(expr1, expr2) %}(case when ({{ expr1 }}) = ({{ expr2 }}) or (({{ expr1 }}) is null and ({{ expr2 }}) is null) then 1 else 0 end = 1){% endmacro %}
