-- Ends a hold without a cutover, so that the cell is here again. A host does this only if the hold is overdue.
do $$
begin
  -- Several hosts may run this concurrently. Taking this lock first makes them wait for each other without a deadlock.
  lock table quotewire.place in access exclusive mode;
  update quotewire.place set state = 'leaving', mark = null, held_until = null where state = 'held' and :if;
  if found then
    alter table quotewire.place set schema :aside;
    drop schema quotewire;
    alter schema :aside rename to quotewire;
  end if;
end $$;
