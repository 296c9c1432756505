-- Certificates of projects, with their keys.
create table certificates (
  id text primary key,
  project_id text not null references projects,
  certificate text not null,
  chain text[] not null default '{}',
  key_sealed text not null,
  -- Hosts that it is for, such as `www.example.org` and `*.example.org`.
  names text[] not null,
  expires_at timestamptz not null,
  -- It came from an authority by itself; others were given by people.
  is_provisioned boolean not null default false,
  -- Nothing is served with it.
  is_invalid boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index certificates_project on certificates (project_id);
