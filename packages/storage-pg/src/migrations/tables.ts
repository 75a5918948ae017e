/** What a statement says that goes by the age of records. */
export const hasAge = "created_at > -9007199254740992"

/**
 * The tables of the first schema.
 *
 * Every primary key begins with the workspace, so that the tables can be spread by it. Texts are compared byte by byte
 * (`C`), so that lists come in the order of identifiers wherever the server stands. The indexes that a claim reads, over
 * all workspaces, begin with a moment: on a server that holds some of the workspaces they hold what is due there.
 */
export const tables: ReadonlyArray<string> = [
  // One row for each workspace: its lock, its clock and its counters.
  `create table quotewire.workspace (
    workspace_id text collate "C" primary key,
    clock_offset_ms bigint not null default 0,
    last_event bigint not null default 0,
    erased_through bigint not null default 0,
    last_job bigint not null default 0
  ) with (fillfactor = 50)`,
  // The newest version of each record.
  `create table quotewire.record (
    workspace_id text collate "C" not null,
    kind text collate "C" not null,
    id text collate "C" not null,
    version integer not null,
    parent text collate "C",
    status text collate "C",
    line text collate "C",
    labels text[] collate "C" not null,
    created_at bigint not null,
    updated_at bigint not null,
    expires_at bigint,
    body text not null,
    primary key (workspace_id, kind, id)
  ) with (fillfactor = 85)`,
  `create index record_parent on quotewire.record (workspace_id, parent, kind, id) where parent is not null`,
  // Its condition always holds. Only who repeats it is planned by this index, so that it is never taken for the key.
  `create index record_age on quotewire.record (workspace_id, kind, created_at) where ${hasAge}`,
  // The versions before the newest, of kinds that keep them.
  `create table quotewire.older_version (
    like quotewire.record,
    primary key (workspace_id, kind, id, version)
  )`,
  `create table quotewire.event (
    workspace_id text collate "C" not null,
    number bigint not null,
    id text collate "C" not null,
    occurred_at bigint not null,
    body text not null,
    primary key (workspace_id, number)
  )`,
  // Due work. A job without a lane waits in real time (ready_at), one of a lane in workspace time, behind its lane.
  `create table quotewire.job (
    workspace_id text collate "C" not null,
    number bigint not null,
    kind text collate "C" not null,
    due_at bigint not null,
    ready_at bigint not null,
    lane text collate "C",
    lease integer not null default 0,
    expired_leases integer not null default 0,
    held boolean not null default false,
    leased_until bigint,
    payload text not null,
    primary key (workspace_id, number)
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
  `create index job_ready on quotewire.job (ready_at) where lane is null`,
  `create index job_waiting on quotewire.job (workspace_id, lane, due_at, number)
    where lane is not null and leased_until is null`,
  `create index job_leased on quotewire.job (workspace_id, lane, leased_until)
    where lane is not null and leased_until is not null`,
  // The lines in which jobs wait, as their jobs say: when the next can be claimed, and when the first lease ends.
  `create table quotewire.lane (
    workspace_id text collate "C" not null,
    name text collate "C" not null,
    max_leased integer not null,
    urgent boolean not null,
    ready_at bigint,
    lapses_at bigint,
    primary key (workspace_id, name)
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
  `create index lane_urgent on quotewire.lane (ready_at) where urgent and ready_at is not null`,
  `create index lane_ready on quotewire.lane (ready_at) where not urgent and ready_at is not null`,
  `create index lane_lapses on quotewire.lane (lapses_at) where lapses_at is not null`,
  `create table quotewire.tally (
    workspace_id text collate "C" not null,
    name text collate "C" not null,
    window_start bigint not null,
    window_ms bigint not null,
    total bigint not null,
    primary key (workspace_id, name, window_start, window_ms)
  ) with (fillfactor = 50)`,
  `create index tally_end on quotewire.tally ((window_start + window_ms))`
]
