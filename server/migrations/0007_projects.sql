-- A project is a Git repository; each of its branches is an environment, and both carry variables.

alter table projects
  add column description text not null default '',
  add column attributes jsonb not null default '{}',
  add column owner_id uuid references users on delete set null,
  add column namespace text,
  add column default_branch text not null default 'main',
  add column default_domain text,
  add column timezone text not null default 'UTC',
  -- What was asked for with the contract; nothing is charged.
  add column environments_max integer not null default 1000,
  add column storage_mib integer not null default 5120,
  add column user_licenses integer not null default 1,
  -- What differs from the settings of the installation.
  add column settings jsonb not null default '{}',
  -- The key with which private repositories are fetched; its private half is sealed.
  add column client_public_key text,
  add column client_key_sealed text,
  add column build_cache_generation integer not null default 0,
  -- Since when its API and Git server have been running, as far as its users can tell.
  add column restarted_at timestamptz not null default now(),
  drop constraint projects_status_check,
  add constraint projects_status_check check (status in ('requested', 'active', 'failed', 'suspended', 'deleting', 'deleted'));
create index projects_listed on projects (organization_id, created_at, id) where status <> 'deleted';

create table environments (
  project_id text not null references projects,
  id text not null check (length(id) between 1 and 250),
  machine_name text not null,
  title text not null,
  attributes jsonb not null default '{}',
  type text not null check (type in ('production', 'staging', 'development')),
  parent text,
  status text not null default 'inactive' check (status in ('active', 'inactive', 'paused', 'deleting')),
  clone_parent_on_create boolean not null default true,
  deployment_target text not null default 'local',
  is_dedicated boolean not null default false,
  is_pr boolean not null default false,
  has_remote boolean not null default false,
  http_access jsonb not null default '{"is_enabled": true, "addresses": [], "basic_auth": {}}',
  enable_smtp boolean not null default false,
  restrict_robots boolean not null default true,
  enable_manual_deployments boolean not null default false,
  default_domain text,
  max_instance_count integer,
  head_commit text check (head_commit ~ '^[0-9a-f]{40}$'),
  -- How far the branch and its parent's are apart; null where there is nothing to compare.
  commits_ahead integer,
  commits_behind integer,
  last_active_at timestamptz,
  last_backup_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (project_id, id),
  unique (project_id, machine_name),
  foreign key (project_id, parent) references environments (project_id, id),
  check (parent <> id)
);
create index environments_parent on environments (project_id, parent);

create table project_variables (
  project_id text not null references projects on delete cascade,
  name text not null,
  -- Of a sensitive variable only the sealed value is kept.
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  visible_build boolean not null default true,
  visible_runtime boolean not null default true,
  application_scope text[] not null default '{}',
  attributes jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (project_id, name),
  check (is_sensitive = (value is null) and is_sensitive = (value_sealed is not null))
);

create table environment_variables (
  project_id text not null,
  environment_id text not null,
  name text not null,
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  visible_build boolean not null default false,
  visible_runtime boolean not null default true,
  application_scope text[] not null default '{}',
  is_enabled boolean not null default true,
  is_inheritable boolean not null default true,
  attributes jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (project_id, environment_id, name),
  foreign key (project_id, environment_id) references environments on delete cascade,
  check (is_sensitive = (value is null) and is_sensitive = (value_sealed is not null))
);

-- A push that Git is about to accept: recorded before its refs move and gone once they are recorded as activities, so that neither can be lost.
create table pushes (
  id bigint primary key generated always as identity,
  project_id text not null references projects,
  user_id uuid references users on delete set null,
  updates jsonb not null,
  options jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp()
);
create index pushes_project on pushes (project_id);
