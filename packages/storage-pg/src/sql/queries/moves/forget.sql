-- Ends a move at the old place. The row stays to record that the cell is elsewhere.
update quotewire.place set move_id = null, mark = null where state = 'left' and move_id = $1;
