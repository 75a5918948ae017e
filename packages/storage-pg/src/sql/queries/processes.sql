-- The processes that are connected to this database, by the application name of their connections. Connections of other
-- roles are left out if this role may not see their times.
select application_name as name, (extract(epoch from min(backend_start)) * 1000)::bigint as since
from pg_stat_activity
where datname = current_database() and starts_with(application_name, 'quotewire ') and backend_start is not null
group by application_name order by application_name limit 1000;
