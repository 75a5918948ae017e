-- Marks this location as the target of move $1, with epoch $2. Returns no row if a different cell or move is here.
insert into quotewire.place as p (state, epoch, move_id) values ('arriving', $2, $1)
on conflict (only_one) do update set epoch = excluded.epoch
where p.state = 'arriving' and p.move_id = excluded.move_id
returning p.epoch;
