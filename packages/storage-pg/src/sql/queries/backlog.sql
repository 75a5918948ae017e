-- The jobs that are due at $1 and could be claimed, by kind; at most $2 are counted. Each part uses its index.
select kind, count(*)::integer as due, min(due_at) as oldest_due_at from (
  select kind, due_at from (
    (
      select j.kind, j.ready_at as due_at from quotewire.job j
      where j.lane is null and j.ready_at <= $1 order by j.ready_at limit $2
    )
    union all
    (
      select j.kind, j.due_at - w.clock_offset_ms as due_at
      from quotewire.lane l
      join quotewire.workspace w on w.workspace_id = l.workspace_id
      cross join lateral (
        select j.kind, j.due_at from quotewire.job j
        where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
          and j.due_at <= $1 + w.clock_offset_ms
        order by j.due_at, j.number limit $2
      ) j
      where l.ready_at <= $1 limit $2
    )
  ) due limit $2
) due group by kind order by kind;
