-- Blocks vacuum of the tables until the end of the transaction. Otherwise `hold` would wait for a vacuum, and hosts for `hold`.
-- Hosts do not wait for this statement, and PostgreSQL cancels an autovacuum that blocks it after a second.
do $$
declare
  table_name name;
begin
  for table_name in
    select c.relname from pg_class c where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'r'
    order by c.relname <> 'workspace', c.relname
  loop
    execute format('lock table quotewire.%I in share update exclusive mode', table_name);
  end loop;
end $$;
