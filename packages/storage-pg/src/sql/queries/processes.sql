-- The processes that are connected to this database, each by the name of its connections. Connections of other roles,
-- whose times this role may not see, are left out.
select application_name as name, (extract(epoch from min(backend_start)) * 1000)::bigint as since
from pg_stat_activity
where datname = current_database() and starts_with(application_name, 'quotewire ') and backend_start is not null
group by application_name order by application_name limit 1000;
