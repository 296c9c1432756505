-- Copies of environments, kept off the pool. A row is there before anything is copied, so that whatever is found, on the pool or in the store, can be told
-- to which backup it belongs; it can be restored from once all of it was read back. It belongs to an environment by name, and outlives it.

create table backups (
  -- A ULID: they sort by age.
  id text primary key check (id ~ '^[0-9A-HJKMNP-TV-Z]{26}$'),
  project_id text not null references projects,
  environment_id text not null,
  -- Of the environment, then: who may see that may see this.
  environment_type text not null check (environment_type in ('production', 'staging', 'development')),
  -- ABANDONED: it came to nothing, is shown to nobody, and what is left of it is removed.
  status text not null default 'CREATED' check (status in ('CREATED', 'DELETING', 'ABANDONED')),
  -- All of it is in the store, and was read back from there.
  restorable boolean not null default false,
  safe boolean not null,
  automated boolean not null,
  -- Of automated ones: they are counted in each environment, from 1.
  index integer check (index > 0),
  -- Of automated ones: when it was due.
  slot_at timestamptz,
  commit_id text not null,
  -- What was deployed: deployments are forgotten, so all of it is here, variables and passwords included.
  deployment text,
  stack_sealed text not null,
  -- [{name, kind, of, type, bytes_max, bytes}]: what is in the store under its name.
  parts jsonb not null default '[]',
  -- What to ask the store for; null until it has everything.
  stored jsonb,
  -- MB.
  size_of_volumes integer,
  size_used integer,
  size_object_storage integer,
  attributes jsonb not null default '{}',
  -- Where it was made, if elsewhere: {project, environment, ...}.
  origin jsonb,
  -- The activities that make and delete it; nobody's, where it goes by itself.
  activity_id text,
  deletion_id text,
  expires_at timestamptz,
  -- Since when its environment is gone.
  orphaned_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  check (not restorable or stored is not null),
  check (automated or (slot_at is null and index is null))
);
create index backups_environment on backups (project_id, environment_id, created_at desc, id desc);
create index backups_going on backups (project_id) where status <> 'CREATED';
create unique index backups_slot on backups (project_id, environment_id, slot_at) where status <> 'ABANDONED';

-- Of each environment: when an automated backup was last due, and what came of it. One row, changed by whoever starts one: so each is started once.
create table backup_slots (
  project_id text not null,
  environment_id text not null,
  slot_at timestamptz not null,
  attempts integer not null default 1,
  tried_at timestamptz not null default clock_timestamp(),
  is_done boolean not null default false,
  -- How many were made so far.
  made integer not null default 0,
  primary key (project_id, environment_id),
  foreign key (project_id, environment_id) references environments on delete cascade
);
