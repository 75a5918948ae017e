-- The tables that are replicated, and their sizes. Each location creates the other tables itself.
select c.relname as name, pg_table_size(c.oid) as bytes
from pg_class c
where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'r' and c.relname not in ('place', 'migration')
order by c.relname;
