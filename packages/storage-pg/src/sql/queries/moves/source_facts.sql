-- Facts about the old database that are checked before a move.
select current_setting('server_version_num')::integer as version,
  current_setting('wal_level') as wal_level,
  pg_is_in_recovery() as is_standby,
  current_setting('max_replication_slots')::integer - (select count(*) from pg_replication_slots)::integer as free_slots,
  current_setting('max_wal_senders')::integer - (select count(*) from pg_stat_replication)::integer as free_senders,
  (
    select count(*) from pg_class c where c.relnamespace = to_regnamespace('quotewire') and c.relkind = 'S'
  )::integer as sequences,
  to_regnamespace(:aside) is not null as has_aside;
