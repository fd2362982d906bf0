{#
    The part_number-th piece of a text, counted from 1, or from the end if negative.
    A piece that is not there is ''. part_number is a number, not an expression.
#}
{% macro split_part(string_text, delimiter_text, part_number) %}{{ return(adapter.dispatch('split_part', 'dbt')(string_text, delimiter_text, part_number)) }}{% endmacro %}

{% macro default__split_part(string_text, delimiter_text, part_number) %}split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }}){% endmacro %}

{% macro mysql__split_part(string_text, delimiter_text, part_number) -%}
    {%- set n = part_number | int -%}
    {%- set pieces = "((char_length(" ~ string_text ~ ") - char_length(replace(" ~ string_text ~ ", " ~ delimiter_text ~ ", ''))) div char_length(" ~ delimiter_text ~ ") + 1)" -%}
    case when {{ pieces }} < {{ n | abs }} then ''
        {%- if n > 0 %} else substring_index(substring_index({{ string_text }}, {{ delimiter_text }}, {{ n }}), {{ delimiter_text }}, -1) end
        {%- else %} else substring_index(substring_index({{ string_text }}, {{ delimiter_text }}, {{ n }}), {{ delimiter_text }}, 1) end
        {%- endif -%}
{%- endmacro %}

{% macro clickhouse__split_part(string_text, delimiter_text, part_number) %}splitByString({{ delimiter_text }}, assumeNotNull({{ string_text }}))[{{ part_number }}]{% endmacro %}

{% macro sqlite__split_part(string_text, delimiter_text, part_number) %}{{ exceptions.raise_compiler_error("split_part: SQLite has no such function; make the model a federated one") }}{% endmacro %}
