-- Leases up to `most` ordered jobs of one workspace. Without `ahead_ms`, these are the jobs with the earliest due time,
-- if no earlier job is leased. With `ahead_ms`, they are all jobs that become due within that time, in order. Also
-- returns whether the workspace is `busy`: some of its ordered jobs are leased, by this or another claim, or wait
-- behind a job of an unknown kind. Unlike `claim_1`, waits for the lane's lock, so that the result is certain.
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
