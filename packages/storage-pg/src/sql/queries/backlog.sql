-- The jobs that are due at $1 and could be claimed, by kind. At most $2 jobs are counted. Reads at most the first $2
-- entries of each index: jobs without a lane, urgent lanes, other lanes, and the waiting jobs of a lane.
select kind, count(*)::integer as due, min(due_at) as oldest_due_at from (
  (
    select j.kind, j.ready_at as due_at from quotewire.job j
    where j.lane is null and j.ready_at <= $1 order by j.ready_at limit $2
  )
  union all
  (
    select j.kind, j.due_at - w.clock_offset_ms as due_at from (
      (
        select l.workspace_id, l.name from quotewire.lane l
        where l.urgent and l.ready_at <= $1 order by l.ready_at limit $2
      )
      union all
      (
        select l.workspace_id, l.name from quotewire.lane l
        where not l.urgent and l.ready_at <= $1 order by l.ready_at limit $2
      )
    ) l
    -- The limits make the planner use one index lookup for each lane.
    cross join lateral (
      select w.clock_offset_ms from quotewire.workspace w where w.workspace_id = l.workspace_id limit 1
    ) w
    cross join lateral (
      select j.kind, j.due_at from quotewire.job j
      where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
        and j.due_at <= $1 + w.clock_offset_ms
      order by j.due_at, j.number limit $2
    ) j
    limit $2
  )
  limit $2
) due group by kind order by kind;
