-- Organizations own projects; people belong to them with permissions; teams and single people are let into projects.
-- What must never be inconsistent is held here: an owner is a member, access to a project is for members only, and ends with membership.

create table organizations (
  id text primary key,
  type text not null default 'flexible' check (type in ('fixed', 'flexible')),
  owner_id uuid not null references users,
  namespace text not null default 'offshoot',
  name text not null check (name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  label text not null,
  country text not null default '' check (country ~ '^([A-Z]{2})?$'),
  capabilities text[] not null default '{teams}',
  vendor text not null default 'offshoot',
  billing_profile_id text,
  billing_legacy boolean not null default false,
  security_contact text not null default '',
  status text not null default 'active' check (status in ('active', 'restricted', 'suspended', 'deleted')),
  enforce_mfa boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index organizations_name on organizations (namespace, name) where status <> 'deleted';
create index organizations_owner on organizations (owner_id);
create index organizations_label on organizations (label, id);
create index organizations_created on organizations (created_at, id);
create index organizations_updated on organizations (updated_at, id);

create table organization_members (
  organization_id text not null references organizations on delete cascade,
  user_id uuid not null references users on delete cascade,
  permissions text[] not null default '{}'
    check (permissions <@ array['admin', 'billing', 'members', 'plans', 'projects:create', 'projects:list']),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (organization_id, user_id)
);
create index organization_members_user on organization_members (user_id);
create index organization_members_created on organization_members (organization_id, created_at, user_id);
create index organization_members_updated on organization_members (organization_id, updated_at, user_id);

-- Deferred: organization and owner's membership are made in one transaction.
alter table organizations add constraint organizations_owner_is_member
  foreign key (id, owner_id) references organization_members (organization_id, user_id) deferrable initially deferred;

create table projects (
  id text primary key check (id ~ '^[a-z0-9]+$'),
  organization_id text not null references organizations,
  subscription_id integer not null generated always as identity unique,
  region text not null,
  title text not null default '',
  type text not null default 'grid' check (type in ('grid', 'dedicated')),
  plan text not null default 'flexible',
  status text not null default 'requested' check (status in ('requested', 'active', 'failed', 'suspended', 'deleted')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (id, organization_id)
);
create index projects_organization on projects (organization_id);

-- One person's access to one project.
create table user_access (
  project_id text not null,
  user_id uuid not null,
  organization_id text not null,
  permissions text[] not null check (cardinality(permissions) > 0 and permissions <@ array[
    'admin', 'viewer', 'development:admin', 'development:contributor', 'development:viewer', 'staging:admin', 'staging:contributor',
    'staging:viewer', 'production:admin', 'production:contributor', 'production:viewer']),
  granted_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, user_id),
  foreign key (project_id, organization_id) references projects (id, organization_id) on delete cascade,
  foreign key (organization_id, user_id) references organization_members (organization_id, user_id) on delete cascade
);
create index user_access_user on user_access (user_id, project_id);
create index user_access_member on user_access (organization_id, user_id);

create table teams (
  id text primary key,
  organization_id text not null references organizations on delete cascade,
  label text not null,
  project_permissions text[] not null default '{}' check (project_permissions <@ array[
    'admin', 'viewer', 'development:admin', 'development:contributor', 'development:viewer', 'staging:admin', 'staging:contributor',
    'staging:viewer', 'production:admin', 'production:contributor', 'production:viewer']),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (id, organization_id)
);
create unique index teams_label on teams (organization_id, lower(label));
create index teams_by_label on teams (organization_id, label, id);
create index teams_by_creation on teams (organization_id, created_at, id);
create index teams_by_update on teams (organization_id, updated_at, id);

create table team_members (
  team_id text not null,
  user_id uuid not null,
  organization_id text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (team_id, user_id),
  foreign key (team_id, organization_id) references teams (id, organization_id) on delete cascade,
  foreign key (organization_id, user_id) references organization_members (organization_id, user_id) on delete cascade
);
create index team_members_user on team_members (user_id, team_id);
create index team_members_member on team_members (organization_id, user_id);
create index team_members_created on team_members (team_id, created_at, user_id);

-- One team's access to one project; what it may do there is the team's.
create table team_access (
  team_id text not null,
  project_id text not null,
  organization_id text not null,
  granted_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (team_id, project_id),
  foreign key (team_id, organization_id) references teams (id, organization_id) on delete cascade,
  foreign key (project_id, organization_id) references projects (id, organization_id) on delete cascade
);
create index team_access_project on team_access (project_id, team_id);

-- An invitation to an organization, or to a project of it. Whoever holds the link and the address can accept it, once.
create table invitations (
  id uuid primary key default gen_random_uuid(),
  organization_id text not null references organizations on delete cascade,
  project_id text,
  email text not null check (email = lower(email)),
  -- Of the organization, or of the project where there is one.
  permissions text[] not null,
  state text not null default 'pending' check (state in ('pending', 'processing', 'accepted', 'cancelled', 'error')),
  owner_id uuid not null references users on delete cascade,
  token_fingerprint text not null unique,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz,
  foreign key (project_id, organization_id) references projects (id, organization_id) on delete cascade
);
create unique index invitations_pending_organization on invitations (organization_id, email) where state = 'pending' and project_id is null;
create unique index invitations_pending_project on invitations (project_id, email) where state = 'pending' and project_id is not null;
create index invitations_organization on invitations (organization_id, updated_at, id);
create index invitations_project on invitations (project_id, updated_at, id);
