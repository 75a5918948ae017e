-- Whether Citus has left a function of a distributed schema on the coordinator.
select exists (
  select from pg_proc p
  where p.pronamespace = 'quotewire'::regnamespace and not exists (
    select from pg_dist_object o
    where o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.colocationid is not null
  )
) as found;
