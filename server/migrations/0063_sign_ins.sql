-- Where people are signed in: a row for each grant, which goes with it, noted when its tokens are asked for.
create table sign_ins (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users on delete cascade,
  grant_model text not null default 'Grant' check (grant_model = 'Grant'),
  grant_hash text not null,
  -- The session of the browser, where the sign-in lives as long as that.
  session_hash text,
  client_id text not null,
  user_agent text not null,
  address text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  unique (grant_model, grant_hash),
  foreign key (grant_model, grant_hash) references oauth_records on delete cascade
);
create index sign_ins_user on sign_ins (user_id);
