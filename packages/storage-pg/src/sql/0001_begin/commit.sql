-- Stores changes, each completely or not at all. Returns a row for each refused change: the change's position, the
-- reason, and the position of the first refused row among the rows of its kind. Positions count from 1.
--
-- Each kind of row is passed as arrays, one for each column: `writes_kind` and `writes_id` contain the kind and the ID
-- of each write. `unnest` turns them into rows again. A null array stands for a column of nulls. PostgreSQL has no arrays
-- of lists with different lengths, so each list in `..._labels` and `..._about` is a text with one entry per line.
--
-- Three columns contain a position: `change` the position of the row's change, `workspace` a position in `workspaces`,
-- and `expects_record` a position in `expected`, which lists each expected record once. `events_place` and `jobs_place`
-- number the new events and jobs within a workspace.
--
-- The steps, in order, with the kinds of rows that each uses. After `refuses` comes the reason that is returned.
--
-- step                  rows                      what it does
-- --------------------  ------------------------  -------------------------------------------------------------------
-- lock_workspaces_1     workspaces                locks `workspace`, and counts the new events and jobs there
-- lock_lanes_1          jobs, finishes, clocks    creates and locks `lane`
-- lost_leases_1         finishes                  locks `job`; refuses `lease` if the lease is lost
-- passed_1              none_due, finishes, jobs  refuses `passed` if an ordered job is due before the bound
-- unmet_expectations_1  expects, expected         refuses `expectation` if the record has a different version
-- write_records_1       writes                    writes `record` and `older_version`; refuses `write` if the version
--                                                 does not follow the stored one
-- give_numbers_back_1   events, jobs              corrects the counters in `workspace` if changes are refused
-- insert                events                    writes `event`
-- move_clocks_1         clocks                    updates `workspace`, and `job` for jobs without a lane
-- insert                jobs                      writes `job`
-- delete                finishes                  deletes from `job`
-- refresh_lanes_1       jobs, finishes, clocks    updates `lane`; then empty lanes are deleted
--
-- Locks are taken first, always in the same order: workspaces, lanes, jobs. Later statements see only what the locks
-- protect, so the result of a check still holds when the change is written. The caller guarantees that no two changes of
-- a call write the same record, finish the same job or move the same clock, and that no change expects what an earlier
-- one writes.
create function quotewire.commit_1(
  workspaces_id text[], workspaces_events integer[], workspaces_jobs integer[],
  clocks_change integer[], clocks_workspace integer[], clocks_offset_ms bigint[],
  none_due_change integer[], none_due_workspace integer[], none_due_before bigint[],
  finishes_change integer[], finishes_workspace integer[], finishes_number bigint[], finishes_lease integer[],
  expects_change integer[], expects_record integer[],
  expected_workspace integer[], expected_kind text[], expected_id text[], expected_version integer[],
  writes_change integer[], writes_workspace integer[], writes_keeps_history boolean[], writes_kind text[],
  writes_id text[], writes_version integer[], writes_parent text[], writes_status text[], writes_line text[],
  writes_labels text[], writes_about text[], writes_created_at bigint[], writes_updated_at bigint[],
  writes_expires_at bigint[], writes_body text[],
  events_change integer[], events_workspace integer[], events_place integer[], events_id text[],
  events_occurred_at bigint[], events_about text[], events_body text[],
  jobs_change integer[], jobs_workspace integer[], jobs_place integer[], jobs_kind text[], jobs_due_at bigint[],
  jobs_lane text[], jobs_max_leased integer[], jobs_urgent boolean[], jobs_payload text[]
) returns table (change integer, reason text, place integer)
language plpgsql as $$
declare
  -- For each workspace, the numbers of the last event and the last job before this call, and the offset of its clock.
  locked record; last_events bigint[]; last_jobs bigint[]; offsets_ms bigint[];
  -- The lanes to refresh at the end.
  lanes_workspace text[]; lanes_name text[];
  -- The positions of refused rows, by reason.
  lost_leases integer[]; passed integer[]; unmet_expectations integer[]; stale_writes integer[];
  refused integer[] := '{}';
