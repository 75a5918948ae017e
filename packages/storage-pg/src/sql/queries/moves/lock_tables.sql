-- Locks all tables of the cell until the end of the transaction. Locks `workspace` first, as hosts' statements do. This
-- is a single statement, so that `statement_timeout` limits the wait for all locks together.
do $$
declare
  table_name name;
begin
  for table_name in
    select c.relname from pg_class c where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'r'
    order by c.relname <> 'workspace', c.relname
  loop
    execute format('lock table quotewire.%I in :mode mode', table_name);
  end loop;
end $$;
