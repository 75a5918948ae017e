-- Where a cell is. A schema has this table since its first move, at the old place as at the new one. Hosts read it when their
-- statements no longer find their tables, and when they start.
create schema if not exists quotewire;

-- One row. `state` is
-- - `live`: the cell is here;
-- - `leaving`: it is still here, and is being copied to another place;
-- - `held`: its tables are put aside, for a moment. The cell is here again if the move is not decided by `held_until`;
-- - `left`: it is at the other place of the same `move_id`;
-- - `arriving`: it is being copied to here. It is here as soon as the other place says `left`.
create table if not exists quotewire.place (
  only_one boolean primary key default true check (only_one),
  state text not null check (state in ('live', 'leaving', 'held', 'left', 'arriving')),
  -- How often the cell has moved before it came here.
  epoch integer not null,
  -- The move that is under way; null if none is.
  move_id text,
  -- The last mark that was replicated.
  mark text,
  held_until timestamptz
);

-- Replicated like the other tables: a row that has arrived shows that all before it has arrived.
create table if not exists quotewire.move_mark (
  id text primary key
);
