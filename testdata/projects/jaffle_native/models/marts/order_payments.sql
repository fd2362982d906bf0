{{ config(materialized='ephemeral') }}
select order_id,
    {% for m in payment_methods() -%}
    sum(case when payment_method = '{{ m }}' then amount else 0 end) as {{ m }}_amount,
    {% endfor -%}
    sum(amount) as total_amount
from {{ ref('stg_payments') }}
group by order_id
