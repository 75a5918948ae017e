-- Ends an undone move.
update quotewire.place set state = 'live', move_id = null where state = 'leaving' and move_id = $1;
