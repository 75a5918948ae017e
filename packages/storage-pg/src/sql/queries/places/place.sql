-- What this place says about the cell. `is_overdue`: its hold has run out.
select state, epoch, move_id, coalesce(held_until < clock_timestamp(), false) as is_overdue from quotewire.place;
