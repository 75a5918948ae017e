-- Records in the new database that the move was decided in the old one. The cell is then live here.
update quotewire.place set state = 'live', move_id = null, mark = null where state = 'arriving' and move_id = $1;
