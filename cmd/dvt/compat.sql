
{#- Lets stock dbt parse a project whose models dvt runs. -#}

{% macro dvt_federated_model() %}
  {{ exceptions.raise_compiler_error("Model '" ~ model.name ~ "' is a federated model: run it with 'dvt run'") }}
{% endmacro %}

{% materialization f_table, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization fed_table, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization federated_table, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization f_incremental, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization fed_incremental, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization federated_incremental, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization f_snapshot, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization fed_snapshot, default %}{{ dvt_federated_model() }}{% endmaterialization %}
{% materialization federated_snapshot, default %}{{ dvt_federated_model() }}{% endmaterialization %}

{% macro incremental_where_cond(column=none) %}1=1{% endmacro %}

{% macro incremental_value(column=none) %}null{% endmacro %}
