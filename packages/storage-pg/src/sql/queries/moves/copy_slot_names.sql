-- The name pattern of the slots from which subscription $1 copies tables.
select format('pg\_%s\_sync\_%%\_%s', s.oid, c.system_identifier) as names
from pg_subscription s, pg_control_system() c
where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database());
