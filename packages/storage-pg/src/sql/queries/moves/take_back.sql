-- Takes back the cell of a decided move whose new database is lost. The epoch becomes higher than the new database's,
-- so that the cell stays here even if the new database reappears. The move's ID stays until its replication objects are
-- removed.
do $$
begin
  lock table quotewire.place in access exclusive mode;
  update quotewire.place set state = 'leaving', epoch = epoch + 2, mark = null, held_until = null
  where state = 'left' and move_id is not null;
  if found then
    alter table quotewire.place set schema :aside;
    drop schema quotewire;
    alter schema :aside rename to quotewire;
  end if;
end $$;
