{# data_type is the type of the items; it matters for an empty array only #}
{% macro array_construct(inputs=[], data_type=none) %}{{ return(adapter.dispatch('array_construct', 'dbt')(inputs, data_type if data_type is not none else dbt.type_int())) }}{% endmacro %}
{% macro default__array_construct(inputs, data_type) -%}
    {%- if inputs | length > 0 -%} [{{ inputs | join(', ') }}] {%- else -%} cast([] as {{ data_type }}[]) {%- endif -%}
{%- endmacro %}
{% macro postgres__array_construct(inputs, data_type) -%}
    {%- if inputs | length > 0 -%} array[{{ inputs | join(', ') }}] {%- else -%} cast(array[] as {{ data_type }}[]) {%- endif -%}
{%- endmacro %}
{% macro clickhouse__array_construct(inputs, data_type) -%}
    {%- if inputs | length > 0 -%} [{{ inputs | join(', ') }}] {%- else -%} cast([] as Array({{ data_type }})) {%- endif -%}
{%- endmacro %}
{% macro mysql__array_construct(inputs, data_type) %}{{ dbt.dvt_no_arrays('MySQL') }}{% endmacro %}
{% macro sqlite__array_construct(inputs, data_type) %}{{ dbt.dvt_no_arrays('SQLite') }}{% endmacro %}

{% macro array_append(array, new_element) %}{{ return(adapter.dispatch('array_append', 'dbt')(array, new_element)) }}{% endmacro %}
{% macro default__array_append(array, new_element) %}array_append({{ array }}, {{ new_element }}){% endmacro %}
{% macro clickhouse__array_append(array, new_element) %}arrayPushBack({{ array }}, {{ new_element }}){% endmacro %}
{% macro mysql__array_append(array, new_element) %}{{ dbt.dvt_no_arrays('MySQL') }}{% endmacro %}
{% macro sqlite__array_append(array, new_element) %}{{ dbt.dvt_no_arrays('SQLite') }}{% endmacro %}

{% macro array_concat(array_1, array_2) %}{{ return(adapter.dispatch('array_concat', 'dbt')(array_1, array_2)) }}{% endmacro %}
{% macro default__array_concat(array_1, array_2) %}array_cat({{ array_1 }}, {{ array_2 }}){% endmacro %}
{% macro clickhouse__array_concat(array_1, array_2) %}arrayConcat({{ array_1 }}, {{ array_2 }}){% endmacro %}
{% macro mysql__array_concat(array_1, array_2) %}{{ dbt.dvt_no_arrays('MySQL') }}{% endmacro %}
{% macro sqlite__array_concat(array_1, array_2) %}{{ dbt.dvt_no_arrays('SQLite') }}{% endmacro %}

{% macro dvt_no_arrays(engine) %}{{ exceptions.raise_compiler_error(engine ~ " has no arrays; make the model a federated one") }}{% endmacro %}
