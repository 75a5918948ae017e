-- The part of page.sql that finds the records about the first of the IDs $5. If $4 names a parent, finds only that
-- parent's records. Each half uses its own index.
select * from (
  (
    select * from quotewire.record
    where workspace_id = $1 and about[1] = ($5::text[])[1] and kind = $2 and id :after $3
      and ($4::text is null or parent = $4)
    order by id :direction limit :most
  )
  union all
  (
    select * from quotewire.record
    where workspace_id = $1 and about[2] = ($5::text[])[1] and kind = $2 and id :after $3
      and ($4::text is null or parent = $4)
    order by id :direction limit :most
  )
) r order by id :direction limit :most
