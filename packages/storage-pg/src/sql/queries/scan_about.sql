-- The part of page.sql that finds the records about the first of the ids $5, of one parent if $4 names it. Each half uses its index.
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
