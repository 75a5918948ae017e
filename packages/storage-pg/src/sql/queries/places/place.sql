-- What this location records about the cell. `is_overdue` means that the hold has expired.
select state, epoch, move_id, coalesce(held_until < clock_timestamp(), false) as is_overdue from quotewire.place;
