{#
    A condition that must hold for every row: SQL over the relation's columns, or what
    follows the column when the test stands at one. As in a CHECK constraint, a
    condition that is NULL does not fail.
#}

{% test expression(model, expression, column_name=none) %}{{ return(adapter.dispatch('test_expression', 'dbt')(model, expression, column_name)) }}{% endtest %}
{% macro default__test_expression(model, expression, column_name=none) -%}
    select *
    from {{ model }}
    where not ({{ (column_name ~ ' ') if column_name }}{{ expression }})
{%- endmacro %}
