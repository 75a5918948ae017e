-- Up to $3 events after number $2, each with the number of the newest event and the number up to which the feed is
-- erased; one row without an event if there are none. A single statement, so that the events and those numbers are
-- consistent. There are two variants of :events, with all events and with those about something.
select w.erased_through, w.last_event, e.number, e.id, e.occurred_at, e.about, e.body
from quotewire.workspace w left join lateral (
  :events
) e on true
where w.workspace_id = $1 order by e.number;
