{{ config(target='duck') }}
select t.TrackId, t.Name as track, al.Title as album, ar.Name as artist, coalesce(g.Name, 'none') as genre, t.Composer,
       t.Milliseconds / 1000.0 as seconds, t.UnitPrice
from {{ source('catalog', 'Track') }} t
left join {{ source('catalog', 'Album') }} al using (AlbumId)
left join {{ source('catalog', 'Artist') }} ar on ar.ArtistId = al.ArtistId
left join {{ source('catalog', 'Genre') }} g on g.GenreId = t.GenreId
where t.Milliseconds > 60000
