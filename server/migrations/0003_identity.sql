-- The rest of what is known of a person, each part in a row of its own, made when it is first written.

create table profiles (
  user_id uuid primary key references users on delete cascade,
  company_type text not null default '',
  company_role text not null default '',
  vat_number text not null default '',
  customer_type text not null default 'individual' check (customer_type in ('individual', 'corporation', 'government')),
  legal_entity_name text not null default '',
  billing_contact text not null default '',
  currency text not null default 'EUR' check (currency ~ '^[A-Z]{3}$'),
  ui_colorscheme text not null default 'light' check (ui_colorscheme in ('light', 'dark')),
  default_catalog text not null default '',
  project_options_url text not null default '',
  marketing boolean not null default false,
  updated_at timestamptz not null default now()
);

create table addresses (
  user_id uuid primary key references users on delete cascade,
  country text not null default '' check (country ~ '^([A-Z]{2})?$'),
  name_line text not null default '',
  premise text not null default '',
  sub_premise text not null default '',
  thoroughfare text not null default '',
  administrative_area text not null default '',
  sub_administrative_area text not null default '',
  locality text not null default '',
  dependent_locality text not null default '',
  postal_code text not null default ''
);

-- Pictures as we encoded them; users.picture is their address.
create table pictures (
  user_id uuid primary key references users on delete cascade,
  version text not null,
  content_type text not null,
  content bytea not null
);
create unique index pictures_version on pictures (version);

-- What was mailed to an address and waits for its holder: a new e-mail address, a new password.
create table mailed_links (
  token_fingerprint text primary key,
  user_id uuid not null references users on delete cascade,
  purpose text not null check (purpose in ('change-email', 'reset-password')),
  email text,
  expires_at timestamptz not null,
  unique (user_id, purpose)
);

-- One device per person; the secret is sealed.
create table passcodes (
  user_id uuid primary key references users on delete cascade,
  sealed text not null,
  -- The last time step whose code was used: a code works once.
  step_used integer not null default 0,
  created_at timestamptz not null default now()
);

create table recovery_codes (
  user_id uuid not null references users on delete cascade,
  fingerprint text not null,
  primary key (user_id, fingerprint)
);

create table phone_verifications (
  sid text primary key,
  user_id uuid not null references users on delete cascade,
  phone_number text not null,
  code_fingerprint text not null,
  attempts integer not null default 0,
  expires_at timestamptz not null,
  unique (user_id)
);
alter table users add column phone_number text;
-- Only a verified number is kept, and it is one person's.
create unique index users_phone_number on users (phone_number) where phone_number is not null;
create index users_created on users (created_at, id);

-- Sign-ins through another identity provider.
create table connections (
  user_id uuid not null references users on delete cascade,
  provider text not null,
  provider_type text not null,
  is_mandatory boolean not null default false,
  subject text not null,
  email_address text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (user_id, provider),
  unique (provider, subject)
);
