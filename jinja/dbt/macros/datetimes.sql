{# Dates as Python sees them, while the template is rendered. #}

{% macro convert_datetime(date_str, date_fmt) %}{{ return(modules.datetime.datetime.strptime(date_str, date_fmt)) }}{% endmacro %}

{# both ends included; one date alone gives itself #}
{% macro dates_in_range(start_date_str, end_date_str=none, in_fmt='%Y%m%d', out_fmt='%Y%m%d') -%}
    {%- set first = dbt.convert_datetime(start_date_str, in_fmt) -%}
    {%- set last = dbt.convert_datetime(end_date_str if end_date_str is not none else start_date_str, in_fmt) -%}
    {%- set days = (last - first).days -%}
    {%- if days < 0 -%}
        {{ exceptions.raise_compiler_error("dates_in_range: " ~ end_date_str ~ " is before " ~ start_date_str) }}
    {%- endif -%}
    {%- set dates = [] -%}
    {%- for i in range(days + 1) -%}
        {%- do dates.append((first + modules.datetime.timedelta(days=i)).strftime(out_fmt)) -%}
    {%- endfor -%}
    {{ return(dates) }}
{%- endmacro %}

{# "20240101" or "20240101,20240131" #}
{% macro partition_range(raw_partition_date, date_fmt='%Y%m%d') -%}
    {%- set ends = (raw_partition_date | string).split(',') -%}
    {%- if ends | length > 2 -%}
        {{ exceptions.raise_compiler_error("partition_range: one date or two with a comma, not " ~ raw_partition_date) }}
    {%- endif -%}
    {{ return(dbt.dates_in_range(ends[0] | trim, ends[1] | trim if ends | length == 2 else none, in_fmt=date_fmt)) }}
{%- endmacro %}

{% macro py_current_timestring() %}{{ return(modules.datetime.datetime.now().strftime('%Y%m%d%H%M%S%f')) }}{% endmacro %}
