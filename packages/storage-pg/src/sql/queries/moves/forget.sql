-- Ends a move: nothing of it is left here but this row, which says that the cell is elsewhere.
update quotewire.place set move_id = null, mark = null where state = 'left' and move_id = $1;
