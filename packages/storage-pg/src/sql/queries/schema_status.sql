-- The number of the newest migration that ran, and the oldest program that can use the schema; 0 if no migration ran.
select number as found, serves_from from quotewire.migration
union all select 0, 0 order by found desc limit 1;
