{% macro current_timestamp() %}{{ return(adapter.dispatch('current_timestamp', 'dbt')()) }}{% endmacro %}
{% macro default__current_timestamp() %}current_timestamp{% endmacro %}
{% macro mysql__current_timestamp() %}current_timestamp(6){% endmacro %}
{% macro clickhouse__current_timestamp() %}now64(6){% endmacro %}

{% macro snapshot_get_time() %}{{ return(adapter.dispatch('snapshot_get_time', 'dbt')()) }}{% endmacro %}
{% macro default__snapshot_get_time() %}{{ dbt.current_timestamp() }}{% endmacro %}

{% macro current_timestamp_backcompat() %}{{ return(adapter.dispatch('current_timestamp_backcompat', 'dbt')()) }}{% endmacro %}
{% macro default__current_timestamp_backcompat() %}cast({{ dbt.current_timestamp() }} as {{ dbt.type_timestamp() }}){% endmacro %}

{% macro current_timestamp_in_utc_backcompat() %}{{ return(adapter.dispatch('current_timestamp_in_utc_backcompat', 'dbt')()) }}{% endmacro %}
{% macro default__current_timestamp_in_utc_backcompat() %}timezone('UTC', current_timestamp){% endmacro %}
{% macro mysql__current_timestamp_in_utc_backcompat() %}utc_timestamp(6){% endmacro %}
{% macro sqlite__current_timestamp_in_utc_backcompat() %}current_timestamp{% endmacro %}
{% macro clickhouse__current_timestamp_in_utc_backcompat() %}now64(6, 'UTC'){% endmacro %}
