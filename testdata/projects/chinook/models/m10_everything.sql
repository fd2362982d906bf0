{{ config(target='pg') }}
select r.customer, r.Country, r.spent, r.rank_in_country, c.customers as customers_there, p.playlist, p.revenue, pl.tracks, m.total as best_month
from {{ ref('m06_customer_ranks') }} r
left join {{ ref('m01_customers_by_country') }} c on c.Country = r.Country
left join {{ ref('m08_playlist_revenue') }} p on p.Country = r.Country and p.revenue > 10
left join {{ ref('m05_playlist_tracks') }} pl on pl.playlist = p.playlist
left join {{ ref('m07_monthly') }} m on m.total = m.best
where exists (select 1 from {{ ref('m09_genre_share') }} g where g.revenue > 100)
