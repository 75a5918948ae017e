-- Distributes the schema: all its tables on one server, and its functions with them. Changes only what is not
-- distributed yet, so it can be repeated safely after every migration.
select citus_schema_distribute('quotewire')
where not exists (select from pg_dist_schema s where s.schemaid = 'quotewire'::regnamespace);

-- Citus can plan most of the functions' statements only with the values of their parameters.
do $$
declare
  f record;
begin
  for f in
    select p.oid::regprocedure as signature from pg_proc p
    where p.pronamespace = 'quotewire'::regnamespace and 'plan_cache_mode=force_generic_plan' = any (p.proconfig)
  loop
    execute format('alter function %s set plan_cache_mode = auto', f.signature);
  end loop;
end $$;

-- Function calls run on the server that has the tables.
select create_distributed_function(p.oid::regprocedure, colocate_with => 'quotewire.workspace') from pg_proc p
where p.pronamespace = 'quotewire'::regnamespace and not exists (
  select from pg_dist_object o
  where o.classid = 'pg_proc'::regclass and o.objid = p.oid and o.colocationid is not null
);
