-- Connections over SSH into running apps, while they last: to be listed, and counted against the limits.

create table ssh_sessions (
  id text primary key,
  user_id uuid not null references users on delete cascade,
  project_id text not null,
  environment_id text not null,
  -- The app, or <app>--<worker>.
  runs text not null,
  instance integer not null check (instance >= 0),
  -- Where the client is.
  address text not null,
  -- What it signed in with, in the words of access tokens.
  via text not null,
  started_at timestamptz not null default clock_timestamp(),
  -- Renewed by the process that has the connection; old: that process is gone, and the connection with it.
  seen_at timestamptz not null default clock_timestamp(),
  foreign key (project_id, environment_id) references environments on delete cascade
);
create index ssh_sessions_user on ssh_sessions (user_id);
create index ssh_sessions_environment on ssh_sessions (project_id, environment_id);
