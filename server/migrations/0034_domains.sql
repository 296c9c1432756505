-- Domains: names of their own under which the environments of a project answer.

-- The registered names (example.org of www.example.org) that domains lie in. Over the whole installation, each is one project's.
create table domain_claims (
  name text primary key check (name ~ '^[a-z0-9-]+(\.[a-z0-9-]+)+$'),
  project_id text not null references projects,
  -- Whether it stays without any domain that uses it: somebody asked for it by name.
  is_kept boolean not null default false,
  -- When it was last seen, in DNS or over HTTP, that the project's people have the name.
  proven_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (project_id, name)
);
create index domain_claims_names on domain_claims using gist (names_of(name));

-- Names that a project gave up. DNS may lead here for years, so another organization gets one only with a proof that it is theirs.
create table released_names (
  name text primary key,
  organization_id text not null,
  released_at timestamptz not null default clock_timestamp()
);

create table domains (
  project_id text not null references projects,
  -- Lower case, ASCII, without a dot at its end; `*.example.org` stands for all names below it.
  name text primary key check (name ~ '^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$'),
  -- Null: it is one of production, whichever environment that is.
  environment_id text,
  -- Elsewhere: the domain of production in whose place it is.
  replacement_for text,
  registered_name text not null,
  attributes jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (project_id, name),
  foreign key (project_id, environment_id) references environments on delete cascade,
  constraint domains_replacement_for foreign key (project_id, replacement_for) references domains (project_id, name) on delete cascade,
  constraint domains_registered_name foreign key (project_id, registered_name) references domain_claims (project_id, name),
  constraint domains_one_replacement unique (project_id, environment_id, replacement_for),
  check ((environment_id is null) = (replacement_for is null))
);
create index domains_attached on domains (project_id, replacement_for);
create index domains_claimed on domains (project_id, registered_name);
