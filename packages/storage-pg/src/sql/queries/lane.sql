-- The first $3 jobs of lane $2 by due time, both waiting and leased. Each half uses its own index.
select kind, due_at, lease, payload from (
  (
    select j.kind, j.due_at, j.number, j.lease, j.payload from quotewire.job j
    where j.workspace_id = $1 and j.lane = $2 and j.leased_until is null order by j.due_at, j.number limit $3
  )
  union all
  (
    select j.kind, j.due_at, j.number, j.lease, j.payload from quotewire.job j
    where j.workspace_id = $1 and j.lane = $2 and j.leased_until is not null order by j.due_at, j.number limit $3
  )
) j order by due_at, number limit $3;
