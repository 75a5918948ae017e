-- Keeps vacuum away from the tables until the end of the transaction: `hold` would wait for it, and hosts behind `hold`. While
-- this waits itself, hosts do not, and PostgreSQL cancels an autovacuum that is in the way after a second.
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
