-- One row per order: what was paid for it. From a CSV file into the warehouse.
select order_id, sum(amount) as paid, count(*) as payments
from {{ source('files', 'payments') }}
group by order_id
