{#
    Where a model is built. Projects override these more than any other macro: a macro
    of the same name, or default__<name>, in the project comes first.
#}

{% macro generate_schema_name(custom_schema_name=none, node=none) %}{{ return(adapter.dispatch('generate_schema_name', 'dbt')(custom_schema_name, node)) }}{% endmacro %}
{% macro default__generate_schema_name(custom_schema_name=none, node=none) -%}
    {{ target.schema if custom_schema_name is none else target.schema ~ '_' ~ (custom_schema_name | trim) }}
{%- endmacro %}

{# the custom name alone in production, one schema for all elsewhere #}
{% macro generate_schema_name_for_env(custom_schema_name, node=none) -%}
    {{ custom_schema_name | trim if target.name == 'prod' and custom_schema_name is not none else target.schema }}
{%- endmacro %}

{% macro generate_database_name(custom_database_name=none, node=none) %}{{ return(adapter.dispatch('generate_database_name', 'dbt')(custom_database_name, node)) }}{% endmacro %}
{% macro default__generate_database_name(custom_database_name=none, node=none) -%}
    {{ target.database if custom_database_name is none else custom_database_name }}
{%- endmacro %}

{% macro generate_alias_name(custom_alias_name=none, node=none) %}{{ return(adapter.dispatch('generate_alias_name', 'dbt')(custom_alias_name, node)) }}{% endmacro %}
{% macro default__generate_alias_name(custom_alias_name=none, node=none) -%}
    {%- if custom_alias_name -%}
        {{ custom_alias_name | trim }}
    {%- elif node.version -%}
        {{ node.name ~ '_v' ~ (node.version | string | replace('.', '_')) }}
    {%- else -%}
        {{ node.name }}
    {%- endif -%}
{%- endmacro %}
