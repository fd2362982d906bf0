-- Three engines in one query: SQLite (customers, orders), CSV (countries) and the
-- DuckDB warehouse (stg_payments).
select
    co.continent,
    co.country,
    count(distinct cu.id) as customers,
    count(*) as orders,
    sum(p.paid) as revenue,
    round(sum(p.paid) / count(*), 2)::decimal(12,2) as revenue_per_order
from {{ source('shop', 'orders') }} o
join {{ source('shop', 'customers') }} cu on cu.id = o.customer_id
join {{ source('files', 'countries') }} co on co.code = cu.country
join {{ ref('stg_payments') }} p on p.order_id = o.id
where o.status = 'completed'
  and o.ordered_at >= timestamp '2024-04-01 00:00:00'
group by co.continent, co.country
order by revenue desc