begin
  locked := quotewire.lock_workspaces_1(workspaces_id, workspaces_events, workspaces_jobs);
  last_events := locked.last_events; last_jobs := locked.last_jobs; offsets_ms := locked.offsets_ms;
  if jobs_lane <> '{}' or finishes_change <> '{}' or clocks_change <> '{}' then
    select l.lanes_workspace, l.lanes_name into lanes_workspace, lanes_name
    from quotewire.lock_lanes_1(
      workspaces_id, offsets_ms, jobs_workspace, jobs_due_at, jobs_lane, jobs_max_leased, jobs_urgent,
      finishes_workspace, finishes_number, clocks_workspace
    ) l;
  end if;

  if finishes_change <> '{}' then
    lost_leases := quotewire.lost_leases_1(workspaces_id, finishes_workspace, finishes_number, finishes_lease);
    refused := quotewire.refuse_1(refused, finishes_change, lost_leases);
  end if;
  if none_due_change <> '{}' then
    passed := quotewire.passed_1(
      workspaces_id, none_due_change, none_due_workspace, none_due_before, finishes_change, finishes_number, jobs_change,
      jobs_workspace, jobs_due_at, jobs_lane
    );
    refused := quotewire.refuse_1(refused, none_due_change, passed);
  end if;
  if expects_change <> '{}' then
    unmet_expectations := quotewire.unmet_expectations_1(
      refused, workspaces_id, expects_change, expects_record, expected_workspace, expected_kind, expected_id,
      expected_version
    );
    refused := quotewire.refuse_1(refused, expects_change, unmet_expectations);
  end if;
  if writes_change <> '{}' then
    stale_writes := quotewire.write_records_1(
      refused, workspaces_id, writes_change, writes_workspace, writes_keeps_history, writes_kind, writes_id,
      writes_version, writes_parent, writes_status, writes_line, writes_labels, writes_about, writes_created_at,
      writes_updated_at, writes_expires_at, writes_body
    );
    refused := quotewire.refuse_1(refused, writes_change, stale_writes);
  end if;

  if refused <> '{}' then
    return query
    select finishes_change[p], 'lease', min(p) from unnest(lost_leases) p group by 1
    union all select none_due_change[p], 'passed', min(p) from unnest(passed) p
    where not none_due_change[p] in (select finishes_change[l] from unnest(lost_leases) l) group by 1
    union all select expects_change[p], 'expectation', min(p) from unnest(unmet_expectations) p group by 1
    union all select writes_change[p], 'write', min(p) from unnest(stale_writes) p group by 1;
    select g.events_place, g.jobs_place into events_place, jobs_place
    from quotewire.give_numbers_back_1(
      refused, workspaces_id, events_change, events_workspace, jobs_change, jobs_workspace
    ) g;
    -- `lock_lanes_1` assumed that all new jobs would be added. Some are not, so the lanes of all new jobs are
    -- refreshed.
    select array_agg(l.workspace_id), array_agg(l.name) into lanes_workspace, lanes_name from (
      select * from unnest(lanes_workspace, lanes_name) n (workspace_id, name)
      union
      select workspaces_id[j.workspace], j.lane from unnest(jobs_workspace, jobs_lane) j (workspace, lane)
      where j.lane is not null
    ) l (workspace_id, name);
  end if;

  if events_change <> '{}' then
    insert into quotewire.event (workspace_id, number, id, occurred_at, about, body)
    select workspaces_id[e.workspace], last_events[e.workspace] + e.place, e.id, e.occurred_at,
      coalesce(string_to_array(e.about, E'\n'), '{}'), e.body
    from unnest(events_change, events_workspace, events_place, events_id, events_occurred_at, events_about, events_body)
      e (change, workspace, place, id, occurred_at, about, body)
    where not e.change = any (refused);
  end if;
  if clocks_change <> '{}' then
    offsets_ms := quotewire.move_clocks_1(
      refused, workspaces_id, offsets_ms, clocks_change, clocks_workspace, clocks_offset_ms
    );
  end if;
  if jobs_change <> '{}' then
    insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, lane, payload)
    select workspaces_id[j.workspace], last_jobs[j.workspace] + j.place, j.kind, j.due_at,
      j.due_at - offsets_ms[j.workspace], j.lane, j.payload
    from unnest(jobs_change, jobs_workspace, jobs_place, jobs_kind, jobs_due_at, jobs_lane, jobs_payload)
      j (change, workspace, place, kind, due_at, lane, payload)
    where not j.change = any (refused);
  end if;
  if finishes_change <> '{}' then
    delete from quotewire.job j
    using unnest(finishes_change, finishes_workspace, finishes_number) f (change, workspace, number)
    where j.workspace_id = workspaces_id[f.workspace] and j.number = f.number and not f.change = any (refused);
  end if;
  if lanes_name is not null then
    perform quotewire.refresh_lanes_1(lanes_workspace, lanes_name);
    -- Removes lanes that are now empty.
    delete from quotewire.lane l using unnest(lanes_workspace, lanes_name) n (workspace_id, name)
    where l.workspace_id = n.workspace_id and l.name = n.name and l.ready_at is null and l.lease_ends_at is null;
  end if;
end $$;
