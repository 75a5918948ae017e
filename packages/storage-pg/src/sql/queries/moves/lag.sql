-- The replication lag of the slot $1 in bytes of the log, the position that the new place has confirmed, and whether
-- the server has invalidated the slot and removed its log.
select pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed)::bigint as bytes,
  pg_wal_lsn_diff(s.confirmed, '0/0')::bigint as confirmed,
  s.is_lost
from (
  select coalesce(confirmed_flush_lsn, restart_lsn) as confirmed, coalesce(wal_status = 'lost', false) as is_lost
  from pg_replication_slots where slot_name = $1
) s;
