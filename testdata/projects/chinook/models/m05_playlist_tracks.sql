{{ config(target='lite_out') }}
select p.PlaylistId, p.Name as playlist, count(pt.TrackId) as tracks, sum(t.Milliseconds)::bigint as ms, min(t.Name) as first_track
from {{ source('lists', 'Playlist') }} p
left join {{ source('events', 'PlaylistTrack') }} pt on pt.PlaylistId = p.PlaylistId
left join {{ source('catalog', 'Track') }} t on t.TrackId = pt.TrackId
group by p.PlaylistId, p.Name
