select Country, count(*) as customers, count(distinct City) as cities, min(LastName) as first_name, max("Company") as company
from {{ source('crm', 'Customer') }}
where SupportRepId >= 3
group by Country
