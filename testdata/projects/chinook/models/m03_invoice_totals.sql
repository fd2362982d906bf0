{{ config(target='my', unique_key='InvoiceId') }}
select i.InvoiceId, i.CustomerId, i.InvoiceDate, i.Total, i.BillingState, count(l.InvoiceLineId) as lines,
       sum(l.UnitPrice * l.Quantity) as line_total, sum(l.UnitPrice * l.Quantity) - max(i.Total) as difference
from {{ source('crm', 'Invoice') }} i
left join {{ source('billing', 'InvoiceLine') }} l on l.InvoiceId = i.InvoiceId
where i.InvoiceDate >= timestamp '2021-06-01 00:00:00'
group by all
