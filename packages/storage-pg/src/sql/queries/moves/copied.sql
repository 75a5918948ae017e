-- The progress of the subscription $1: how many tables it still has to copy, and whether it is working.
select count(*) filter (where r.srsubstate <> 'r')::integer as tables_left,
  count(*)::integer as tables,
  exists (select from pg_stat_subscription a where a.subname = $1 and a.pid is not null) as is_running
from pg_subscription s join pg_subscription_rel r on r.srsubid = s.oid
where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database());
