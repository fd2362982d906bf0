{{ config(target='lake', format='json') }}
select g.genre, g.revenue, g.lines, g.quantity,
       (select sum(line_total) from {{ ref('m03_invoice_totals') }}) as invoiced,
       g.revenue > (select avg(revenue) from {{ ref('m04_revenue_by_genre') }}) as above_average
from {{ ref('m04_revenue_by_genre') }} g
where g.genre not in (select genre from {{ ref('m02_track_catalog') }} where Composer = 'AC/DC')
