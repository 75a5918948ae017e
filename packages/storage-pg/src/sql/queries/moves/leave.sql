-- Begins move $1 of a cell that is here. Returns no row if the move cannot begin.
insert into quotewire.place as p (state, epoch, move_id) values ('leaving', 0, $1)
on conflict (only_one) do update set state = 'leaving', move_id = excluded.move_id, mark = null, held_until = null
where p.state = 'live'
returning p.epoch;
