{{ config(target='lake') }}
with spending as (
    select c.CustomerId, c.FirstName || ' ' || c.LastName as customer, c.Country, c.Fax,
           sum(l.UnitPrice * l.Quantity)::decimal(12,2) as spent, max(i.InvoiceDate) as last_invoice
    from {{ source('crm', 'Customer') }} c
    join {{ source('crm', 'Invoice') }} i on i.CustomerId = c.CustomerId
    join {{ source('billing', 'InvoiceLine') }} l on l.InvoiceId = i.InvoiceId
    group by all
)
select *, rank() over (partition by Country order by spent desc, CustomerId) as rank_in_country,
       sum(spent) over (order by spent desc, CustomerId rows unbounded preceding)::decimal(18,2) as running
from spending
qualify rank_in_country <= 3
