{{ config(target='lake', format='csv') }}
select p.Name as playlist, c.Country, count(distinct i.InvoiceId) as invoices, sum(l.UnitPrice * l.Quantity)::decimal(18,2) as revenue
from {{ source('lists', 'Playlist') }} p
join {{ source('events', 'PlaylistTrack') }} pt on pt.PlaylistId = p.PlaylistId
join {{ source('catalog', 'Track') }} t on t.TrackId = pt.TrackId
join {{ source('billing', 'InvoiceLine') }} l on l.TrackId = t.TrackId
join {{ source('crm', 'Invoice') }} i on i.InvoiceId = l.InvoiceId
join {{ source('crm', 'Customer') }} c on c.CustomerId = i.CustomerId
where p.PlaylistId in (1, 5, 8, 17) and c.Country <> 'USA'
group by all
