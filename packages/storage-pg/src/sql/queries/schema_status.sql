-- The newest migration that ran, and the oldest program that it serves; 0 where none ran.
select number as found, serves_from from quotewire.migration
union all select 0, 0 order by found desc limit 1;
