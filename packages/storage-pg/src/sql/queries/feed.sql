-- Up to $3 events after number $2. Each row also contains the number of the newest event and the number up to which the
-- feed is erased; if there are no events, one row contains only these. A single statement reads the events and the
-- numbers, so that they are consistent. :events has two variants: all events, or those about some IDs.
select w.erased_through, w.last_event, e.number, e.id, e.occurred_at, e.about, e.body
from quotewire.workspace w left join lateral (
  :events
) e on true
where w.workspace_id = $1 order by e.number;
