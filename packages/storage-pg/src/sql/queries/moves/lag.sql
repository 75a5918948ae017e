-- The replication lag of the slot $1 in bytes of the log, the position that the new database has confirmed, the sum of the
-- positions that it has confirmed for the slots $2 of tables that it has copied but not caught up with, and whether the
-- server has invalidated the slot and removed its log. The slot of a table that is still being copied does not count: a
-- copy that fails begins again with a new slot at a later position.
select pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed)::bigint as bytes,
  pg_wal_lsn_diff(s.confirmed, '0/0')::bigint as confirmed,
  coalesce((
    select sum(pg_wal_lsn_diff(coalesce(c.confirmed_flush_lsn, c.restart_lsn), '0/0'))
    from pg_replication_slots c
    where c.slot_name = any($2::text[]) and c.database = current_database()
  ), 0)::bigint as copies_confirmed,
  s.is_lost
from (
  select coalesce(confirmed_flush_lsn, restart_lsn) as confirmed, coalesce(wal_status = 'lost', false) as is_lost
  from pg_replication_slots where slot_name = $1
) s;
