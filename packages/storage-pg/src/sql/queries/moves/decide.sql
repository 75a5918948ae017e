-- Decides the move: from now on, the cell is at the other location. Returns no row if the hold with mark $1 has
-- expired.
update quotewire.place set state = 'left', held_until = null
where state = 'held' and mark = $1 and clock_timestamp() < held_until
returning mark;
