-- The steps of `commit_1`, in the order in which it calls them; `commit.sql` lists them. Nothing else calls them, so
-- they are planned and run with its settings. Their array parameters are those of `commit_1`. `refused` contains the
-- positions of the changes that were refused so far.

-- Locks workspaces in the given order and adds the new events and jobs to their counters. Returns for each workspace
-- the numbers of its last event and last job before the new ones, and how far its clock is ahead of real time.
create function quotewire.lock_workspaces_1(
  workspaces_id text[], workspaces_events integer[], workspaces_jobs integer[],
  out last_events bigint[], out last_jobs bigint[], out offsets_ms bigint[]
) language plpgsql as $$
declare
  last_event bigint;
  last_job bigint;
  offset_ms bigint;
begin
  for i in 1 .. cardinality(workspaces_id) loop
    loop
      update quotewire.workspace w
      set last_event = w.last_event + workspaces_events[i], last_job = w.last_job + workspaces_jobs[i]
      where w.workspace_id = workspaces_id[i]
      returning w.last_event - workspaces_events[i], w.last_job - workspaces_jobs[i], w.clock_offset_ms
      into last_event, last_job, offset_ms;
      exit when found;
      insert into quotewire.workspace (workspace_id) values (workspaces_id[i]) on conflict do nothing;
    end loop;
    last_events[i] := last_event;
    last_jobs[i] := last_job;
    offsets_ms[i] := offset_ms;
  end loop;
end $$;

-- Creates the lanes of new jobs. Locks the lanes of new and finished jobs, and all lanes of workspaces whose clocks
-- move. Returns the lanes that must be refreshed later; null if there are none.
create function quotewire.lock_lanes_1(
  workspaces_id text[], offsets_ms bigint[], jobs_workspace integer[], jobs_due_at bigint[], jobs_lane text[],
  jobs_max_leased integer[], jobs_urgent boolean[], finishes_workspace integer[], finishes_number bigint[],
  clocks_workspace integer[], out lanes_workspace text[], out lanes_name text[]
) language plpgsql as $$
declare
  refresh_all constant boolean := finishes_workspace <> '{}' or clocks_workspace <> '{}';
begin
  if jobs_lane <> '{}' then
    -- A new job can only make the lane's `ready_at` earlier. If the lane was full, or its limit changes, the new value
    -- is not known here. It then becomes null, and the lane is refreshed later.
    with entered as (
      insert into quotewire.lane as l (workspace_id, name, max_leased, urgent, ready_at)
      select workspaces_id[j.workspace], j.lane, max(j.max_leased), bool_or(j.urgent),
        min(j.due_at - offsets_ms[j.workspace])
      from unnest(jobs_workspace, jobs_due_at, jobs_lane, jobs_max_leased, jobs_urgent)
        j (workspace, due_at, lane, max_leased, urgent)
      where j.lane is not null group by 1, 2 order by 1, 2
      on conflict (workspace_id, name) do update set max_leased = excluded.max_leased, urgent = excluded.urgent,
        ready_at = case when l.max_leased = excluded.max_leased and (l.lease_ends_at is null or l.ready_at is not null)
          then least(l.ready_at, excluded.ready_at) end
      returning l.workspace_id, l.name, l.ready_at
    )
    select array_agg(e.workspace_id), array_agg(e.name) into lanes_workspace, lanes_name from entered e
    where refresh_all or e.ready_at is null;
  end if;
  if refresh_all then
    select array_agg(t.workspace_id), array_agg(t.name) into lanes_workspace, lanes_name from (
      select l.workspace_id, l.name from quotewire.lane l
      join (
        select * from unnest(lanes_workspace, lanes_name) n (workspace_id, name)
        union
        select j.workspace_id, j.lane from unnest(finishes_workspace, finishes_number) f (workspace, number)
        join quotewire.job j on j.workspace_id = workspaces_id[f.workspace] and j.number = f.number
        where j.lane is not null
        union
        select l.workspace_id, l.name from unnest(clocks_workspace) c (workspace)
        join quotewire.lane l on l.workspace_id = workspaces_id[c.workspace]
      ) s (workspace_id, name) on l.workspace_id = s.workspace_id and l.name = s.name
      order by l.workspace_id, l.name for update of l
    ) t;
  end if;
end $$;

-- Locks the finished jobs. Returns the positions of the jobs that can no longer be finished, because another host has
-- claimed the job or the job no longer exists.
create function quotewire.lost_leases_1(
  workspaces_id text[], finishes_workspace integer[], finishes_number bigint[], finishes_lease integer[]
) returns integer[]
language plpgsql as $$
declare
  held integer[];
begin
  held := array(
    select f.place from unnest(finishes_workspace, finishes_number, finishes_lease)
      with ordinality f (workspace, number, lease, place)
    join quotewire.job j on j.workspace_id = workspaces_id[f.workspace] and j.number = f.number
    where j.held and j.lease = f.lease
    order by j.workspace_id, j.number for update of j
  );
  return array(select place from generate_subscripts(finishes_workspace, 1) place where place <> all (held));
