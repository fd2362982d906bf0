select o.order_id, o.customer_id, o.order_date, o.status,
    {% for m in payment_methods() -%}
    p.{{ m }}_amount,
    {% endfor -%}
    p.total_amount as amount
from {{ ref('stg_orders') }} o
left join {{ ref('order_payments') }} p on o.order_id = p.order_id
