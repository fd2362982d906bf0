{# a query with the one column generated_number: 1 to upper_bound #}
{% macro generate_series(upper_bound) %}{{ return(adapter.dispatch('generate_series', 'dbt')(upper_bound)) }}{% endmacro %}
{% macro default__generate_series(upper_bound) %}select i as generated_number from range(1, {{ upper_bound }} + 1) as series(i){% endmacro %}
{% macro postgres__generate_series(upper_bound) %}select i as generated_number from generate_series(1, {{ upper_bound }}) as series(i){% endmacro %}
{% macro clickhouse__generate_series(upper_bound) %}select number + 1 as generated_number from numbers({{ upper_bound }}){% endmacro %}
{% macro mysql__generate_series(upper_bound) %}{{ dbt.dvt_counted('generated_number', 1, upper_bound) }}{% endmacro %}
{% macro sqlite__generate_series(upper_bound) %}{{ dbt.dvt_counted('generated_number', 1, upper_bound) }}{% endmacro %}
{% macro mariadb__generate_series(upper_bound) %}select seq as generated_number from seq_1_to_{{ upper_bound | int }}{% endmacro %}

{# first to last by recursion; MySQL ends it with an error at cte_max_recursion_depth #}
{% macro dvt_counted(name, first, last) -%}
    with recursive series as (
        select {{ first }} as i where {{ first }} <= {{ last }}
        union all
        select i + 1 from series where i < {{ last }}
    )
    select i as {{ name }} from series
{%- endmacro %}

{% macro get_powers_of_two(upper_bound) %}{{ return(adapter.dispatch('get_powers_of_two', 'dbt')(upper_bound)) }}{% endmacro %}
{% macro default__get_powers_of_two(upper_bound) -%}
    {%- if upper_bound <= 0 -%}
        {{ exceptions.raise_compiler_error("upper bound must be positive") }}
    {%- endif -%}
    {%- for i in range(1, 64) if 2 ** i >= upper_bound -%}{{ return(i) }}{%- endfor -%}
{%- endmacro %}

{#
    A query with one row per datepart: start_date, then on as long as boundaries of the
    datepart lie between it and end_date, which itself is left out. The column is
    date_<datepart>. Nothing is asked of the engine while compiling.
#}
{% macro date_spine(datepart, start_date, end_date) %}{{ return(adapter.dispatch('date_spine', 'dbt')(datepart, start_date, end_date)) }}{% endmacro %}

{% macro default__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as timestamp)') }} as date_{{ dbt.dvt_datepart(datepart) }}
    from (select unnest(range(0, {{ dbt.datediff(start_date, end_date, datepart) }})) as i) as spine
    where {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as timestamp)') }} <= {{ end_date }}
{%- endmacro %}

{% macro postgres__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as timestamp)') }} as date_{{ dbt.dvt_datepart(datepart) }}
    from generate_series(0, {{ dbt.datediff(start_date, end_date, datepart) }} - 1) as spine(i)
    where {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as timestamp)') }} <= {{ end_date }}
{%- endmacro %}

{% macro clickhouse__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'i', start_date) }} as date_{{ dbt.dvt_datepart(datepart) }}
    from (select arrayJoin(range(toUInt64(greatest(0, {{ dbt.datediff(start_date, end_date, datepart) }})))) as i) as spine
    where {{ dbt.dateadd(datepart, 'i', start_date) }} <= {{ end_date }}
{%- endmacro %}

{% macro mysql__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as datetime(6))') }} as date_{{ dbt.dvt_datepart(datepart) }}
    from ({{ dbt.dvt_counted('i', 0, dbt.datediff(start_date, end_date, datepart) ~ ' - 1') }}) as spine
    where {{ dbt.dateadd(datepart, 'i', 'cast(' ~ start_date ~ ' as datetime(6))') }} <= {{ end_date }}
{%- endmacro %}

{# MariaDB ends a long recursion without an error; its sequences have no end #}
{% macro mariadb__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'seq', 'cast(' ~ start_date ~ ' as datetime(6))') }} as date_{{ dbt.dvt_datepart(datepart) }}
    from seq_0_to_4000000000
    where seq < {{ dbt.datediff(start_date, end_date, datepart) }}
    and {{ dbt.dateadd(datepart, 'seq', 'cast(' ~ start_date ~ ' as datetime(6))') }} <= {{ end_date }}
{%- endmacro %}

{% macro sqlite__date_spine(datepart, start_date, end_date) -%}
    select {{ dbt.dateadd(datepart, 'i', start_date) }} as date_{{ dbt.dvt_datepart(datepart) }}
    from ({{ dbt.dvt_counted('i', 0, dbt.datediff(start_date, end_date, datepart) ~ ' - 1') }}) as spine
    where {{ dbt.dateadd(datepart, 'i', start_date) }} <= {{ end_date }}
{%- endmacro %}

{# a number, asked of the engine; 0 while parsing #}
{% macro get_intervals_between(start_date, end_date, datepart) %}{{ return(adapter.dispatch('get_intervals_between', 'dbt')(start_date, end_date, datepart)) }}{% endmacro %}
{% macro default__get_intervals_between(start_date, end_date, datepart) -%}
    {%- set answer = run_query('select ' ~ dbt.datediff(start_date, end_date, datepart)) -%}
    {{ return(answer.columns[0].values()[0] if execute and answer else 0) }}
{%- endmacro %}
