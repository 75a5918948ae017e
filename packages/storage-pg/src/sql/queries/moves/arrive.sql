-- Lets the move $1 arrive here, with the epoch $2; no row if something else is here.
insert into quotewire.place as p (state, epoch, move_id) values ('arriving', $2, $1)
on conflict (only_one) do update set epoch = excluded.epoch
where p.state = 'arriving' and p.move_id = excluded.move_id
returning p.epoch;
