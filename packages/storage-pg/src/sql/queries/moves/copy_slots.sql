-- The slots at this location from which the new location copies tables. The comment of publication $1 is the pattern of
-- their names.
select s.slot_name as name
from pg_publication p
join pg_replication_slots s on s.slot_name like obj_description(p.oid, 'pg_publication')
where p.pubname = $1 and s.database = current_database();
