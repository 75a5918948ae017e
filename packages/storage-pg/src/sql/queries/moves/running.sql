-- Whether a command is working on the move of the cell here. Its lock on the keys $1 and $2 shows that.
select exists (
  select from pg_locks l
  where l.locktype = 'advisory' and l.database = (select oid from pg_database where datname = current_database())
    and l.classid = $1::integer::oid and l.objid = $2::bigint::oid and l.objsubid = 2 and l.granted
) as is_running;
