-- Ends a move in the old database. The row stays, to record that the cell is elsewhere.
update quotewire.place set move_id = null, mark = null where state = 'left' and move_id = $1;
