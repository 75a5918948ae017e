-- Releases leases early. Due times do not change. Lost leases are ignored.
create function quotewire.release_1(leases_workspace_id text[], leases_number bigint[], leases_lease integer[])
returns void
language plpgsql as $$
declare
  lanes_workspace text[]; lanes_name text[];
begin
  perform from quotewire.workspace w where w.workspace_id = any (leases_workspace_id)
  order by w.workspace_id for update;
  select array_agg(t.workspace_id), array_agg(t.name) into lanes_workspace, lanes_name from (
    select l.workspace_id, l.name from quotewire.lane l
    join (
      select distinct j.workspace_id, j.lane from unnest(leases_workspace_id, leases_number) r (workspace_id, number)
      join quotewire.job j on j.workspace_id = r.workspace_id and j.number = r.number
      where j.lane is not null
    ) s on s.workspace_id = l.workspace_id and s.lane = l.name
    order by l.workspace_id, l.name for update of l
  ) t;
  update quotewire.job j
  set held = false, leased_until = null, ready_at = j.due_at - w.clock_offset_ms
  from unnest(leases_workspace_id, leases_number, leases_lease) r (workspace_id, number, lease)
  join quotewire.workspace w on w.workspace_id = r.workspace_id
  where j.workspace_id = r.workspace_id and j.number = r.number and j.lease = r.lease and j.held;
  if lanes_name is not null then
    perform quotewire.refresh_lanes_1(lanes_workspace, lanes_name);
  end if;
end $$;
