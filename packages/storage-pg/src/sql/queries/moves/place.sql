-- Where the cell is, by the table of this place.
select state, epoch, move_id, coalesce(held_until < clock_timestamp(), false) as is_overdue from quotewire.place;
