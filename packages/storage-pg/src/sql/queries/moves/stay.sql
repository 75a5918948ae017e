-- Ends a move that was undone. The cell stays here.
update quotewire.place set state = 'live', move_id = null where state = 'leaving' and move_id = $1;
