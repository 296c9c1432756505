-- What is to be sent to others, recorded in the transaction of what it tells of, and sent afterwards. Deliveries of one order key are a lane: they are
-- numbered as their transactions commit, and are sent in that order. Whoever sends for a lane holds it by a lease.
create table delivery_lanes (
  order_key text primary key,
  -- On whose behalf it is sent, for a fair share of what is sent at once.
  party text not null,
  -- The number of the next one to be sent, and of the last one that was recorded.
  head bigint not null default 1,
  tail bigint not null default 1,
  due_at timestamptz not null default clock_timestamp(),
  -- How often in a row the receiver failed.
  failures integer not null default 0,
  holder text,
  leased_until timestamptz
);
create index delivery_lanes_due on delivery_lanes (due_at) where head <= tail;
create index delivery_lanes_held on delivery_lanes (holder) where holder is not null;

create table deliveries (
  id text primary key,
  kind text not null,
  order_key text not null,
  position bigint not null,
  organization_id text references organizations on delete cascade,
  project_id text references projects on delete cascade,
  integration_id text,
  -- Null once it is of no use any more and could be one to somebody else.
  payload_sealed text,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  -- The one that somebody asked to have sent again.
  repeats text,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  check ((state = 'waiting') = (finished_at is null))
);
create index deliveries_waiting on deliveries (order_key, position) where state = 'waiting';
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
create index deliveries_integration on deliveries (integration_id, id) where integration_id is not null;
create index deliveries_project on deliveries (project_id) where project_id is not null;
create index deliveries_organization on deliveries (organization_id) where organization_id is not null;

create table delivery_attempts (
  delivery_id text not null references deliveries on delete cascade,
  number integer not null,
  begun_at timestamptz not null,
  milliseconds integer not null,
  outcome text not null check (outcome in ('delivered', 'refused', 'failed')),
  -- What went out and what came back, fit to be shown: no secrets, and no more than so much.
  request json,
  response json,
  -- Why it failed, in words.
  trouble text,
  primary key (delivery_id, number)
);
