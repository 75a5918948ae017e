-- Publishes the cell's tables.
do $$
declare
  tables text;
begin
  if exists (select from pg_publication where pubname = ':name') then
    return;
  end if;
  select string_agg(format('quotewire.%I', c.relname), ', ') into tables
  from pg_class c
  where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'r' and c.relname not in ('place', 'migration');
  execute 'create publication :name for table ' || tables;
end $$;
