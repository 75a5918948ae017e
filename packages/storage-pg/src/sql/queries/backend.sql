-- The server process that runs this statement. Servers do not start at the same microsecond, so a place has one name.
select
  pg_backend_pid() as pid,
  quote_ident(current_user) as role,
  concat(current_database(), ' ', extract(epoch from pg_postmaster_start_time())) as place,
  current_setting('statement_timeout') <> '0' as is_timed
