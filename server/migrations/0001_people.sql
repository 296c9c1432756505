-- The installation itself: one row, written with the administrator in one transaction.
create table installation (
  only_one boolean primary key default true check (only_one),
  created_at timestamptz not null default now(),
  -- The first credentials, sealed, until they have been shown once.
  first_credentials text
);

-- Keys that every process of the installation shares, sealed with the secret key.
create table installation_keys (
  name text primary key,
  sealed text not null,
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key default gen_random_uuid(),
  -- The numeric id that older parts of the API speak of.
  uid integer not null generated always as identity unique,
  namespace text not null default 'offshoot',
  username text not null,
  email text not null check (email = lower(email)),
  email_verified boolean not null default false,
  first_name text not null default '',
  last_name text not null default '',
  picture text not null default '',
  company text not null default '',
  website text not null default '',
  country text not null default '' check (country ~ '^([A-Z]{2})?$'),
  deactivated boolean not null default false,
  is_operator boolean not null default false,
  phone_number_verified boolean not null default false,
  mfa_enabled boolean not null default false,
  sso_enabled boolean not null default false,
  password_hash text,
  -- Access tokens carry it; raising it refuses them all: signing out everywhere, a changed password.
  token_generation integer not null default 0,
  consented_at timestamptz,
  consent_method text check (consent_method in ('opt-in', 'text-ref')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index users_email on users (email);
create unique index users_username on users (namespace, lower(username));

create table api_tokens (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  name text not null,
  fingerprint text not null unique,
  mfa_on_creation boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_used_at timestamptz,
  unique (user_id, name)
);

create table ssh_keys (
  key_id integer primary key generated always as identity,
  user_id uuid not null references users on delete cascade,
  title text not null,
  -- Algorithm and key without the comment; a key signs in one person only.
  value text not null unique,
  -- MD5 in hexadecimal: released clients find the local file of a key by it.
  fingerprint text not null,
  changed timestamptz not null default now()
);
create index ssh_keys_user on ssh_keys (user_id);

-- What the OAuth2 library keeps: sessions, grants, codes, refresh tokens. Found by the hash of their secret; the content is sealed.
create table oauth_records (
  model text not null,
  id_hash text not null,
  sealed text not null,
  uid text,
  grant_id text,
  user_id uuid references users on delete cascade,
  consumed_at timestamptz,
  expires_at timestamptz,
  primary key (model, id_hash)
);
create index oauth_records_uid on oauth_records (uid) where uid is not null;
create index oauth_records_grant on oauth_records (grant_id) where grant_id is not null;
create index oauth_records_user on oauth_records (user_id) where user_id is not null;
create index oauth_records_expiry on oauth_records (expires_at);

-- Attempts to sign in, per account and per address: what slows guessing down, on every process alike.
create table attempts (
  key text primary key,
  count integer not null,
  window_ends_at timestamptz not null
);
