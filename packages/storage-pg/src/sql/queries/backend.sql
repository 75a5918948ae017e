-- Returns the server process that runs this statement. `place` contains the server's start time: no two servers start
-- in the same microsecond, so each has a unique name.
select
  pg_backend_pid() as pid,
  quote_ident(current_user) as role,
  concat(current_database(), ' ', extract(epoch from pg_postmaster_start_time())) as place,
  current_setting('statement_timeout') <> '0' as is_timed