end $$;

-- Returns the positions of violated bounds. A bound is violated if an ordered job is due before it and the bound's
-- change does not finish that job. The job may be stored already or be added by an earlier change of this call. Waiting
-- and leased jobs are looked up separately, because each has its own index.
create function quotewire.passed_1(
  workspaces_id text[], none_due_change integer[], none_due_workspace integer[], none_due_before bigint[],
  finishes_change integer[], finishes_number bigint[], jobs_change integer[], jobs_workspace integer[],
  jobs_due_at bigint[], jobs_lane text[]
) returns integer[]
language plpgsql as $$
begin
  return array(
    select n.place from unnest(none_due_change, none_due_workspace, none_due_before)
      with ordinality n (change, workspace, before, place)
    cross join lateral (
      select array(
        select f.number from unnest(finishes_change, finishes_number) f (change, number) where f.change = n.change
      ) as numbers
    ) finished
    where exists (
      select from quotewire.job j
      where j.workspace_id = workspaces_id[n.workspace] and j.lane = quotewire.ordered_lane_1()
        and j.leased_until is null and j.due_at < n.before and j.number <> all (finished.numbers)
    ) or exists (
      select from quotewire.job j
      where j.workspace_id = workspaces_id[n.workspace] and j.lane = quotewire.ordered_lane_1()
        and j.leased_until is not null and j.due_at < n.before and j.number <> all (finished.numbers)
    ) or exists (
      select from unnest(jobs_change, jobs_workspace, jobs_due_at, jobs_lane) j (change, workspace, due_at, lane)
      where j.change < n.change and j.workspace = n.workspace and j.lane = quotewire.ordered_lane_1()
        and j.due_at < n.before
    )
  );
end $$;

-- Returns the positions of expectations that are not met, because the record now has a different version. Refused
-- changes are not checked.
create function quotewire.unmet_expectations_1(
  refused integer[], workspaces_id text[], expects_change integer[], expects_record integer[],
  expected_workspace integer[], expected_kind text[], expected_id text[], expected_version integer[]
) returns integer[]
language plpgsql as $$
declare
  changed integer[];
begin
  changed := array(
    select e.place from unnest(expected_workspace, expected_kind, expected_id, expected_version)
      with ordinality e (workspace, kind, id, version, place)
    where e.version <> coalesce((
      select r.version from quotewire.record r
      where r.workspace_id = workspaces_id[e.workspace] and r.kind = e.kind and r.id = e.id
    ), 0)
  );
  return array(
    select e.place from unnest(expects_change, expects_record) with ordinality e (change, record, place)
    where e.record = any (changed) and not e.change = any (refused)
  );
end $$;

-- Adds to `refused` the changes that the rows at these places belong to.
create function quotewire.refuse_1(refused integer[], rows_change integer[], places integer[]) returns integer[]
language plpgsql as $$
begin
  if places = '{}' then
    return refused;
  end if;
  return refused || array(select rows_change[p.place] from unnest(places) p (place));
end $$;

-- Writes records, except those of refused changes. Returns the positions of writes that do not follow the stored
-- version. The changes of these writes are not written at all.
create function quotewire.write_records_1(
  refused integer[], workspaces_id text[], writes_change integer[], writes_workspace integer[],
  writes_keeps_history boolean[], writes_kind text[], writes_id text[], writes_version integer[], writes_parent text[],
  writes_status text[], writes_line text[], writes_labels text[], writes_about text[], writes_created_at bigint[],
  writes_updated_at bigint[], writes_expires_at bigint[], writes_body text[]
) returns integer[]
language plpgsql as $$
declare
  only_first_versions constant boolean := 1 = all (writes_version);
  -- If there are only first versions, they are inserted without a check. If a key is then taken, nothing is inserted,
  -- and the second pass checks. Checking them first takes more of the server's CPU time
  -- (docs/decisions/tuning.md).
  checks boolean := not only_first_versions;
  stale integer[] := '{}';
