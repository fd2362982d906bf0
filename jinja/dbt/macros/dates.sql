{#
    Date arithmetic. A datepart is one of year, quarter, month, week, day, hour, minute,
    second, millisecond, microsecond, with or without a plural s. A week starts on Monday.
#}

{% macro dvt_datepart(datepart) -%}
    {%- set part = datepart | string | trim | lower -%}
    {%- if part.endswith('s') -%}{%- set part = part[:-1] -%}{%- endif -%}
    {%- if part == 'isoweek' -%}{%- set part = 'week' -%}{%- endif -%}
    {%- if part not in ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond', 'microsecond'] -%}
        {{ exceptions.raise_compiler_error("unknown datepart '" ~ datepart ~ "'") }}
    {%- endif -%}
    {{ return(part) }}
{%- endmacro %}

{# interval is an SQL expression that counts dateparts #}
{% macro dateadd(datepart, interval, from_date_or_timestamp) %}{{ return(adapter.dispatch('dateadd', 'dbt')(datepart, interval, from_date_or_timestamp)) }}{% endmacro %}

{% macro default__dateadd(datepart, interval, from_date_or_timestamp) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- set unit = '3 month' if part == 'quarter' else '1 ' ~ part -%}
    {{ from_date_or_timestamp }} + ((interval '{{ unit }}') * ({{ interval }}))
{%- endmacro %}

{% macro mysql__dateadd(datepart, interval, from_date_or_timestamp) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part == 'millisecond' -%}
    date_add({{ from_date_or_timestamp }}, interval ({{ interval }}) * 1000 microsecond)
    {%- else -%}
    date_add({{ from_date_or_timestamp }}, interval ({{ interval }}) {{ part }})
    {%- endif -%}
{%- endmacro %}

{% macro clickhouse__dateadd(datepart, interval, from_date_or_timestamp) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part == 'quarter' -%}
    addMonths({{ from_date_or_timestamp }}, ({{ interval }}) * 3)
    {%- else -%}
    add{{ part | capitalize }}s({{ from_date_or_timestamp }}, {{ interval }})
    {%- endif -%}
{%- endmacro %}

{#
    SQLite keeps dates as text; a month added to the 31st overflows into the next month
    there, where every other engine gives the month's last day, so months are refused.
#}
{% macro sqlite__dateadd(datepart, interval, from_date_or_timestamp) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part not in ['week', 'day', 'hour', 'minute', 'second'] -%}
        {{ exceptions.raise_compiler_error("dateadd: SQLite cannot add '" ~ datepart ~ "'; make the model a federated one") }}
    {%- endif -%}
    {%- set unit = 'day' if part == 'week' else part -%}
    datetime({{ from_date_or_timestamp }}, (({{ interval }}) * {{ 7 if part == 'week' else 1 }}) || ' {{ unit }}')
{%- endmacro %}

{# counts the boundaries between two points in time: 23:59 to 00:01 is one day #}
{% macro datediff(first_date, second_date, datepart) %}{{ return(adapter.dispatch('datediff', 'dbt')(first_date, second_date, datepart)) }}{% endmacro %}

{# DuckDB's own weeks are seven days from the first date, not calendar weeks #}
{% macro default__datediff(first_date, second_date, datepart) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- set a = "cast(" ~ first_date ~ " as timestamp)" -%}
    {%- set b = "cast(" ~ second_date ~ " as timestamp)" -%}
    {%- if part == 'week' -%}
    date_diff('day', date_trunc('week', {{ a }}), date_trunc('week', {{ b }})) // 7
    {%- else -%}
    date_diff('{{ part }}', {{ a }}, {{ b }})
    {%- endif -%}
{%- endmacro %}

{% macro postgres__datediff(first_date, second_date, datepart) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- set a = "cast(" ~ first_date ~ " as timestamp)" -%}
    {%- set b = "cast(" ~ second_date ~ " as timestamp)" -%}
    {%- if part in ['year', 'quarter', 'month'] -%}
        {%- set per_year = {'year': 1, 'quarter': 4, 'month': 12}[part] -%}
        {%- set within = "" if part == 'year' else " + extract(" ~ part ~ " from " ~ b ~ ") - extract(" ~ part ~ " from " ~ a ~ ")" -%}
        cast((extract(year from {{ b }}) - extract(year from {{ a }})) * {{ per_year }}{{ within }} as bigint)
    {%- elif part == 'day' -%}
        cast(cast({{ b }} as date) - cast({{ a }} as date) as bigint)
    {%- else -%}
        {%- set seconds = {'week': 604800, 'hour': 3600, 'minute': 60, 'second': 1, 'millisecond': '0.001', 'microsecond': '0.000001'}[part] -%}
        cast((extract(epoch from date_trunc('{{ part ~ ('s' if 'second' in part and part != 'second' else '') }}', {{ b }})) - extract(epoch from date_trunc('{{ part ~ ('s' if 'second' in part and part != 'second' else '') }}', {{ a }}))) / {{ seconds }} as bigint)
    {%- endif -%}
{%- endmacro %}

{# timestampdiff counts whole units, so both ends are cut to the unit first #}
{% macro mysql__datediff(first_date, second_date, datepart) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part == 'millisecond' -%}
        {%- set a = "floor(timestampdiff(microsecond, '1000-01-01', " ~ first_date ~ ") / 1000)" -%}
        {%- set b = "floor(timestampdiff(microsecond, '1000-01-01', " ~ second_date ~ ") / 1000)" -%}
        cast({{ b }} - {{ a }} as signed)
    {%- else -%}
        timestampdiff({{ part }}, {{ dbt.date_trunc(part, first_date) }}, {{ dbt.date_trunc(part, second_date) }})
    {%- endif -%}
{%- endmacro %}

{% macro clickhouse__datediff(first_date, second_date, datepart) %}dateDiff('{{ dbt.dvt_datepart(datepart) }}', {{ first_date }}, {{ second_date }}){% endmacro %}

{% macro sqlite__datediff(first_date, second_date, datepart) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- set seconds = {'day': 86400, 'hour': 3600, 'minute': 60, 'second': 1} -%}
    {%- if part in seconds -%}
        {%- set n = seconds[part] -%}
        ((cast(strftime('%s', {{ second_date }}) as integer) + 62167219200) / {{ n }} - (cast(strftime('%s', {{ first_date }}) as integer) + 62167219200) / {{ n }})
    {%- elif part in ['year', 'month'] -%}
        {%- set within = "" if part == 'year' else " + strftime('%m', " ~ second_date ~ ") - strftime('%m', " ~ first_date ~ ")" -%}
        ((strftime('%Y', {{ second_date }}) - strftime('%Y', {{ first_date }})) * {{ 12 if part == 'month' else 1 }}{{ within }})
    {%- else -%}
        {{ exceptions.raise_compiler_error("datediff: SQLite cannot count '" ~ datepart ~ "'; make the model a federated one") }}
    {%- endif -%}
{%- endmacro %}

{% macro date_trunc(datepart, date) %}{{ return(adapter.dispatch('date_trunc', 'dbt')(datepart, date)) }}{% endmacro %}
{% macro default__date_trunc(datepart, date) %}date_trunc('{{ dbt.dvt_datepart(datepart) }}', {{ date }}){% endmacro %}
{% macro postgres__date_trunc(datepart, date) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    date_trunc('{{ part ~ 's' if part in ['millisecond', 'microsecond'] else part }}', {{ date }})
{%- endmacro %}
{% macro clickhouse__date_trunc(datepart, date) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part == 'week' -%} toMonday({{ date }})
    {%- elif part in ['second', 'millisecond', 'microsecond'] -%} dateTrunc('{{ part }}', {{ date }})
    {%- else -%} toStartOf{{ part | capitalize }}({{ date }})
    {%- endif -%}
{%- endmacro %}

{% macro mysql__date_trunc(datepart, date) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part == 'year' -%} cast(date_format({{ date }}, '%Y-01-01') as datetime)
    {%- elif part == 'quarter' -%} (makedate(year({{ date }}), 1) + interval (quarter({{ date }}) - 1) quarter)
    {%- elif part == 'month' -%} cast(date_format({{ date }}, '%Y-%m-01') as datetime)
    {%- elif part == 'week' -%} cast(date_sub(date({{ date }}), interval weekday({{ date }}) day) as datetime)
    {%- elif part == 'day' -%} cast(date({{ date }}) as datetime)
    {%- elif part == 'hour' -%} cast(date_format({{ date }}, '%Y-%m-%d %H:00:00') as datetime)
    {%- elif part == 'minute' -%} cast(date_format({{ date }}, '%Y-%m-%d %H:%i:00') as datetime)
    {%- elif part == 'second' -%} cast(date_format({{ date }}, '%Y-%m-%d %H:%i:%s') as datetime)
    {%- elif part == 'microsecond' -%} cast({{ date }} as datetime(6))
    {%- else -%} cast(concat(left(date_format({{ date }}, '%Y-%m-%d %H:%i:%s.%f'), 23), '000') as datetime(6))
    {%- endif -%}
{%- endmacro %}

{% macro sqlite__date_trunc(datepart, date) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- set formats = {'year': '%Y-01-01', 'month': '%Y-%m-01', 'day': '%Y-%m-%d', 'hour': '%Y-%m-%d %H:00:00', 'minute': '%Y-%m-%d %H:%M:00', 'second': '%Y-%m-%d %H:%M:%S'} -%}
    {%- if part == 'week' -%} date({{ date }}, '-6 days', 'weekday 1')
    {%- elif part in formats -%} strftime('{{ formats[part] }}', {{ date }})
    {%- else -%} {{ exceptions.raise_compiler_error("date_trunc: SQLite cannot cut to '" ~ datepart ~ "'; make the model a federated one") }}
    {%- endif -%}
{%- endmacro %}

{# the last day of the year, quarter, month or week that date lies in #}
{% macro last_day(date, datepart) %}{{ return(adapter.dispatch('last_day', 'dbt')(date, datepart)) }}{% endmacro %}
{% macro default__last_day(date, datepart) -%}
    cast({{ dbt.dateadd('day', '-1', dbt.dateadd(datepart, '1', dbt.date_trunc(datepart, date))) }} as date)
{%- endmacro %}
{% macro clickhouse__last_day(date, datepart) -%}
    toDate({{ dbt.dateadd('day', '-1', dbt.dateadd(datepart, '1', dbt.date_trunc(datepart, date))) }})
{%- endmacro %}
{% macro sqlite__last_day(date, datepart) -%}
    {%- set part = dbt.dvt_datepart(datepart) -%}
    {%- if part not in ['year', 'month'] -%}
        {{ exceptions.raise_compiler_error("last_day: SQLite cannot do '" ~ datepart ~ "'; make the model a federated one") }}
    {%- endif -%}
    date({{ date }}, 'start of {{ part }}', '+1 {{ part }}', '-1 day')
{%- endmacro %}

{# a date from numbers, not from expressions #}
{% macro date(year, month, day) %}{{ return(adapter.dispatch('date', 'dbt')(year, month, day)) }}{% endmacro %}
{% macro default__date(year, month, day) %}cast('{{ "%04d-%02d-%02d" % (year | int, month | int, day | int) }}' as date){% endmacro %}
{% macro sqlite__date(year, month, day) %}date('{{ "%04d-%02d-%02d" % (year | int, month | int, day | int) }}'){% endmacro %}
{# a date outside a type's range would become the nearest one inside #}
{% macro clickhouse__date(year, month, day) -%}
    {%- set y = year | int -%}
    {%- if y < 1900 or y > 2299 -%}
        {{ exceptions.raise_compiler_error("date: ClickHouse has no year " ~ y) }}
    {%- endif -%}
    {{ 'toDate' if 1970 <= y <= 2148 else 'toDate32' }}('{{ "%04d-%02d-%02d" % (y, month | int, day | int) }}')
{%- endmacro %}
