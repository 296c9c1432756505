-- What runs for environments: slugs that builds made, and deployments, each with all that it was made from.

alter table projects
  -- PLATFORM_PROJECT_ENTROPY, made with the first deployment.
  add column entropy_sealed text;

alter table environments
  -- Names all that is on the machine for it: containers, network, volumes. A new one with each activation; null while it is inactive.
  add column stack_id text unique check (stack_id ~ '^[a-z2-7]{13}$'),
  -- The last attempt to deploy: {successful, reason, commands, at}.
  add column last_deployment jsonb;

create table slugs (
  -- <project>-<app>-<tree>-<configuration>
  id text primary key,
  project_id text not null references projects,
  app text not null,
  tree_id text not null,
  config_id text not null,
  -- The volume that holds it.
  volume text not null unique,
  bytes bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  last_used_at timestamptz not null default clock_timestamp()
);
create index slugs_project on slugs (project_id, last_used_at);

create table deployments (
  id text primary key,
  project_id text not null,
  environment_id text not null,
  stack_id text not null,
  number integer not null check (number > 0),
  status text not null default 'preparing' check (status in ('preparing', 'current', 'replaced', 'failed')),
  commit_id text not null,
  -- The normalised configuration; json, as the order of rules and redirects counts.
  model json not null,
  -- By application: {slug_id, tree_id, config_id, volume}.
  slugs jsonb not null,
  -- {services, webapps, workers}: by name {profile_size, instance_count, disk}.
  sizes jsonb not null,
  -- By app and worker: the number of the deployment that its containers were started for.
  generations jsonb not null default '{}',
  -- As resolved, by address.
  routes json not null,
  -- {http_access, enable_smtp, restrict_robots}, as they were.
  settings jsonb not null,
  -- Variables with their values, and the accounts of services with their passwords.
  secrets_sealed text not null,
  activity_id text,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (project_id, environment_id, stack_id, number),
  foreign key (project_id, environment_id) references environments on delete cascade
);
create unique index deployments_current on deployments (project_id, environment_id) where status = 'current';
