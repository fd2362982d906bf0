{#
    Type names for casts. The default is DuckDB's, where federated models run.
    Engines get the widest type that keeps the value: a 32-bit float would round.
#}

{% macro type_string() %}{{ return(adapter.dispatch('type_string', 'dbt')()) }}{% endmacro %}
{% macro default__type_string() %}varchar{% endmacro %}
{% macro mysql__type_string() %}char{% endmacro %}
{% macro sqlite__type_string() %}text{% endmacro %}
{% macro clickhouse__type_string() %}Nullable(String){% endmacro %}

{% macro type_timestamp() %}{{ return(adapter.dispatch('type_timestamp', 'dbt')()) }}{% endmacro %}
{% macro default__type_timestamp() %}timestamp{% endmacro %}
{% macro mysql__type_timestamp() %}datetime(6){% endmacro %}
{# a cast to "timestamp" would make '2024-05-01' the number 2024 #}
{% macro sqlite__type_timestamp() %}text{% endmacro %}
{% macro clickhouse__type_timestamp() %}Nullable(DateTime64(6)){% endmacro %}

{% macro type_float() %}{{ return(adapter.dispatch('type_float', 'dbt')()) }}{% endmacro %}
{% macro default__type_float() %}double{% endmacro %}
{% macro postgres__type_float() %}double precision{% endmacro %}
{% macro sqlite__type_float() %}real{% endmacro %}
{% macro clickhouse__type_float() %}Nullable(Float64){% endmacro %}

{% macro type_numeric() %}{{ return(adapter.dispatch('type_numeric', 'dbt')()) }}{% endmacro %}
{% macro default__type_numeric() %}numeric(28,6){% endmacro %}
{% macro mysql__type_numeric() %}decimal(28,6){% endmacro %}
{% macro sqlite__type_numeric() %}numeric{% endmacro %}
{% macro clickhouse__type_numeric() %}Nullable(Decimal(28, 6)){% endmacro %}

{% macro type_bigint() %}{{ return(adapter.dispatch('type_bigint', 'dbt')()) }}{% endmacro %}
{% macro default__type_bigint() %}bigint{% endmacro %}
{% macro mysql__type_bigint() %}signed{% endmacro %}
{% macro sqlite__type_bigint() %}integer{% endmacro %}
{% macro clickhouse__type_bigint() %}Nullable(Int64){% endmacro %}

{% macro type_int() %}{{ return(adapter.dispatch('type_int', 'dbt')()) }}{% endmacro %}
{% macro default__type_int() %}int{% endmacro %}
{% macro mysql__type_int() %}signed{% endmacro %}
{% macro sqlite__type_int() %}integer{% endmacro %}
{% macro clickhouse__type_int() %}Nullable(Int32){% endmacro %}

{% macro type_boolean() %}{{ return(adapter.dispatch('type_boolean', 'dbt')()) }}{% endmacro %}
{% macro default__type_boolean() %}boolean{% endmacro %}
{% macro mysql__type_boolean() %}unsigned{% endmacro %}
{% macro sqlite__type_boolean() %}integer{% endmacro %}
{% macro clickhouse__type_boolean() %}Nullable(Bool){% endmacro %}
