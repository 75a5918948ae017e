-- Ends a move that was undone.
update quotewire.place set state = 'live', move_id = null where state = 'leaving' and move_id = $1;
