-- Holds the cell. Its tables are already locked. After the commit, hosts' statements can no longer find the tables, so
-- they can neither read nor write. The mark is the last row that is replicated.
do $$
begin
  update quotewire.place set state = 'held', mark = gen_random_uuid()::text,
    held_until = clock_timestamp() + interval :hold
  where state = 'leaving';
  if not found then
    raise exception 'the cell is not leaving';
  end if;
  insert into quotewire.move_mark (id) select p.mark from quotewire.place p;
  alter schema quotewire rename to :aside;
  create schema quotewire;
  alter table :aside.place set schema quotewire;
end $$;
