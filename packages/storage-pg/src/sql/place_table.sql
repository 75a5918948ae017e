-- What a location (a schema in a database) records about its cell. The first move creates this table at both locations.
-- Hosts read it when they start, and when a statement does not find its tables.
create schema if not exists quotewire;

-- One row. `state` is
-- - `live`: the cell is here.
-- - `leaving`: the cell is still here but is being copied to another location.
-- - `held`: the cell's tables are renamed for a moment. If the move is not decided by `held_until`, the cell is here
--   again.
-- - `left`: the cell is at the other location of the same `move_id`.
-- - `arriving`: the cell is being copied here. It is here as soon as the other location says `left`.
create table if not exists quotewire.place (
  only_one boolean primary key default true constraint place_only_one_row check (only_one),
  state text not null
    constraint place_state_known check (state in ('live', 'leaving', 'held', 'left', 'arriving')),
  -- How many times the cell had moved when it arrived here.
  epoch integer not null,
  -- The current move; null if there is none.
  move_id text,
  -- The last mark that was replicated to this location.
  mark text,
  held_until timestamptz
);

-- This table is replicated like the cell's other tables. When a row has arrived, everything before it has arrived too.
create table if not exists quotewire.move_mark (
  id text primary key
);
