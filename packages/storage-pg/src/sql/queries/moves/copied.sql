-- The progress of subscription $1: how many tables it still has to copy, whether it is running, and which slots at the
-- old location it needs for tables that it has copied but not caught up with.
select count(*) filter (where r.srsubstate <> 'r')::integer as tables_left,
  count(*)::integer as tables,
  exists (select from pg_stat_subscription a where a.subname = $1 and a.pid is not null) as is_running,
  coalesce(
    array_agg(format('pg_%s_sync_%s_%s', s.oid, r.srrelid, c.system_identifier)) filter (where r.srsubstate = 'f'), '{}'
  ) as needed_slots
from pg_subscription s join pg_subscription_rel r on r.srsubid = s.oid cross join pg_control_system() c
where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database());
