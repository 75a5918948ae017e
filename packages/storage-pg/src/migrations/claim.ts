import { settings } from "./settings.ts"

/**
 * Leases due jobs, and gives leases back.
 *
 * A claim over all workspaces waits for nobody: it passes over the lanes and jobs that somebody else has locked. One for
 * the ordered work of a workspace waits for its lane, since it answers whether anything of it is leased.
 *
 * It gives jobs of the named kinds alone: those that the program knows. Others wait for a newer one, as if it held them.
 */
export const claim: ReadonlyArray<string> = [
  `create function quotewire.claim_1(at bigint, lease_ms bigint, most integer, kinds text[], only_workspace text)
  returns table (
    workspace_id text, number bigint, kind text, due_at bigint, lane text, max_leased integer, urgent boolean,
    payload text, lease integer, expired_leases integer, next_due_at bigint, busy boolean
  )
  language plpgsql ${settings} as $body$
  #variable_conflict use_column
  declare
    ends_at constant bigint := at + lease_ms;
    l_workspace text[];
    l_name text[];
    t_workspace text[];
    t_number bigint[];
    next_at bigint;
    is_busy boolean := false;
  begin
    if only_workspace is null then
      -- Most claims find nothing due, and need no more than the firsts of four indexes to say so.
      next_at := least(
        (select j.ready_at from quotewire.job j
          where j.lane is null and j.kind = any (kinds) order by j.ready_at limit 1),
        (select min(l.ready_at) from quotewire.lane l where l.urgent and l.ready_at is not null),
        (select min(l.ready_at) from quotewire.lane l where not l.urgent and l.ready_at is not null),
        (select min(l.lapses_at) from quotewire.lane l where l.lapses_at is not null)
      );
      if next_at > at is not false then
        return query select null::text, null::bigint, null::text, null::bigint, null::text, null::integer, null::boolean,
          null::text, null::integer, null::integer, next_at, false;
        return;
      end if;
    end if;

    -- Leases that have ended make room in their lanes.
    if only_workspace is null then
      select array_agg(l.workspace_id), array_agg(l.name) into l_workspace, l_name from (
        select l.workspace_id, l.name from quotewire.lane l
        where l.lapses_at <= at order by l.lapses_at limit 1000 for update skip locked
      ) l;
    else
      perform from quotewire.lane l where l.workspace_id = only_workspace and l.name = 'ordered' for update;
      select array_agg(l.workspace_id), array_agg(l.name) into l_workspace, l_name from quotewire.lane l
      where l.workspace_id = only_workspace and l.name = 'ordered' and l.lapses_at <= at;
    end if;
    if l_name is not null then
      update quotewire.job j set leased_until = null
      from unnest(l_workspace, l_name) t (workspace_id, name)
      where j.workspace_id = t.workspace_id and j.lane = t.name and j.leased_until <= at;
      perform quotewire.refresh_lanes_1(l_workspace, l_name);
    end if;

    -- Each of these lanes has at least one job to give, unless it is of another kind.
    if only_workspace is null then
      select array_agg(l.workspace_id), array_agg(l.name) into l_workspace, l_name from (
        select u.* from (
          select l.workspace_id, l.name from quotewire.lane l
          where l.urgent and l.ready_at <= at order by l.ready_at limit most for update skip locked
        ) u
        union all
        select o.* from (
          select l.workspace_id, l.name from quotewire.lane l
          where not l.urgent and l.ready_at <= at order by l.ready_at limit most for update skip locked
        ) o
      ) l;
    else
      select array_agg(l.workspace_id), array_agg(l.name) into l_workspace, l_name from quotewire.lane l
      where l.workspace_id = only_workspace and l.name = 'ordered' and l.ready_at <= at;
    end if;

    with of_lanes as (
      select l.workspace_id, j.number, l.name, l.urgent, j.due_at - w.clock_offset_ms as ready_at
      from unnest(l_workspace, l_name) t (workspace_id, name)
      join quotewire.lane l on l.workspace_id = t.workspace_id and l.name = t.name
      join quotewire.workspace w on w.workspace_id = t.workspace_id
      cross join lateral (
        select count(*)::integer as leased from quotewire.job j
        where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is not null
      ) held
      cross join lateral (
        select min(j.number) as number from quotewire.job j
        where l.name = 'ordered' and j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
          and j.due_at <= l.ready_at + w.clock_offset_ms and j.kind <> all (kinds)
      ) unknown
      cross join lateral (
        select j.number, j.due_at from quotewire.job j
        where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
          and j.kind = any (kinds) and (unknown.number is null or j.number < unknown.number)
          and j.due_at <= case when l.name = 'ordered' then l.ready_at + w.clock_offset_ms else at + w.clock_offset_ms end
        order by j.due_at, j.number
        limit case when l.name = 'ordered' then most else least(most, l.max_leased - held.leased) end
      ) j
    ), without_lane as (
      select j.workspace_id, j.number, null::text, false, j.ready_at from quotewire.job j
      where only_workspace is null and j.lane is null and j.ready_at <= at and j.kind = any (kinds)
      order by j.ready_at, j.number limit most for update skip locked
    ), chosen as (
      select * from (select * from of_lanes union all select * from without_lane) c
      order by c.urgent desc, c.ready_at, c.number limit most
    ), leased as (
      update quotewire.job j set lease = j.lease + 1, expired_leases = j.expired_leases + j.held::integer, held = true,
        leased_until = ends_at, ready_at = case when j.lane is null then ends_at else j.ready_at end
      from chosen c where j.workspace_id = c.workspace_id and j.number = c.number
    )
    select array_agg(c.workspace_id), array_agg(c.number),
      array_agg(c.workspace_id) filter (where c.name is not null), array_agg(c.name) filter (where c.name is not null)
    into t_workspace, t_number, l_workspace, l_name
    from (select * from chosen c order by c.urgent desc, c.ready_at, c.number) c;
    if l_name is not null then
      perform quotewire.refresh_lanes_1(array_agg(t.workspace_id), array_agg(t.name))
      from (select distinct * from unnest(l_workspace, l_name) t (workspace_id, name)) t;
    end if;

    -- When the first job comes due that is not taken.
    if only_workspace is null then
      next_at := least(
        (select j.ready_at from quotewire.job j
          where j.lane is null and j.kind = any (kinds) and (j.ready_at < ends_at or (j.workspace_id, j.number) not in (
            select t.workspace_id, t.number from unnest(t_workspace, t_number) t (workspace_id, number)))
          order by j.ready_at limit 1),
        (select min(l.ready_at) from quotewire.lane l where l.urgent and l.ready_at is not null),
        (select min(l.ready_at) from quotewire.lane l where not l.urgent and l.ready_at is not null),
        (select l.lapses_at from quotewire.lane l
          where l.lapses_at is not null and (l_name is null or (l.workspace_id, l.name) not in (
            select t.workspace_id, t.name from unnest(l_workspace, l_name) t (workspace_id, name)))
          order by l.lapses_at limit 1)
      );
    else
      next_at := (
        select least(l.ready_at, case when l_name is null then l.lapses_at end) from quotewire.lane l
        where l.workspace_id = only_workspace and l.name = 'ordered'
      );
      is_busy := exists (
        select from quotewire.job j
        where j.workspace_id = only_workspace and j.lane = 'ordered' and j.leased_until is not null
      ) or t_number is null and exists (
        select from quotewire.job j join quotewire.workspace w on w.workspace_id = j.workspace_id
        where j.workspace_id = only_workspace and j.lane = 'ordered' and j.leased_until is null
          and j.due_at <= at + w.clock_offset_ms and j.kind <> all (kinds)
      );
    end if;
    if l_name is not null then
      -- Of the lanes that gave something: leases of before, and what waits for the first of all leases to end.
      next_at := least(next_at, (
        select min(least(
          others.leased_until,
          case when l.ready_at is null and waiting.due_at is not null
            then greatest(waiting.due_at - w.clock_offset_ms, l.lapses_at) end
        ))
        from (select distinct * from unnest(l_workspace, l_name) t (workspace_id, name)) t
        join quotewire.lane l on l.workspace_id = t.workspace_id and l.name = t.name
        join quotewire.workspace w on w.workspace_id = t.workspace_id
        left join lateral (
          select min(j.leased_until) as leased_until from quotewire.job j
          where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is not null
            and (j.workspace_id, j.number) not in (
              select t.workspace_id, t.number from unnest(t_workspace, t_number) t (workspace_id, number))
        ) others on true
        left join lateral (
          select j.due_at from quotewire.job j
          where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
          order by j.due_at, j.number limit 1
        ) waiting on true
      ));
    end if;

    if t_number is null then
      return query select null::text, null::bigint, null::text, null::bigint, null::text, null::integer, null::boolean,
        null::text, null::integer, null::integer, next_at, is_busy;
    else
      return query
      select j.workspace_id, j.number, j.kind, j.due_at, j.lane, l.max_leased, l.urgent, j.payload, j.lease, j.expired_leases,
        next_at, is_busy
      from unnest(t_workspace, t_number) with ordinality t (workspace_id, number, place)
      join quotewire.job j on j.workspace_id = t.workspace_id and j.number = t.number
      left join quotewire.lane l on l.workspace_id = j.workspace_id and l.name = j.lane
      order by t.place;
    end if;
  end $body$`,
  `create function quotewire.release_1(j_workspace text[], j_number bigint[], j_lease integer[]) returns void
  language plpgsql ${settings} as $body$
  declare
    l_workspace text[];
    l_name text[];
  begin
    perform from quotewire.workspace w where w.workspace_id = any (j_workspace) order by w.workspace_id for update;
    select array_agg(t.workspace_id), array_agg(t.name) into l_workspace, l_name from (
      select l.workspace_id, l.name from quotewire.lane l
      join (
        select distinct j.workspace_id, j.lane from unnest(j_workspace, j_number) r (workspace_id, number)
        join quotewire.job j on j.workspace_id = r.workspace_id and j.number = r.number
        where j.lane is not null
      ) s on s.workspace_id = l.workspace_id and s.lane = l.name
      order by l.workspace_id, l.name for update of l
    ) t;
    update quotewire.job j
    set held = false, leased_until = null, ready_at = j.due_at - w.clock_offset_ms
    from unnest(j_workspace, j_number, j_lease) r (workspace_id, number, lease)
    join quotewire.workspace w on w.workspace_id = r.workspace_id
    where j.workspace_id = r.workspace_id and j.number = r.number and j.lease = r.lease and j.held;
    if l_name is not null then
      perform quotewire.refresh_lanes_1(l_workspace, l_name);
    end if;
  end $body$`
]
