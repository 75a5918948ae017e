-- The part of feed.sql that finds the events about all of the IDs $4. Each half uses its own index, for the first of
-- the IDs.
select * from (
  (
    select * from quotewire.event e
    where e.workspace_id = w.workspace_id and e.about[1] = ($4::text[])[1] and e.number > $2 and e.about @> $4
    order by e.number limit $3
  )
  union all
  (
    select * from quotewire.event e
    where e.workspace_id = w.workspace_id and e.about[2] = ($4::text[])[1] and e.number > $2 and e.about @> $4
    order by e.number limit $3
  )
) e order by e.number limit $3
