with customers as (select * from {{ ref('stg_customers') }}),
orders as (select * from {{ ref('stg_orders') }}),
payments as (select * from {{ ref('stg_payments') }}),
customer_orders as (
    select customer_id, min(order_date) as first_order, max(order_date) as most_recent_order, count(order_id) as number_of_orders
    from orders group by customer_id
),
customer_payments as (
    select orders.customer_id, sum(amount) as total_amount
    from payments left join orders on payments.order_id = orders.order_id
    group by orders.customer_id
)
select c.customer_id, c.first_name, c.last_name, o.first_order, o.most_recent_order, o.number_of_orders, p.total_amount as customer_lifetime_value
from customers c
left join customer_orders o on c.customer_id = o.customer_id
left join customer_payments p on c.customer_id = p.customer_id
