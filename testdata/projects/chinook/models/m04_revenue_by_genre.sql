{{ config(target='ch') }}
select g.Name as genre, count(*) as lines, sum(l.UnitPrice * l.Quantity)::decimal(18,2) as revenue,
       sum(l.Quantity)::bigint as quantity, avg(t.Milliseconds)::bigint as avg_ms
from {{ source('billing', 'InvoiceLine') }} l
join {{ source('catalog', 'Track') }} t on t.TrackId = l.TrackId
join {{ source('catalog', 'Genre') }} g on g.GenreId = t.GenreId
group by g.Name
having count(*) > 1
