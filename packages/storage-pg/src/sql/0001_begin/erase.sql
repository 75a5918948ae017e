-- Erasing runs in batches. Each function locks the workspace for one batch, so that writers do not wait long.

-- Erases up to `most` records of a kind that are older than `before`, oldest first, with all their versions and, if
-- requested, their children. Returns how many records of each kind were erased.
create function quotewire.erase_records_1(
  of_workspace text, of_kind text, before bigint, most integer, with_children boolean
) returns table (kind text, count bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from quotewire.workspace w where w.workspace_id = of_workspace for update;
  return query
  with old as (
    select r.kind, r.id from quotewire.record r
    where r.workspace_id = of_workspace and r.kind = of_kind and r.created_at < before
    order by r.created_at, r.id limit most
  ), doomed as (
    select o.kind, o.id from old o
    union
    select r.kind, r.id from old o join quotewire.record r on r.workspace_id = of_workspace and r.parent = o.id
    where with_children
  ), older as (
    delete from quotewire.older_version v using doomed d
    where v.workspace_id = of_workspace and v.kind = d.kind and v.id = d.id
  ), erased as (
    delete from quotewire.record r using doomed d
    where r.workspace_id = of_workspace and r.kind = d.kind and r.id = d.id
    returning r.kind
  )
  select e.kind, count(*) from erased e group by e.kind;
end $$;

-- Erases up to `most` records of a kind that belong to a parent, with all their versions. With `only_older`, erases up
-- to `most` older versions of these records instead. Returns how many were erased. The order does not matter, because
-- the caller repeats this until nothing is left.
create function quotewire.erase_children_1(
  of_workspace text, of_kind text, of_parent text, only_older boolean, most integer
) returns bigint
language plpgsql as $$
declare
  erased bigint;
begin
  perform from quotewire.workspace w where w.workspace_id = of_workspace for update;
  if only_older then
    with doomed as (
      select v.id, v.version from quotewire.record r
      join quotewire.older_version v on v.workspace_id = of_workspace and v.kind = of_kind and v.id = r.id
      where r.workspace_id = of_workspace and r.parent = of_parent and r.kind = of_kind
      limit most
    )
    delete from quotewire.older_version v using doomed d
    where v.workspace_id = of_workspace and v.kind = of_kind and v.id = d.id and v.version = d.version;
    get diagnostics erased = row_count;
    return erased;
  end if;
  with doomed as (
    select r.id from quotewire.record r
    where r.workspace_id = of_workspace and r.parent = of_parent and r.kind = of_kind
    limit most
  ), older as (
    delete from quotewire.older_version v using doomed d
    where v.workspace_id = of_workspace and v.kind = of_kind and v.id = d.id
  )
  delete from quotewire.record r using doomed d
  where r.workspace_id = of_workspace and r.kind = of_kind and r.id = d.id;
  get diagnostics erased = row_count;
  return erased;
end $$;

-- Erases up to `most` events from the beginning of a feed. Stops at the first event that occurred at `before` or later.
-- Returns how many were erased. The workspace records the number up to which its feed is erased.
create function quotewire.erase_events_1(of_workspace text, before bigint, most integer) returns bigint
language plpgsql as $$
declare
  first bigint;
  last bigint;
begin
  select w.erased_through, least(w.erased_through + most, w.last_event) into first, last
  from quotewire.workspace w where w.workspace_id = of_workspace for update;
  last := coalesce((
    select e.number - 1 from quotewire.event e
    where e.workspace_id = of_workspace and e.number > first and e.number <= last and e.occurred_at >= before
    order by e.number limit 1
  ), last);
  if last is null or last <= first then
    return 0;
  end if;
  delete from quotewire.event e where e.workspace_id = of_workspace and e.number > first and e.number <= last;
  update quotewire.workspace w set erased_through = last where w.workspace_id = of_workspace;
  return last - first;
end $$;

-- Erases all data of a workspace, except the records of some kinds, in one transaction, so that the erasure is atomic.
-- Keeps the workspace's clock and counters, so that numbers continue. Returns how many records of each kind, events and
-- jobs were erased. Each expected record must have the expected version; 0 means that the record must not exist. If one
-- has a different version, erases nothing and returns one row with the kind and ID of the first such record.
create function quotewire.erase_workspace_1(
  of_workspace text, surviving text[], expected_kind text[], expected_id text[], expected_version integer[]
) returns table (what text, kind text, id text, count bigint)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from quotewire.workspace w where w.workspace_id = of_workspace for update;
  return query
  select 'changed', e.kind, e.id, 1::bigint
  from unnest(expected_kind, expected_id, expected_version) with ordinality e (kind, id, version, place)
  where e.version <> coalesce((
    select r.version from quotewire.record r
    where r.workspace_id = of_workspace and r.kind = e.kind and r.id = e.id
  ), 0)
  order by e.place limit 1;
  if found then
    return;
  end if;
  perform from quotewire.lane l where l.workspace_id = of_workspace order by l.name for update;
  return query
  with erased as (
    delete from quotewire.record r where r.workspace_id = of_workspace and not r.kind = any (surviving)
    returning r.kind
  )
  select 'records', e.kind, null::text, count(*) from erased e group by e.kind;
  delete from quotewire.older_version v where v.workspace_id = of_workspace and not v.kind = any (surviving);
  return query
  with erased as (delete from quotewire.event e where e.workspace_id = of_workspace returning 1)
  select 'events', null::text, null::text, count(*) from erased;
  return query
  with erased as (delete from quotewire.job j where j.workspace_id = of_workspace returning 1)
  select 'jobs', null::text, null::text, count(*) from erased;
  delete from quotewire.lane l where l.workspace_id = of_workspace;
  update quotewire.workspace w set erased_through = w.last_event where w.workspace_id = of_workspace;
end $$;
