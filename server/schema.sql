-- Generated from the migrations by ./offshoot schema; do not edit.

create table api_tokens (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  name text not null,
  fingerprint text not null,
  mfa_on_creation boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone,
  constraint api_tokens_fingerprint_key UNIQUE (fingerprint),
  constraint api_tokens_user_id_name_key UNIQUE (user_id, name),
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table attempts (
  key text not null,
  count integer not null,
  window_ends_at timestamp with time zone not null,
  constraint attempts_pkey PRIMARY KEY (key)
);

create table installation (
  only_one boolean not null default true,
  created_at timestamp with time zone not null default now(),
  first_credentials text,
  constraint installation_pkey PRIMARY KEY (only_one),
  constraint installation_only_one_check CHECK (only_one)
);

create table installation_keys (
  name text not null,
  sealed text not null,
  created_at timestamp with time zone not null default now(),
  constraint installation_keys_pkey PRIMARY KEY (name)
);

create table migrations (
  name text not null,
  hash text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table oauth_records (
  model text not null,
  id_hash text not null,
  sealed text not null,
  uid text,
  grant_id text,
  user_id uuid,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint oauth_records_pkey PRIMARY KEY (model, id_hash),
  constraint oauth_records_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX oauth_records_expiry ON public.oauth_records USING btree (expires_at);
CREATE INDEX oauth_records_grant ON public.oauth_records USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oauth_records_uid ON public.oauth_records USING btree (uid) WHERE (uid IS NOT NULL);
CREATE INDEX oauth_records_user ON public.oauth_records USING btree (user_id) WHERE (user_id IS NOT NULL);

create table ssh_keys (
  key_id integer not null generated always as identity,
  user_id uuid not null,
  title text not null,
  value text not null,
  fingerprint text not null,
  changed timestamp with time zone not null default now(),
  constraint ssh_keys_value_key UNIQUE (value),
  constraint ssh_keys_pkey PRIMARY KEY (key_id),
  constraint ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX ssh_keys_user ON public.ssh_keys USING btree (user_id);

create table users (
  id uuid not null default gen_random_uuid(),
  uid integer not null generated always as identity,
  namespace text not null default 'offshoot'::text,
  username text not null,
  email text not null,
  email_verified boolean not null default false,
  first_name text not null default ''::text,
  last_name text not null default ''::text,
  picture text not null default ''::text,
  company text not null default ''::text,
  website text not null default ''::text,
  country text not null default ''::text,
  deactivated boolean not null default false,
  is_operator boolean not null default false,
  phone_number_verified boolean not null default false,
  mfa_enabled boolean not null default false,
  sso_enabled boolean not null default false,
  password_hash text,
  token_generation integer not null default 0,
  consented_at timestamp with time zone,
  consent_method text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint users_uid_key UNIQUE (uid),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_consent_method_check CHECK ((consent_method = ANY (ARRAY['opt-in'::text, 'text-ref'::text]))),
  constraint users_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text)),
  constraint users_email_check CHECK ((email = lower(email)))
);
CREATE UNIQUE INDEX users_email ON public.users USING btree (email);
CREATE UNIQUE INDEX users_username ON public.users USING btree (namespace, lower(username));
