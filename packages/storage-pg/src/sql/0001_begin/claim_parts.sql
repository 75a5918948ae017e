-- The functions that `claim_1` and `claim_ordered_1` share. A claim leases due jobs: nobody else gets them until the
-- lease ends or is released. It takes only jobs whose kind is one of `kinds`, which the calling program knows. Other
-- jobs wait for a newer program, and ordered jobs wait behind them.
--
-- Nothing else calls these functions, so they are planned and run with the settings of those two.

-- Ends the expired leases in these lanes, so that their jobs wait again. The previous holder of such a job can still
-- finish it until the job is claimed again. The caller must hold the locks of the lanes.
create function quotewire.end_leases_1(at bigint, lanes_workspace text[], lanes_name text[]) returns void
language plpgsql as $$
begin
  update quotewire.job j set leased_until = null
  from unnest(lanes_workspace, lanes_name) t (workspace_id, name)
  where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until <= at;
  perform quotewire.refresh_lanes_1(lanes_workspace, lanes_name);
end $$;

-- Leases up to `most` jobs that are due at `at`: from the given lanes, whose locks the caller must hold, and if
-- requested also jobs without a lane. Returns the jobs, urgent jobs first, then by due time, and the lanes that they
-- came from. `next_due_at` is the earlier of two times: when the lease of another job in these lanes ends and, if one
-- of the lanes is now full, when its next job can be claimed.
--
-- A lane leases no more jobs than its limit allows. The ordered lane leases only the jobs with its earliest due time
-- or, with `ahead_ms`, all that become due within that time. It leases no job behind a job of an unknown kind.
create function quotewire.lease_jobs_1(
  at bigint, ends_at bigint, most integer, kinds text[], lanes_workspace text[], lanes_name text[],
  with_jobs_without_lane boolean, ahead_ms bigint, out jobs_workspace text[], out jobs_number bigint[],
  out taken_workspace text[], out taken_name text[], out next_due_at bigint
) language plpgsql as $$
begin
  with of_lanes as (
    select l.workspace_id, j.number, l.name, l.urgent, j.due_at - w.clock_offset_ms as ready_at
    from unnest(lanes_workspace, lanes_name) t (workspace_id, name)
    join quotewire.lane l on l.workspace_id = t.workspace_id and l.name = t.name
    join quotewire.workspace w on w.workspace_id = t.workspace_id
    cross join lateral (
      select count(*)::integer as count from quotewire.job j
      where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is not null
    ) leased
    cross join lateral (
      select
        case when l.name = quotewire.ordered_lane_1() then most else least(most, l.max_leased - leased.count) end as count,
        case when l.name = quotewire.ordered_lane_1() then coalesce(at + ahead_ms, l.ready_at) else at end as due_by
    ) allowed
    cross join lateral (
      select waiting.*, bool_and(waiting.kind = any (kinds)) over (order by waiting.due_at, waiting.number) as all_known
      from (
        select j.number, j.due_at, j.kind from quotewire.job j
        where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
          and (l.name = quotewire.ordered_lane_1() or j.kind = any (kinds))
          and j.due_at <= allowed.due_by + w.clock_offset_ms
        order by j.due_at, j.number limit allowed.count
      ) waiting
    ) j
    where j.all_known
  ), without_lane as (
    select j.workspace_id, j.number, null::text, false, j.ready_at from quotewire.job j
    where with_jobs_without_lane and j.lane is null and j.ready_at <= at and j.kind = any (kinds)
    order by j.ready_at, j.number limit most for update skip locked
  ), chosen as (
    select * from (select * from of_lanes union all select * from without_lane) c
    order by c.urgent desc, c.ready_at, c.number limit most
  ), taken as (
    select distinct c.workspace_id, c.name from chosen c where c.name is not null
  ), updated as (
    update quotewire.job j set lease = j.lease + 1, expired_leases = j.expired_leases + j.held::integer, held = true,
      leased_until = ends_at, ready_at = case when j.lane is null then ends_at else j.ready_at end
    from chosen c where j.workspace_id = c.workspace_id and j.number = c.number
  )
  select array_agg(c.workspace_id), array_agg(c.number),
    (select array_agg(t.workspace_id) from taken t), (select array_agg(t.name) from taken t)
  into jobs_workspace, jobs_number, taken_workspace, taken_name
  from (select * from chosen c order by c.urgent desc, c.ready_at, c.number) c;
  if taken_name is null then
    return;
  end if;

  perform quotewire.refresh_lanes_1(taken_workspace, taken_name);
  next_due_at := (
    select min(least(
      others.lease_ends_at,
      -- In a full lane, the next job also waits for the first lease to end.
      case when l.ready_at is null and waiting.due_at is not null
        then greatest(waiting.due_at - w.clock_offset_ms, l.lease_ends_at) end
    ))
    from unnest(taken_workspace, taken_name) t (workspace_id, name)
    join quotewire.lane l on l.workspace_id = t.workspace_id and l.name = t.name
    join quotewire.workspace w on w.workspace_id = t.workspace_id
    cross join lateral (
      select min(j.leased_until) as lease_ends_at from quotewire.job j
      where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is not null
        and (j.workspace_id, j.number) not in (
          select own.workspace_id, own.number from unnest(jobs_workspace, jobs_number) own (workspace_id, number)
        )
    ) others
    left join lateral (
      select j.due_at from quotewire.job j
      where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
      order by j.due_at, j.number limit 1
    ) waiting on true
  );
end $$;

-- Returns the stored jobs of a claim in order, or one row of nulls if there are none.
create function quotewire.claimed_jobs_1(jobs_workspace text[], jobs_number bigint[])
returns table (
  workspace_id text, number bigint, kind text, due_at bigint, lane text, max_leased integer, urgent boolean,
  payload text, lease integer, expired_leases integer
)
language plpgsql as $$
#variable_conflict use_column
begin
  if jobs_number is null then
    return next;
    return;
  end if;
  return query
  select j.workspace_id, j.number, j.kind, j.due_at, j.lane, l.max_leased, l.urgent, j.payload, j.lease, j.expired_leases
  from unnest(jobs_workspace, jobs_number) with ordinality t (workspace_id, number, place)
  join quotewire.job j on j.workspace_id = t.workspace_id and j.number = t.number
  left join quotewire.lane l on l.workspace_id = j.workspace_id and l.name = j.lane
  order by t.place;
end $$;
