-- Adds to counts and returns their totals in the given order. Each count may be named only once. If a count's window
-- has ended by `at`, nothing is stored, and its total is the added amount.
--
-- The commit does not wait for the disk, because counts only enforce limits. A crash may lose the last half second.
create function quotewire.tally_1(
  at bigint, tallies_workspace_id text[], tallies_name text[], tallies_window_start bigint[], tallies_window_ms bigint[],
  tallies_added bigint[]
) returns table (place bigint, total bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  perform set_config('synchronous_commit', 'off', true);
  return query
  with given as (
    select * from unnest(tallies_workspace_id, tallies_name, tallies_window_start, tallies_window_ms, tallies_added)
      with ordinality g (workspace_id, name, window_start, window_ms, added, place)
  ), counted as (
    insert into quotewire.tally as t (workspace_id, name, window_start, window_ms, total)
    select g.workspace_id, g.name, g.window_start, g.window_ms, g.added from given g
    -- The rows are sorted, so that two hosts that add to the same counts never deadlock.
    where g.added <> 0 and g.window_start + g.window_ms > at order by 1, 2, 3, 4
    on conflict (workspace_id, name, window_start, window_ms) do update set total = t.total + excluded.total
    returning t.*
  )
  select g.place, case
    when g.window_start + g.window_ms <= at then g.added
    else coalesce(c.total, t.total, 0)
  end
  from given g
  left join counted c on c.workspace_id = g.workspace_id and c.name = g.name
    and c.window_start = g.window_start and c.window_ms = g.window_ms
  left join quotewire.tally t on g.added = 0 and t.workspace_id = g.workspace_id and t.name = g.name
    and t.window_start = g.window_start and t.window_ms = g.window_ms
  order by g.place;
end $$;
