-- The name of the lane in which a workspace's ordered jobs run one at a time. The planner replaces calls with the
-- value.
create function quotewire.ordered_lane_1() returns text immutable language sql as $$ select 'ordered' $$;

-- Computes `ready_at` and `lease_ends_at` of lanes from their jobs. The caller must hold the locks of the lanes.
create function quotewire.refresh_lanes_1(lanes_workspace text[], lanes_name text[]) returns void
language plpgsql as $$
begin
  update quotewire.lane l
  set ready_at = case when leased.count < l.max_leased then waiting.due_at - w.clock_offset_ms end,
    lease_ends_at = leased.ends_at
  from unnest(lanes_workspace, lanes_name) t (workspace_id, name)
  join quotewire.workspace w on w.workspace_id = t.workspace_id
  cross join lateral (
    select count(*) as count, min(j.leased_until) as ends_at from quotewire.job j
    where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until is not null
  ) leased
  left join lateral (
    select j.due_at from quotewire.job j
    where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until is null
    order by j.due_at, j.number limit 1
  ) waiting on true
  where l.workspace_id = t.workspace_id and l.name = t.name;
end $$;
