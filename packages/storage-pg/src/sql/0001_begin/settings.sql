-- Planner settings of functions. The functions that hosts call get these settings; those that only other functions call
-- run with the settings of their callers, because setting them again costs a tenth of a call. A migration that adds
-- functions must also end with this.
do $$
declare
  f record;
begin
  for f in
    select p.oid::regprocedure as signature from pg_proc p
    where p.pronamespace = 'quotewire'::regnamespace and not exists (
      select from pg_proc caller
      where caller.pronamespace = p.pronamespace and position('quotewire.' || p.proname || '(' in caller.prosrc) > 0
    )
  loop
    -- No sequential scans: they look cheap while a table is small, and the plan stays after the table has grown.
    execute format('alter function %s set enable_seqscan = off', f.signature);
    -- No joins that first read all of one side: a call names its rows, so each is looked up by key.
    execute format('alter function %s set enable_hashjoin = off set enable_mergejoin = off', f.signature);
    -- Each connection plans once, even behind a pooler that drops the settings of connections.
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f.signature);
  end loop;
end $$;
