-- Durable work. An activity is recorded with the change that it follows from, claimed by a runner under a lease, and carried out in steps
-- whose results are kept, so that another runner goes on where one was killed. `fence` grows with every claim: whoever holds an older one
-- can store nothing any more.

create table activities (
  id text primary key,
  project_id text not null references projects on delete cascade,
  type text not null,
  queue text not null,
  environments text[] not null default '{}',
  environment_types text[] not null default '{}',
  integration text,
  state text not null default 'pending'
    check (state in ('pending', 'in_progress', 'complete', 'cancelled', 'staged', 'scheduled')),
  result text check (result in ('success', 'failure')),
  failure_reason text check (failure_reason in ('error', 'shell')),
  completion_percent integer not null default 0 check (completion_percent between 0 and 100),
  parameters jsonb not null default '{}',
  payload jsonb not null default '{}',
  description text,
  text text,
  timings jsonb not null default '{}',
  commands jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  completed_at timestamptz,
  cancelled_at timestamptz,
  expires_at timestamptz,

  -- What only the engine knows.
  position bigint not null generated always as identity,
  input jsonb not null default 'null',
  is_urgent boolean not null default false,
  is_cancellable boolean not null default true,
  is_undoing boolean not null default false,
  -- Why it is being undone, in the words that its log ends with.
  failure text,
  cancel_requested_at timestamptz,
  run_after timestamptz not null default '-infinity',
  runner text,
  lease_until timestamptz,
  fence integer not null default 0,
  attempts integer not null default 0
);
create index activities_project on activities (project_id, created_at desc, id);
create index activities_type on activities (project_id, type, created_at desc, id);
create index activities_open on activities (project_id, created_at desc, id) where state in ('pending', 'in_progress', 'scheduled', 'staged');
create index activities_waiting on activities (is_urgent desc, position) where state in ('pending', 'scheduled');
create index activities_running on activities (project_id, queue) where state = 'in_progress';
create index activities_expiry on activities (expires_at) where expires_at is not null;

-- What an activity must have to itself while it is open: its environments, or the project as a whole (''). The oldest open one of a lane goes first.
create table activity_lanes (
  activity_id text not null references activities on delete cascade,
  project_id text not null,
  lane text not null,
  position bigint not null,
  created_at timestamptz not null,
  -- How many the activity has in all.
  lanes integer not null default 1,
  is_open boolean not null default true,
  primary key (activity_id, lane)
);
create index activity_lanes_open on activity_lanes (project_id, lane, position) include (activity_id, lanes) where is_open;
create index activity_lanes_list on activity_lanes (project_id, lane, created_at desc, activity_id);

create table activity_steps (
  activity_id text not null references activities on delete cascade,
  name text not null,
  position integer not null,
  state text not null check (state in ('begun', 'done', 'undone')),
  result jsonb,
  primary key (activity_id, name)
);

create table activity_log (
  activity_id text not null references activities on delete cascade,
  position integer not null,
  at timestamptz not null,
  message text not null,
  primary key (activity_id, position)
);
