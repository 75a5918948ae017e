-- The first $2 jobs of all lanes by due time, both waiting and leased, including ordered jobs. Each part uses its own
-- index.
select kind, due_at, lease, payload from quotewire.lane l cross join lateral (
  (
    select j.kind, j.due_at, j.number, j.lease, j.payload from quotewire.job j
    where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is null
    order by j.due_at, j.number limit $2
  )
  union all
  (
    select j.kind, j.due_at, j.number, j.lease, j.payload from quotewire.job j
    where j.workspace_id = l.workspace_id and j.lane = l.name and j.leased_until is not null
    order by j.due_at, j.number limit $2
  )
) j
where l.workspace_id = $1 order by due_at, number limit $2;
