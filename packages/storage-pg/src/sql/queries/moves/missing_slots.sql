-- Which of the slots $1 do not exist at this location.
select name from unnest($1::text[]) name
where not exists (select from pg_replication_slots s where s.slot_name = name);
