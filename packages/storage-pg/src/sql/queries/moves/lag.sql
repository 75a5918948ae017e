-- The replication lag of the slot $1 in bytes of the log, the position that the new place has confirmed, the sum of the
-- positions that it has confirmed for the tables that it copies, and whether the server has invalidated the slot and
-- removed its log.
select pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed)::bigint as bytes,
  pg_wal_lsn_diff(s.confirmed, '0/0')::bigint as confirmed,
  coalesce((
    select sum(pg_wal_lsn_diff(coalesce(c.confirmed_flush_lsn, c.restart_lsn), '0/0'))
    from pg_publication p
    join pg_replication_slots c on c.slot_name like obj_description(p.oid, 'pg_publication')
    where p.pubname = $1 and c.database = current_database()
  ), 0)::bigint as copies_confirmed,
  s.is_lost
from (
  select coalesce(confirmed_flush_lsn, restart_lsn) as confirmed, coalesce(wal_status = 'lost', false) as is_lost
  from pg_replication_slots where slot_name = $1
) s;
