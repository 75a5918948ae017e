-- The part of page.sql that finds up to :most records of a kind or, with :parent, of one parent.
select * from quotewire.record
where workspace_id = $1 and kind = $2 and id :after $3 and :parent and $5::text[] is null
order by id :direction limit :most
