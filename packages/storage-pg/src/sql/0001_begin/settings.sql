-- Sets planner settings on the functions that hosts call. The functions that those call run with the same settings, so
-- they get none of their own: setting them again takes time (docs/decisions/tuning.md). A migration that adds functions
-- for hosts must also end with this statement.
do $$
declare
  f record;
begin
  for f in
    select p.oid::regprocedure as signature from pg_proc p
    where p.pronamespace = 'quotewire'::regnamespace and p.proname in (
      'commit_1', 'claim_1', 'claim_ordered_1', 'release_1', 'erase_records_1', 'erase_children_1', 'erase_events_1',
      'erase_workspace_1', 'tally_1'
    )
  loop
    -- Turns off sequential scans. They look cheap while a table is small, and the plan is kept after the table has
    -- grown.
    execute format('alter function %s set enable_seqscan = off', f.signature);
    -- Turns off hash joins and merge joins, which scan or sort whole inputs. A call names its rows, so each row is
    -- looked up by key.
    execute format('alter function %s set enable_hashjoin = off set enable_mergejoin = off', f.signature);
    -- Makes each connection plan each statement only once, even behind a pooler that drops connection settings.
    execute format('alter function %s set plan_cache_mode = force_generic_plan', f.signature);
  end loop;
end $$;
