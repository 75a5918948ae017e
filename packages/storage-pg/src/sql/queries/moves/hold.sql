-- Holds the cell: from now on no statement of a host finds the tables, neither to write nor to read. Statements that were running
-- have ended, because all tables are locked first. The mark is the last row that is replicated.
--
-- `statement_timeout` bounds the wait for all locks together, because statements of hosts wait behind them.
do $$
declare
  table_name name;
begin
  for table_name in
    select c.relname from pg_class c where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'r'
    order by c.relname <> 'workspace', c.relname
  loop
    execute format('lock table quotewire.%I in access exclusive mode', table_name);
  end loop;
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
