-- The lag of the slot $1: how many bytes of the log it still has to send.
select pg_wal_lsn_diff(pg_current_wal_lsn(), coalesce(s.confirmed_flush_lsn, s.restart_lsn))::bigint as bytes
from pg_replication_slots s where s.slot_name = $1;
