-- Leases up to `most` due jobs from all workspaces until `at + lease_ms`: urgent jobs first, then by due time. Returns
-- a row for each job, or one row without a job. Every row also contains the due time of the next job that this claim
-- did not take.
--
-- Never waits: lanes and jobs that another session has locked are skipped.
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
  -- The query has a limit, so that a claim stays short even if many leases have expired. Later claims end the other
  -- leases.
  select array_agg(l.workspace_id), array_agg(l.name) into lanes_workspace, lanes_name from (
    select l.workspace_id, l.name from quotewire.lane l
    where l.lease_ends_at <= at order by l.lease_ends_at limit 1000 for update skip locked
  ) l;
  if lanes_name is not null then
    perform quotewire.end_leases_1(at, lanes_workspace, lanes_name);
  end if;

  -- Each of these lanes has a job to lease, unless the job is of an unknown kind.
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

-- Returns the earlier of two times: when the next job of any workspace is due, and when the next lease of a lane ends;
-- null if there is neither. Ignores the jobs that were just leased until `ends_at`, and the leases of their lanes.
--
-- Reads only the first entries of four indexes.
create function quotewire.next_due_1(
  kinds text[], ends_at bigint default null, jobs_workspace text[] default null, jobs_number bigint[] default null,
  lanes_workspace text[] default null, lanes_name text[] default null
) returns bigint
language plpgsql as $$
begin
  return least(
    (
      select j.ready_at from quotewire.job j
      where j.lane is null and j.kind = any (kinds) and (
        jobs_number is null or j.ready_at < ends_at
        or (j.workspace_id, j.number) not in (
          select t.workspace_id, t.number from unnest(jobs_workspace, jobs_number) t (workspace_id, number)
        )
      )
      order by j.ready_at limit 1
    ),
    (select min(l.ready_at) from quotewire.lane l where l.urgent and l.ready_at is not null),
    (select min(l.ready_at) from quotewire.lane l where not l.urgent and l.ready_at is not null),
    (
      select l.lease_ends_at from quotewire.lane l
      where l.lease_ends_at is not null and (
        lanes_name is null
        or (l.workspace_id, l.name) not in (
          select t.workspace_id, t.name from unnest(lanes_workspace, lanes_name) t (workspace_id, name)
        )
      )
      order by l.lease_ends_at limit 1
    )
  );
end $$;
