-- The replication slots of moves from this database, and how much WAL each slot retains.
select s.slot_name as name, s.active as is_active,
  coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::bigint as kept_bytes
from pg_replication_slots s
where s.database = current_database() and starts_with(s.slot_name, :prefix) and not pg_is_in_recovery();
