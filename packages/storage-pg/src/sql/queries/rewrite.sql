-- Replaces the bodies of versions that have not changed since they were read, and returns how many were replaced. Locks
-- the workspace first, as every writer does. A version that becomes an older version while this waits for the lock is
-- not found and stays unchanged.
with locked as materialized (
  select 1 from quotewire.workspace where workspace_id = $1 for update
), wanted as materialized (
  select * from unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::text[]) w (kind, id, version, before, body)
), newest as (
  update quotewire.record r set body = w.body from wanted w, locked
  where r.workspace_id = $1 and r.kind = w.kind and r.id = w.id and r.version = w.version and r.body = w.before
  returning 1
), older as (
  update quotewire.older_version r set body = w.body from wanted w, locked
  where r.workspace_id = $1 and r.kind = w.kind and r.id = w.id and r.version = w.version and r.body = w.before
  returning 1
)
select (select count(*) from newest) + (select count(*) from older) as rewritten;
