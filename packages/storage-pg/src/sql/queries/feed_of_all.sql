-- The part of feed.sql that finds all events.
select * from quotewire.event e where e.workspace_id = w.workspace_id and e.number > $2 order by e.number limit $3
