create table handled_events (
  event_id text primary key,
  handled_at timestamptz not null default now()
);

create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  quote_id text not null
);
