-- Facts about the new database that are checked before a move.
select current_setting('server_version_num')::integer as version,
  pg_is_in_recovery() as is_standby,
  current_setting('max_logical_replication_workers')::integer as workers,
  to_regnamespace('quotewire') is not null as has_schema;
