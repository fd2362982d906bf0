{# fields is a list of SQL expressions; one NULL makes the whole NULL #}
{% macro concat(fields) %}{{ return(adapter.dispatch('concat', 'dbt')(fields)) }}{% endmacro %}
{% macro default__concat(fields) %}{{ fields | join(' || ') }}{% endmacro %}
{% macro mysql__concat(fields) %}concat({{ fields | join(', ') }}){% endmacro %}

{% macro hash(field) %}{{ return(adapter.dispatch('hash', 'dbt')(field)) }}{% endmacro %}
{% macro default__hash(field) %}md5(cast({{ field }} as {{ dbt.type_string() }})){% endmacro %}
{% macro clickhouse__hash(field) %}lower(hex(MD5(cast({{ field }} as {{ dbt.type_string() }})))){% endmacro %}
{% macro sqlite__hash(field) %}{{ exceptions.raise_compiler_error("hash: SQLite has no md5; make the model a federated one") }}{% endmacro %}

{# in characters, not bytes #}
{% macro length(expression) %}{{ return(adapter.dispatch('length', 'dbt')(expression)) }}{% endmacro %}
{% macro default__length(expression) %}length({{ expression }}){% endmacro %}
{% macro mysql__length(expression) %}char_length({{ expression }}){% endmacro %}
{% macro clickhouse__length(expression) %}lengthUTF8({{ expression }}){% endmacro %}

{# the first character is 1; 0 if it is not there #}
{% macro position(substring_text, string_text) %}{{ return(adapter.dispatch('position', 'dbt')(substring_text, string_text)) }}{% endmacro %}
{% macro default__position(substring_text, string_text) %}position({{ substring_text }} in {{ string_text }}){% endmacro %}
{% macro sqlite__position(substring_text, string_text) %}instr({{ string_text }}, {{ substring_text }}){% endmacro %}
{% macro clickhouse__position(substring_text, string_text) %}positionUTF8({{ string_text }}, {{ substring_text }}){% endmacro %}

{% macro replace(field, old_chars, new_chars) %}{{ return(adapter.dispatch('replace', 'dbt')(field, old_chars, new_chars)) }}{% endmacro %}
{% macro default__replace(field, old_chars, new_chars) %}replace({{ field }}, {{ old_chars }}, {{ new_chars }}){% endmacro %}

{% macro right(string_text, length_expression) %}{{ return(adapter.dispatch('right', 'dbt')(string_text, length_expression)) }}{% endmacro %}
{% macro default__right(string_text, length_expression) %}right({{ string_text }}, {{ length_expression }}){% endmacro %}
{# substr(s, -0) is the whole text #}
{% macro sqlite__right(string_text, length_expression) %}case when ({{ length_expression }}) = 0 then substr({{ string_text }}, 1, 0) else substr({{ string_text }}, -({{ length_expression }})) end{% endmacro %}
{% macro clickhouse__right(string_text, length_expression) %}substringUTF8({{ string_text }}, toUInt64(greatest(lengthUTF8({{ string_text }}) - ({{ length_expression }}), 0) + 1), lengthUTF8({{ string_text }})){% endmacro %}

{# value goes in as it is: see escape_single_quotes #}
{% macro string_literal(value) %}{{ return(adapter.dispatch('string_literal', 'dbt')(value)) }}{% endmacro %}
{% macro default__string_literal(value) %}'{{ value }}'{% endmacro %}

{% macro escape_single_quotes(expression) %}{{ return(adapter.dispatch('escape_single_quotes', 'dbt')(expression)) }}{% endmacro %}
{% macro default__escape_single_quotes(expression) %}{{ expression | replace("'", "''") }}{% endmacro %}
{# a backslash escapes in these engines' literals, so that a value's last one would open the text #}
{% macro mysql__escape_single_quotes(expression) %}{{ expression | replace("\\", "\\\\") | replace("'", "''") }}{% endmacro %}
{% macro clickhouse__escape_single_quotes(expression) %}{{ expression | replace("\\", "\\\\") | replace("'", "''") }}{% endmacro %}
