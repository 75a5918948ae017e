-- The table that records migrations. Every migration begins with this, so it must be safe to repeat.
create schema if not exists quotewire;

create table if not exists quotewire.migration (
  number integer primary key,
  name text not null,
  serves_from integer not null,
  applied_at timestamptz not null default now()
);
