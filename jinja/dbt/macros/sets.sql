{# set operators without duplicates; ClickHouse keeps them unless told #}
{% macro except() %}{{ return(adapter.dispatch('except', 'dbt')()) }}{% endmacro %}
{% macro default__except() %}except{% endmacro %}
{% macro clickhouse__except() %}except distinct{% endmacro %}

{% macro intersect() %}{{ return(adapter.dispatch('intersect', 'dbt')()) }}{% endmacro %}
{% macro default__intersect() %}intersect{% endmacro %}
{% macro clickhouse__intersect() %}intersect distinct{% endmacro %}
