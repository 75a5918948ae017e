-- Records at the new place that the move was decided at the old one: the cell is live here.
update quotewire.place set state = 'live', move_id = null, mark = null where state = 'arriving' and move_id = $1;
