-- The tables.
--
-- Every primary key begins with the workspace, and statements that serve a call join tables only on the workspace. Text
-- columns have the collation "C" (byte order), so that every server sorts IDs the same way. The indexes for claims span
-- all workspaces of the schema and begin with a time.
--
-- Times are in milliseconds. `created_at`, `updated_at`, `expires_at`, `occurred_at` and `due_at` are in workspace
-- time; all others are in real time. Workspace time is real time plus the workspace's `clock_offset_ms`.
--
-- Every CHECK has a name, which the server's log shows when a row violates the CHECK.
--
-- Function names end with a number. A migration that changes a function's parameters or result adds a function with the
-- next number, and older hosts keep using the old function.

-- One row for each workspace: its lock, clock and counters.
create table quotewire.workspace (
  workspace_id text collate "C" primary key,
  clock_offset_ms bigint not null default 0,
  -- The numbers of the newest event and of the newest erased event.
  last_event bigint not null default 0,
  erased_through bigint not null default 0,
  -- The number of the newest job.
  last_job bigint not null default 0,
  constraint workspace_last_job_not_negative check (last_job >= 0),
  constraint workspace_erased_through_in_feed check (erased_through between 0 and last_event)
) with (fillfactor = 50);

-- The newest version of each record.
create table quotewire.record (
  workspace_id text collate "C" not null,
  kind text collate "C" not null,
  id text collate "C" not null,
  version integer not null,
  parent text collate "C",
  status text collate "C",
  line text collate "C",
  labels text[] collate "C" not null,
  -- The IDs of the resources that the record is about. The indexes find only the first two.
  about text[] collate "C" not null,
  created_at bigint not null,
  updated_at bigint not null,
  expires_at bigint,
  body text not null,
  primary key (workspace_id, kind, id),
  constraint record_version_positive check (version > 0),
  constraint record_kind_snake_case check (kind ~ '^[a-z]+(_[a-z]+)*$'),
  constraint record_about_at_most_two check (cardinality(about) <= 2)
) with (fillfactor = 85);

create index record_parent on quotewire.record (workspace_id, parent, kind, id) where parent is not null;

-- The condition is always true. It restricts this index to queries that compare `created_at`. Otherwise, while the
-- table is empty, the planner would choose the index for lookups by key, and keep that plan.
create index record_age on quotewire.record (workspace_id, kind, created_at) where created_at is not null;

create index record_about on quotewire.record (workspace_id, (about[1]), kind, id) where about[1] is not null;

create index record_about_second on quotewire.record (workspace_id, (about[2]), kind, id) where about[2] is not null;

-- The older versions of records, for kinds that keep them.
create table quotewire.older_version (
  like quotewire.record including constraints,
  primary key (workspace_id, kind, id, version)
);

-- The event feed. A workspace's events are numbered in commit order, without gaps.
create table quotewire.event (
  workspace_id text collate "C" not null,
  number bigint not null,
  id text collate "C" not null,
  occurred_at bigint not null,
  -- The IDs of the resources that the event is about. The indexes find only the first two.
  about text[] collate "C" not null,
  body text not null,
  primary key (workspace_id, number),
  constraint event_number_positive check (number > 0),
  constraint event_about_at_most_two check (cardinality(about) <= 2)
);

create index event_about on quotewire.event (workspace_id, (about[1]), number) where about[1] is not null;

create index event_about_second on quotewire.event (workspace_id, (about[2]), number) where about[2] is not null;

-- Jobs that are due now or later. A job without a lane is claimed by its own `ready_at`. A job in a lane is claimed
-- through its lane, and its own `ready_at` is not used.
create table quotewire.job (
  workspace_id text collate "C" not null,
  number bigint not null,
  kind text collate "C" not null,
  due_at bigint not null,
  ready_at bigint not null,
  -- In the lane named "ordered", a workspace's ordered jobs run one at a time (`ordered_lane_1`).
  lane text collate "C",
  -- Counts the claims of the job. Only the latest claim can finish the job.
  lease integer not null default 0,
  -- Counts the claims whose lease ended before the job was finished.
  expired_leases integer not null default 0,
  -- Whether the latest claim can still finish the job. It can until the job is released or claimed again, even after
  -- the lease has ended.
  held boolean not null default false,
  leased_until bigint,
  payload text not null,
  primary key (workspace_id, number),
  constraint job_number_positive check (number > 0),
  constraint job_lane_format check (lane = 'ordered' or starts_with(lane, 'lane ')),
  constraint job_expired_leases_at_most_lease check (expired_leases between 0 and lease),
  constraint job_leased_only_if_held check (held or leased_until is null)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

create index job_ready on quotewire.job (ready_at) where lane is null;

create index job_waiting on quotewire.job (workspace_id, lane, due_at, number)
  where lane is not null and leased_until is null;

create index job_leased on quotewire.job (workspace_id, lane, leased_until)
  where lane is not null and leased_until is not null;

-- Lanes. Their columns are derived from their jobs (`refresh_lanes_1`).
create table quotewire.lane (
  workspace_id text collate "C" not null,
  name text collate "C" not null,
  max_leased integer not null,
  urgent boolean not null,
  -- When the lane's next job can be claimed; null if no job is waiting or the lane is full.
  ready_at bigint,
  -- When the lane's first lease ends; null if no job is leased.
  lease_ends_at bigint,
  primary key (workspace_id, name),
  constraint lane_max_leased_positive check (max_leased > 0),
  constraint lane_name_format check (name = 'ordered' or starts_with(name, 'lane '))
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);

create index lane_urgent on quotewire.lane (ready_at) where urgent and ready_at is not null;

create index lane_ready on quotewire.lane (ready_at) where not urgent and ready_at is not null;

create index lane_lease_ends on quotewire.lane (lease_ends_at) where lease_ends_at is not null;

-- Counts that all hosts share. Each row counts for one time window.
create table quotewire.tally (
  workspace_id text collate "C" not null,
  name text collate "C" not null,
  window_start bigint not null,
  window_ms bigint not null,
  total bigint not null,
  primary key (workspace_id, name, window_start, window_ms),
  constraint tally_window_ms_positive check (window_ms > 0)
) with (fillfactor = 50);

create index tally_end on quotewire.tally ((window_start + window_ms));
