select p.payment_id from {{ ref('stg_payments') }} p
left join {{ ref('orders') }} o on o.order_id = p.order_id
where o.order_id is null
