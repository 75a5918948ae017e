import { settings } from "./settings.ts"

/**
 * Stores changes as `commit_1` does, where each may finish any number of jobs. It answers those that are refused: the place
 * of the change, and that of the first write that does not follow, or of the first lease that is lost.
 *
 * Locks come first, in one order for everybody: the workspaces, the lanes of the jobs, the jobs. Every statement after
 * them sees what they protect, so that whatever the guards say still holds when the change is written. No two of the
 * changes may write the same record, finish the same job or move the same clock.
 */
export const finishes: ReadonlyArray<string> = [
  `create function quotewire.commit_2(
    workspaces text[], c_workspace text[], c_offset bigint[],
    f_change integer[], f_workspace text[], f_number bigint[], f_lease integer[],
    w_change integer[], w_kind text[], w_id text[], w_version integer[], w_keeps boolean[], w_parent text[],
    w_status text[], w_line text[], w_labels text[], w_created_at bigint[], w_updated_at bigint[],
    w_expires_at bigint[], w_body text[],
    e_change integer[], e_id text[], e_occurred_at bigint[], e_body text[],
    j_change integer[], j_kind text[], j_due_at bigint[], j_lane text[], j_max_leased integer[], j_urgent boolean[],
    j_payload text[]
  ) returns table (change integer, write integer, finish integer)
  language plpgsql ${settings} as $body$
  #variable_conflict use_column
  declare
    finishes constant boolean := cardinality(f_change) > 0;
    moves constant boolean := exists (select from unnest(c_offset) o where o is not null);
    lanes constant boolean := exists (select from unnest(j_lane) l where l is not null);
    l_workspace text[];
    l_name text[];
    refused integer[] := '{}';
    r_change integer[];
    r_write integer[];
    r_finish integer[];
  begin
    if (select count(*) from quotewire.workspace w where w.workspace_id = any (workspaces)) < cardinality(workspaces) then
      insert into quotewire.workspace (workspace_id) select u.id from unnest(workspaces) u (id) order by 1
      on conflict do nothing;
    end if;
    perform from quotewire.workspace w where w.workspace_id = any (workspaces) order by w.workspace_id for update;

    if lanes then
      insert into quotewire.lane as l (workspace_id, name, max_leased, urgent)
      select distinct on (1, 2) c_workspace[j.change], j.lane, j.max_leased, j.urgent
      from unnest(j_change, j_lane, j_max_leased, j_urgent) j (change, lane, max_leased, urgent)
      where j.lane is not null order by 1, 2
      on conflict (workspace_id, name) do update set max_leased = excluded.max_leased, urgent = excluded.urgent
        where (l.max_leased, l.urgent) <> (excluded.max_leased, excluded.urgent);
    end if;
    if lanes or finishes or moves then
      select array_agg(t.workspace_id), array_agg(t.name) into l_workspace, l_name from (
        select l.workspace_id, l.name from quotewire.lane l
        join (
          select c_workspace[j.change], j.lane from unnest(j_change, j_lane) j (change, lane) where j.lane is not null
          union
          select j.workspace_id, j.lane from unnest(f_workspace, f_number) f (workspace_id, number)
          join quotewire.job j on j.workspace_id = f.workspace_id and j.number = f.number
          where j.lane is not null
          union
          select l.workspace_id, l.name from unnest(c_workspace, c_offset) c (workspace_id, moved)
          join quotewire.lane l on l.workspace_id = c.workspace_id
          where c.moved is not null
        ) s (workspace_id, name) on l.workspace_id = s.workspace_id and l.name = s.name
        order by l.workspace_id, l.name for update of l
      ) t;
    end if;

    if finishes then
      select coalesce(array_agg(t.change), '{}'), coalesce(array_agg(t.finish), '{}') into refused, r_finish from (
        select f.change, min(f.finish)::integer as finish
        from unnest(f_change) with ordinality f (change, finish)
        where not f.finish = any (array(
          select held.finish from (
            select f.finish from unnest(f_workspace, f_number, f_lease)
              with ordinality f (workspace_id, number, lease, finish)
            join quotewire.job j on j.workspace_id = f.workspace_id and j.number = f.number
            where j.held and j.lease = f.lease
            order by j.workspace_id, j.number for update of j
          ) held
        ))
        group by f.change
      ) t;
      return query select r.change, null::integer, r.finish from unnest(refused, r_finish) r (change, finish);
    end if;
    if cardinality(w_change) > 0 then
      select coalesce(array_agg(t.change), '{}'), coalesce(array_agg(t.write), '{}') into r_change, r_write from (
        select w.change, min(w.write)::integer as write
        from unnest(w_change, w_kind, w_id, w_version) with ordinality w (change, kind, id, version, write)
        left join quotewire.record r
          on r.workspace_id = c_workspace[w.change] and r.kind = w.kind and r.id = w.id
        where coalesce(r.version, 0) <> w.version - 1 and not w.change = any (refused)
        group by w.change
      ) t;
      return query select r.change, r.write, null::integer from unnest(r_change, r_write) r (change, write);
      refused := refused || r_change;

      if true = any (w_keeps) then
        insert into quotewire.older_version
        select r.* from unnest(w_change, w_kind, w_id, w_version, w_keeps) w (change, kind, id, version, keeps)
        join quotewire.record r on r.workspace_id = c_workspace[w.change] and r.kind = w.kind and r.id = w.id
        where w.keeps and w.version > 1 and not w.change = any (refused);
      end if;
      insert into quotewire.record as r
      select c_workspace[w.change], w.kind, w.id, w.version, w.parent, w.status, w.line,
        string_to_array(w.labels, E'\\n'), w.created_at, w.updated_at, w.expires_at, w.body
      from unnest(
        w_change, w_kind, w_id, w_version, w_parent, w_status, w_line, w_labels, w_created_at, w_updated_at,
        w_expires_at, w_body
      ) w (change, kind, id, version, parent, status, line, labels, created_at, updated_at, expires_at, body)
      where not w.change = any (refused)
      on conflict (workspace_id, kind, id) do update set version = excluded.version, parent = excluded.parent,
        status = excluded.status, line = excluded.line, labels = excluded.labels, created_at = excluded.created_at,
        updated_at = excluded.updated_at, expires_at = excluded.expires_at, body = excluded.body;
    end if;

    if cardinality(e_change) + cardinality(j_change) > 0 or moves then
      with event as (
        select c_workspace[e.change] as workspace_id, e.id, e.occurred_at, e.body,
          row_number() over (partition by c_workspace[e.change] order by e.place) as place
        from unnest(e_change, e_id, e_occurred_at, e_body) with ordinality e (change, id, occurred_at, body, place)
        where not e.change = any (refused)
      ), job as (
        select c_workspace[j.change] as workspace_id, j.kind, j.due_at, j.lane, j.payload,
          row_number() over (partition by c_workspace[j.change] order by j.place) as place
        from unnest(j_change, j_kind, j_due_at, j_lane, j_payload)
          with ordinality j (change, kind, due_at, lane, payload, place)
        where not j.change = any (refused)
      ), moved as (
        select c.workspace_id, c.clock_offset_ms
        from unnest(c_workspace, c_offset) with ordinality c (workspace_id, clock_offset_ms, change)
        where c.clock_offset_ms is not null and not c.change = any (refused)
      ), counted as (
        update quotewire.workspace w set last_event = w.last_event + n.events, last_job = w.last_job + n.jobs,
          clock_offset_ms = coalesce(n.clock_offset_ms, w.clock_offset_ms)
        from (
          select u.id as workspace_id, (select count(*) from event e where e.workspace_id = u.id) as events,
            (select count(*) from job j where j.workspace_id = u.id) as jobs,
            (select m.clock_offset_ms from moved m where m.workspace_id = u.id) as clock_offset_ms
          from unnest(workspaces) u (id)
        ) n
        where w.workspace_id = n.workspace_id
        returning w.workspace_id, w.last_event - n.events as before_events, w.last_job - n.jobs as before_jobs,
          w.clock_offset_ms
      ), numbered as (
        insert into quotewire.event (workspace_id, number, id, occurred_at, body)
        select e.workspace_id, c.before_events + e.place, e.id, e.occurred_at, e.body
        from event e join counted c on c.workspace_id = e.workspace_id
      )
      insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, lane, payload)
      select j.workspace_id, c.before_jobs + j.place, j.kind, j.due_at, j.due_at - c.clock_offset_ms, j.lane, j.payload
      from job j join counted c on c.workspace_id = j.workspace_id;
    end if;

    if finishes then
      delete from quotewire.job j using unnest(f_change, f_workspace, f_number) f (change, workspace_id, number)
      where j.workspace_id = f.workspace_id and j.number = f.number and not f.change = any (refused);
    end if;
    if moves then
      update quotewire.job j
      set ready_at = greatest(j.due_at - w.clock_offset_ms, j.leased_until)
      from unnest(c_workspace, c_offset) with ordinality c (workspace_id, moved, change)
      join quotewire.workspace w on w.workspace_id = c.workspace_id
      where c.moved is not null and not c.change = any (refused)
        and j.workspace_id = c.workspace_id and j.lane is null;
    end if;
    if cardinality(l_name) > 0 then
      perform quotewire.refresh_lanes_1(l_workspace, l_name);
      delete from quotewire.lane l using unnest(l_workspace, l_name) t (workspace_id, name)
      where l.workspace_id = t.workspace_id and l.name = t.name and l.ready_at is null and l.lapses_at is null;
    end if;
  end $body$`
]
