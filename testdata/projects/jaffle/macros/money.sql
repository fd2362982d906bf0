{% macro dollars(column, places=2) -%}
    ({{ column }} / 100)::decimal(16, {{ places }})
{%- endmacro %}
