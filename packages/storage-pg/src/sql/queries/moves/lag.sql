-- How far the new database is behind, according to slot $1: the lag in bytes of WAL, the confirmed position, the sum of
-- the confirmed positions of the slots $2 (for tables that are copied but not caught up), and whether the server has
-- invalidated the slot and removed its WAL. The slot of a table that is still being copied is ignored, because a copy
-- that fails begins again with a new slot at a later position.
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
