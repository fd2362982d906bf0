{% macro cents_to_dollars(column, scale=2) %}{{ return(adapter.dispatch('cents_to_dollars', 'money_utils')(column, scale)) }}{% endmacro %}

{% macro default__cents_to_dollars(column, scale) -%}
    cast({{ column }} / 100.0 as decimal(16, {{ scale }}))
{%- endmacro %}

{% macro postgres__cents_to_dollars(column, scale) -%}
    ({{ column }}::numeric / 100)::numeric(16, {{ scale }})
{%- endmacro %}

{% test at_least(model, column_name, least=0) %}
select {{ column_name }} from {{ model }} where {{ column_name }} < {{ least }}
{% endtest %}
