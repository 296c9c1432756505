-- Connections of a project with services outside: code hosts, receivers of activities, of health notices and of logs. What may be shown is in `settings`;
-- everything secret is sealed together in `secrets_sealed`, bound to the id.
create table integrations (
  id text primary key,
  project_id text not null references projects on delete cascade,
  type text not null,
  settings jsonb not null,
  secrets_sealed text not null,
  -- Whether it hears of activities (activity_events).
  hears_activities boolean not null,
  -- When the service outside last said that there is news.
  hooked_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index integrations_project on integrations (project_id, created_at, id);

-- What scripts of an integration are told.
create table integration_variables (
  integration_id text not null references integrations on delete cascade,
  name text not null,
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  attributes jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (integration_id, name),
  check (is_sensitive = (value is null) and is_sensitive = (value_sealed is not null))
);

create index activities_integration on activities (project_id, integration, created_at desc, id) where integration is not null;
