-- Metering: what was allocated from when until when, and what each hour came to. Nothing here refers to environments, projects or organizations:
-- what they used stays when they are gone.

create table allocations (
  id bigint generated always as identity primary key,
  organization_id text not null,
  project_id text not null,
  -- The machine name. Empty: of the project as a whole.
  environment text not null,
  -- What has it: 'deployment', 'backups', 'task <activity>' or 'build <name>'.
  subject text not null,
  -- Changes with the amounts, so that they need not be compared.
  version text not null,
  -- By app, worker, service or task: CPUs, MB of memory, MB of disk.
  amounts jsonb not null,
  since timestamptz not null,
  -- Null: it still has it.
  until timestamptz,
  check (until >= since)
);
create unique index allocations_open on allocations (project_id, environment, subject) where until is null;
create index allocations_ended on allocations (until);

-- Whose usage is metered, once for all hours.
create table metered (
  id integer generated always as identity primary key,
  organization_id text not null,
  project_id text not null,
  environment text not null,
  service text not null,
  kind text not null,
  unique (project_id, environment, service, kind, organization_id)
);
create index metered_organizations on metered (organization_id);

-- A row for each hour in which there was something; null stands for nothing, and takes no room.
create table usage_hours (
  metered_id integer not null references metered,
  hour timestamptz not null,
  -- Milliseconds for which there was a CPU; of builds, how long they took.
  allocated_time bigint,
  -- CPU in milliseconds of one CPU; memory and storage in seconds of one MB.
  cpu_allocated bigint,
  memory_allocated bigint,
  storage_allocated bigint,
  cpu_used bigint,
  memory_used bigint,
  storage_used bigint,
  -- Bytes at the containers' own links.
  received bigint,
  sent bigint,
  -- At the edge.
  requests bigint,
  request_bytes bigint,
  response_bytes bigint,
  primary key (metered_id, hour)
);
create index usage_hours_hour on usage_hours using brin (hour);

create table metering (
  is_only boolean primary key default true check (is_only),
  -- Hours before this one never change.
  closed_until timestamptz not null,
  -- When somebody last saw that what is allocated is there, and in which boot of the machine.
  seen_at timestamptz not null,
  boot_id text not null
);
