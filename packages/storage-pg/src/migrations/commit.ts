import { settings } from "./settings.ts"

/**
 * Stores changes, each whole or not at all. It answers those that are refused: the place of the change, and that of the
 * first write that does not follow, of the first lease that is lost, or of the first record that is not as it was seen.
 *
 * The rows of a change are columns. One of them is unnested and the others are read by its places, at a fraction of what
 * `unnest` of them all costs; of a column that is null every row is null. `c_home` is the place of a change's workspace
 * among the workspaces, and `e_place` and `j_place` count a workspace's events and jobs. What changes rest on is mostly the
 * same: `s_home` to `s_version` name each record once as it was seen, and `r_change` rests on the one at `r_seen`.
 *
 * Locks come first, in one order for everybody: the workspaces, the lanes of the jobs, the jobs. Every statement after
 * them sees what they protect, so that whatever the guards say still holds when the change is written. What locks a
 * workspace counts its new events and jobs in it; those of refused changes are taken off again. Where all writes are first
 * versions they have no guard but their keys: only if one is taken, all of them are looked at. No two of the changes may
 * write the same record, finish the same job or move the same clock, nor may one rest on what another before it writes.
 */
export const commit: ReadonlyArray<string> = [
  `create function quotewire.commit_1(
    workspaces text[], n_events integer[], n_jobs integer[], c_home integer[], c_offset bigint[],
    f_change integer[], f_workspace text[], f_number bigint[], f_lease integer[],
    r_change integer[], r_seen integer[], s_home integer[], s_kind text[], s_id text[], s_version integer[],
    w_change integer[], w_kind text[], w_id text[], w_version integer[], w_keeps boolean[], w_parent text[],
    w_status text[], w_line text[], w_labels text[], w_created_at bigint[], w_updated_at bigint[],
    w_expires_at bigint[], w_body text[],
    e_change integer[], e_place integer[], e_id text[], e_occurred_at bigint[], e_body text[],
    j_change integer[], j_place integer[], j_kind text[], j_due_at bigint[], j_lane text[], j_max_leased integer[],
    j_urgent boolean[], j_payload text[]
  ) returns table (change integer, write integer, finish integer, seen integer)
  language plpgsql ${settings} as $body$
  #variable_conflict use_column
  declare
    finishes constant boolean := f_change <> '{}';
    moves constant boolean := c_offset <> '{}';
    -- Whether the writes are looked at before they are made.
    looks boolean := 1 <> any (w_version);
    events bigint;
    jobs bigint;
    ahead bigint;
    u_events bigint[];
    u_jobs bigint[];
    u_ahead bigint[];
    l_workspace text[];
    l_name text[];
    places integer[];
    refused integer[] := '{}';
  begin
    for u in 1 .. cardinality(workspaces) loop
      loop
        update quotewire.workspace w set last_event = w.last_event + n_events[u], last_job = w.last_job + n_jobs[u]
        where w.workspace_id = workspaces[u]
        returning w.last_event - n_events[u], w.last_job - n_jobs[u], w.clock_offset_ms into events, jobs, ahead;
        exit when found;
        insert into quotewire.workspace (workspace_id) values (workspaces[u]) on conflict do nothing;
      end loop;
      u_events[u] := events;
      u_jobs[u] := jobs;
      u_ahead[u] := ahead;
    end loop;

    if j_lane <> '{}' then
      -- A lane with room comes due with its first job. Of one that has leased some only its jobs say whether it has.
      with entered as (
        insert into quotewire.lane as l (workspace_id, name, max_leased, urgent, ready_at)
        select workspaces[c_home[j_change[i]]], j_lane[i], max(j_max_leased[i]), bool_or(j_urgent[i]),
          min(j_due_at[i] - u_ahead[c_home[j_change[i]]])
        from unnest(j_change) with ordinality p (value, i)
        where j_lane[i] is not null group by 1, 2 order by 1, 2
        on conflict (workspace_id, name) do update set max_leased = excluded.max_leased, urgent = excluded.urgent,
          ready_at = case when l.max_leased = excluded.max_leased and (l.lapses_at is null or l.ready_at is not null)
            then least(l.ready_at, excluded.ready_at) end
        returning l.workspace_id, l.name, l.ready_at
      )
      select array_agg(e.workspace_id), array_agg(e.name) into l_workspace, l_name from entered e
      where finishes or moves or e.ready_at is null;
    end if;
    if finishes or moves then
      select array_agg(t.workspace_id), array_agg(t.name) into l_workspace, l_name from (
        select l.workspace_id, l.name from quotewire.lane l
        join (
          select * from unnest(l_workspace, l_name) n (workspace_id, name)
          union
          select j.workspace_id, j.lane from unnest(f_change) with ordinality p (value, i)
          join quotewire.job j on j.workspace_id = f_workspace[i] and j.number = f_number[i]
          where j.lane is not null
          union
          select l.workspace_id, l.name from unnest(c_offset) with ordinality p (value, i)
          join quotewire.lane l on l.workspace_id = workspaces[c_home[i]]
          where c_offset[i] is not null
        ) s (workspace_id, name) on l.workspace_id = s.workspace_id and l.name = s.name
        order by l.workspace_id, l.name for update of l
      ) t;
    end if;

    if finishes then
      -- The leases that are held.
      places := array(
        select i from unnest(f_change) with ordinality p (value, i)
        join quotewire.job j on j.workspace_id = f_workspace[i] and j.number = f_number[i]
        where j.held and j.lease = f_lease[i]
        order by j.workspace_id, j.number for update of j
      );
      if cardinality(places) < cardinality(f_change) then
        return query select p.value, null::integer, min(i)::integer, null::integer
        from unnest(f_change) with ordinality p (value, i) where not i = any (places) group by 1;
        refused := array(
          select p.value from unnest(f_change) with ordinality p (value, i) where not i = any (places)
        );
      end if;
    end if;
    if r_change <> '{}' then
      -- What is not as it was seen.
      places := array(
        select i from unnest(s_home) with ordinality p (value, i)
        where s_version[i] <> coalesce((
          select r.version from quotewire.record r
          where r.workspace_id = workspaces[s_home[i]] and r.kind = s_kind[i] and r.id = s_id[i]
        ), 0)
      );
      if places <> '{}' then
        -- In the order of its own that a change names them in.
        return query select p.value, null::integer, null::integer, r_seen[min(i)]
        from unnest(r_change) with ordinality p (value, i)
        where r_seen[i] = any (places) and not p.value = any (refused) group by 1;
        refused := refused || array(
          select p.value from unnest(r_change) with ordinality p (value, i) where r_seen[i] = any (places)
        );
      end if;
    end if;
    while w_change <> '{}' loop
      if looks then
        -- The writes that do not follow.
        places := array(
          select i from unnest(w_change) with ordinality p (value, i)
          where not w_change[i] = any (refused) and w_version[i] - 1 <> coalesce((
            select r.version from quotewire.record r
            where r.workspace_id = workspaces[c_home[w_change[i]]] and r.kind = w_kind[i] and r.id = w_id[i]
          ), 0)
        );
        if places <> '{}' then
          return query select w_change[p.place], min(p.place), null::integer, null::integer
          from unnest(places) p (place) group by 1;
          refused := refused || array(select w_change[p.place] from unnest(places) p (place));
        end if;
      end if;
      begin
        insert into quotewire.record
        select workspaces[c_home[w_change[i]]], w_kind[i], w_id[i], 1, w_parent[i], w_status[i], w_line[i],
          coalesce(string_to_array(w_labels[i], E'\\n'), '{}'), w_created_at[i], w_updated_at[i], w_expires_at[i], w_body[i]
        from unnest(w_change) with ordinality p (value, i)
        where w_version[i] = 1 and not w_change[i] = any (refused);
        exit;
      exception when unique_violation then
        if looks then
          raise exception 'Two writes of one record in a call' using errcode = 'unique_violation';
        end if;
        looks := true;
      end;
    end loop;
    if refused <> '{}' then
      -- What is refused takes no numbers: those of the others close up. Its jobs make no lane due.
      update quotewire.workspace w set last_event = w.last_event - n.events, last_job = w.last_job - n.jobs
      from (
        select u.id, (
          select count(*) from unnest(e_change) with ordinality p (value, i)
          where e_change[i] = any (refused) and workspaces[c_home[e_change[i]]] = u.id
        ) as events, (
          select count(*) from unnest(j_change) with ordinality p (value, i)
          where j_change[i] = any (refused) and workspaces[c_home[j_change[i]]] = u.id
        ) as jobs
        from unnest(workspaces) u (id)
      ) n
      where w.workspace_id = n.id and n.events + n.jobs > 0;
      e_place := array(
        select count(*) filter (where not e_change[i] = any (refused)) over (partition by c_home[e_change[i]] order by i)
        from unnest(e_change) with ordinality p (value, i) order by i
      );
      j_place := array(
        select count(*) filter (where not j_change[i] = any (refused)) over (partition by c_home[j_change[i]] order by i)
        from unnest(j_change) with ordinality p (value, i) order by i
      );
      select array_agg(s.workspace_id), array_agg(s.name) into l_workspace, l_name from (
        select * from unnest(l_workspace, l_name) n (workspace_id, name)
        union
        select workspaces[c_home[j_change[i]]], j_lane[i] from unnest(j_change) with ordinality p (value, i)
        where j_lane[i] is not null
      ) s (workspace_id, name);
    end if;

    if looks then
      if true = any (w_keeps) then
        insert into quotewire.older_version
        select r.* from unnest(w_change) with ordinality p (value, i)
        join quotewire.record r
          on r.workspace_id = workspaces[c_home[w_change[i]]] and r.kind = w_kind[i] and r.id = w_id[i]
        where w_keeps[i] and w_version[i] > 1 and not w_change[i] = any (refused);
      end if;
      update quotewire.record r set version = w_version[i], parent = w_parent[i], status = w_status[i], line = w_line[i],
        labels = coalesce(string_to_array(w_labels[i], E'\\n'), '{}'), created_at = w_created_at[i],
        updated_at = w_updated_at[i], expires_at = w_expires_at[i], body = w_body[i]
      from unnest(w_change) with ordinality p (value, i)
      where r.workspace_id = workspaces[c_home[w_change[i]]] and r.kind = w_kind[i] and r.id = w_id[i]
        and w_version[i] > 1 and not w_change[i] = any (refused);
    end if;
    if e_change <> '{}' then
      insert into quotewire.event (workspace_id, number, id, occurred_at, body)
      select workspaces[c_home[e_change[i]]], u_events[c_home[e_change[i]]] + e_place[i], e_id[i], e_occurred_at[i],
        e_body[i]
      from unnest(e_change) with ordinality p (value, i)
      where not e_change[i] = any (refused);
    end if;
    if moves then
      for c in 1 .. cardinality(c_offset) loop
        continue when c_offset[c] is null or c = any (refused);
        update quotewire.workspace w set clock_offset_ms = c_offset[c] where w.workspace_id = workspaces[c_home[c]];
        update quotewire.job j set ready_at = greatest(j.due_at - c_offset[c], j.leased_until)
        where j.workspace_id = workspaces[c_home[c]] and j.lane is null;
        u_ahead[c_home[c]] := c_offset[c];
      end loop;
    end if;
    if j_change <> '{}' then
      insert into quotewire.job (workspace_id, number, kind, due_at, ready_at, lane, payload)
      select workspaces[c_home[j_change[i]]], u_jobs[c_home[j_change[i]]] + j_place[i], j_kind[i], j_due_at[i],
        j_due_at[i] - u_ahead[c_home[j_change[i]]], j_lane[i], j_payload[i]
      from unnest(j_change) with ordinality p (value, i)
      where not j_change[i] = any (refused);
    end if;
    if finishes then
      delete from quotewire.job j using unnest(f_change) with ordinality p (value, i)
      where j.workspace_id = f_workspace[i] and j.number = f_number[i] and not f_change[i] = any (refused);
    end if;
    if l_name is not null then
      perform quotewire.refresh_lanes_1(l_workspace, l_name);
      delete from quotewire.lane l using unnest(l_workspace, l_name) t (workspace_id, name)
      where l.workspace_id = t.workspace_id and l.name = t.name and l.ready_at is null and l.lapses_at is null;
    end if;
  end $body$`
]
