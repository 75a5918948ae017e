-- Claiming leases due jobs: nobody else gets them until the lease ends or they are released. A claim returns only jobs
-- of kinds that the program knows. Others wait for a newer program, and ordered jobs wait behind them.

-- Leases up to `most` due jobs of all workspaces until `at + lease_ms`: urgent ones first, then by due time. Returns a
-- row for each, or one row without a job; every row contains the due time of the next job that this claim did not take.
--
-- Never waits: skips lanes and jobs that another session has locked.
create function quotewire.claim_1(at bigint, lease_ms bigint, most integer, kinds text[])
returns table (
  workspace_id text, number bigint, kind text, due_at bigint, lane text, max_leased integer, urgent boolean,
  payload text, lease integer, expired_leases integer, next_due_at bigint
)
language plpgsql as $$
#variable_conflict use_column
declare
  ends_at constant bigint := at + lease_ms;
  lanes_workspace text[]; lanes_name text[];
  leased record;
  next_at bigint := quotewire.next_due_1(kinds);
begin
  if next_at is null or next_at > at then
    -- Most claims find nothing due and end here.
    next_due_at := next_at;
    return next;
    return;
  end if;
  -- Bounded, so that a claim stays short if many leases have expired. The next claims end the others.
  select array_agg(l.workspace_id), array_agg(l.name) into lanes_workspace, lanes_name from (
    select l.workspace_id, l.name from quotewire.lane l
    where l.lease_ends_at <= at order by l.lease_ends_at limit 1000 for update skip locked
  ) l;
  if lanes_name is not null then
    perform quotewire.end_leases_1(at, lanes_workspace, lanes_name);
  end if;

  -- Each of these lanes has a job to lease, unless it is of an unknown kind.
  with urgent as (
    select l.workspace_id, l.name from quotewire.lane l
    where l.urgent and l.ready_at <= at order by l.ready_at limit most for update skip locked
  ), other as (
    select l.workspace_id, l.name from quotewire.lane l
    where not l.urgent and l.ready_at <= at order by l.ready_at limit most for update skip locked
  )
  select array_agg(l.workspace_id), array_agg(l.name) into lanes_workspace, lanes_name
  from (select * from urgent union all select * from other) l;
  leased := quotewire.lease_jobs_1(at, ends_at, most, kinds, lanes_workspace, lanes_name, true, null);
  next_at := quotewire.next_due_1(
    kinds, ends_at, leased.jobs_workspace, leased.jobs_number, leased.taken_workspace, leased.taken_name
  );
  return query
  select c.*, least(next_at, leased.next_due_at)
  from quotewire.claimed_jobs_1(leased.jobs_workspace, leased.jobs_number) c;
end $$;

-- Leases up to `most` ordered jobs of one workspace, like `claim_1`: those with the earliest due time, if no earlier
-- one is leased; with `ahead_ms`, all that become due within that time, in order. Also returns whether ordered jobs of
-- the workspace are `busy`: leased by this or another claim, or waiting behind a job of an unknown kind. Waits for the
-- lane's lock to be certain.
create function quotewire.claim_ordered_1(
  at bigint, lease_ms bigint, most integer, kinds text[], of_workspace text, ahead_ms bigint
)
returns table (
  workspace_id text, number bigint, kind text, due_at bigint, lane text, max_leased integer, urgent boolean,
  payload text, lease integer, expired_leases integer, next_due_at bigint, busy boolean
)
language plpgsql as $$
#variable_conflict use_column
declare
  has_expired boolean;
  lanes_workspace text[]; lanes_name text[];
  leased record;
  next_at bigint;
  is_busy boolean;
begin
  select l.lease_ends_at <= at into has_expired from quotewire.lane l
  where l.workspace_id = of_workspace and l.name = quotewire.ordered_lane_1() for update;
  if has_expired then
    perform quotewire.end_leases_1(at, array[of_workspace], array[quotewire.ordered_lane_1()]);
  end if;

  select array_agg(l.workspace_id), array_agg(l.name) into lanes_workspace, lanes_name from quotewire.lane l
  where l.workspace_id = of_workspace and l.name = quotewire.ordered_lane_1() and l.ready_at <= at + coalesce(ahead_ms, 0);
  leased := quotewire.lease_jobs_1(at, at + lease_ms, most, kinds, lanes_workspace, lanes_name, false, ahead_ms);
  next_at := (
    select least(l.ready_at, leased.next_due_at, case when leased.jobs_number is null then l.lease_ends_at end)
    from quotewire.lane l where l.workspace_id = of_workspace and l.name = quotewire.ordered_lane_1()
  );
  is_busy := exists (
    select from quotewire.job j
    where j.workspace_id = of_workspace and j.lane = quotewire.ordered_lane_1() and j.leased_until is not null
  ) or leased.jobs_number is null and exists (
    select from quotewire.job j join quotewire.workspace w on w.workspace_id = j.workspace_id
    where j.workspace_id = of_workspace and j.lane = quotewire.ordered_lane_1() and j.leased_until is null
      and j.due_at <= at + w.clock_offset_ms and j.kind <> all (kinds)
  );
  return query
  select c.*, next_at, is_busy from quotewire.claimed_jobs_1(leased.jobs_workspace, leased.jobs_number) c;
end $$;

-- Releases leases early; due times do not change. Lost leases are ignored.
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
