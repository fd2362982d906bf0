with months as (
    select date_trunc('month', InvoiceDate)::date as month, CustomerId, Total from {{ source('crm', 'Invoice') }}
),
totals as (
    select month, count(*) as invoices, count(distinct CustomerId) as customers, sum(Total) as total from months group by month
)
select a.month, a.invoices, a.customers, a.total, b.total as previous, a.total - b.total as change,
       (select max(total) from totals) as best
from totals a left join totals b on b.month = a.month - interval 1 month