begin
  loop
    if checks then
      stale := array(
        select w.place from unnest(writes_change, writes_workspace, writes_kind, writes_id, writes_version)
          with ordinality w (change, workspace, kind, id, version, place)
        where not w.change = any (refused) and w.version - 1 <> coalesce((
          select r.version from quotewire.record r
          where r.workspace_id = workspaces_id[w.workspace] and r.kind = w.kind and r.id = w.id
        ), 0)
      );
      refused := quotewire.refuse_1(refused, writes_change, stale);
    end if;
    exit when 1 <> all (writes_version);
    begin
      insert into quotewire.record (
        workspace_id, kind, id, version, parent, status, line, labels, about, created_at, updated_at, expires_at, body
      )
      select workspaces_id[w.workspace], w.kind, w.id, w.version, w.parent, w.status, w.line,
        coalesce(string_to_array(w.labels, E'\n'), '{}'), coalesce(string_to_array(w.about, E'\n'), '{}'), w.created_at,
        w.updated_at, w.expires_at, w.body
      from unnest(
        writes_change, writes_workspace, writes_kind, writes_id, writes_version, writes_parent, writes_status,
        writes_line, writes_labels, writes_about, writes_created_at, writes_updated_at, writes_expires_at, writes_body
      ) w (
        change, workspace, kind, id, version, parent, status, line, labels, about, created_at, updated_at, expires_at, body
      )
      where w.version = 1 and not w.change = any (refused);
      exit;
    exception when unique_violation then
      if checks then
        -- The call writes the same record twice.
        raise;
      end if;
      checks := true;
    end;
  end loop;
  if only_first_versions then
    return stale;
  end if;

  if true = any (writes_keeps_history) then
    insert into quotewire.older_version (
      workspace_id, kind, id, version, parent, status, line, labels, about, created_at, updated_at, expires_at, body
    )
    select r.workspace_id, r.kind, r.id, r.version, r.parent, r.status, r.line, r.labels, r.about, r.created_at,
      r.updated_at, r.expires_at, r.body
    from unnest(writes_change, writes_workspace, writes_keeps_history, writes_kind, writes_id, writes_version)
      w (change, workspace, keeps_history, kind, id, version)
    join quotewire.record r on r.workspace_id = workspaces_id[w.workspace] and r.kind = w.kind and r.id = w.id
    where w.keeps_history and w.version > 1 and not w.change = any (refused);
  end if;
  update quotewire.record r set version = w.version, parent = w.parent, status = w.status, line = w.line,
    labels = coalesce(string_to_array(w.labels, E'\n'), '{}'), about = coalesce(string_to_array(w.about, E'\n'), '{}'),
    created_at = w.created_at, updated_at = w.updated_at, expires_at = w.expires_at, body = w.body
  from unnest(
    writes_change, writes_workspace, writes_kind, writes_id, writes_version, writes_parent, writes_status,
    writes_line, writes_labels, writes_about, writes_created_at, writes_updated_at, writes_expires_at, writes_body
  ) w (
    change, workspace, kind, id, version, parent, status, line, labels, about, created_at, updated_at, expires_at, body
  )
  where r.workspace_id = workspaces_id[w.workspace] and r.kind = w.kind and r.id = w.id
    and w.version > 1 and not w.change = any (refused);
  return stale;
end $$;

-- Subtracts the new events and jobs of refused changes from the counters, so that numbers have no gaps. Returns the
-- positions of the remaining events and jobs within their workspaces. Other sessions have not seen the counters yet.
create function quotewire.give_numbers_back_1(
  refused integer[], workspaces_id text[], events_change integer[], events_workspace integer[], jobs_change integer[],
  jobs_workspace integer[], out events_place integer[], out jobs_place integer[]
) language plpgsql as $$
begin
  update quotewire.workspace w set last_event = w.last_event - n.events, last_job = w.last_job - n.jobs
  from (
    select u.id, (
      select count(*) from unnest(events_change, events_workspace) e (change, workspace)
      where e.workspace = u.place and e.change = any (refused)
    ) as events, (
      select count(*) from unnest(jobs_change, jobs_workspace) j (change, workspace)
      where j.workspace = u.place and j.change = any (refused)
    ) as jobs
    from unnest(workspaces_id) with ordinality u (id, place)
  ) n
  where w.workspace_id = n.id and n.events + n.jobs > 0;
  events_place := array(
    select count(*) filter (where not e.change = any (refused)) over (partition by e.workspace order by e.place)
    from unnest(events_change, events_workspace) with ordinality e (change, workspace, place) order by e.place
  );
  jobs_place := array(
    select count(*) filter (where not j.change = any (refused)) over (partition by j.workspace order by j.place)
    from unnest(jobs_change, jobs_workspace) with ordinality j (change, workspace, place) order by j.place
  );
end $$;

-- Moves the clocks of workspaces, and the due times of their jobs without a lane. Lanes are refreshed later. Refused
-- changes are skipped. Returns how far each workspace's clock is now ahead.
create function quotewire.move_clocks_1(
  refused integer[], workspaces_id text[], offsets_ms bigint[], clocks_change integer[], clocks_workspace integer[],
  clocks_offset_ms bigint[]
) returns bigint[]
language plpgsql as $$
declare
  moved text;
  offset_ms bigint;
begin
  for c in 1 .. cardinality(clocks_change) loop
    continue when clocks_change[c] = any (refused);
    moved := workspaces_id[clocks_workspace[c]];
    offset_ms := clocks_offset_ms[c];
    update quotewire.workspace w set clock_offset_ms = offset_ms where w.workspace_id = moved;
    update quotewire.job j set ready_at = greatest(j.due_at - offset_ms, j.leased_until)
    where j.workspace_id = moved and j.lane is null;
    offsets_ms[clocks_workspace[c]] := offset_ms;
  end loop;
  return offsets_ms;
end $$;
