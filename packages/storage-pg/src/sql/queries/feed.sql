-- Up to $3 events after number $2, each with the number up to which the feed is erased; one row without an event if
-- there are none. A single statement, so that the events and that number are consistent.
select w.erased_through, e.number, e.id, e.occurred_at, e.body
from quotewire.workspace w left join lateral (
  select * from quotewire.event e where e.workspace_id = w.workspace_id and e.number > $2 order by e.number limit $3
) e on true
where w.workspace_id = $1 order by e.number;
