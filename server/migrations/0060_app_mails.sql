-- Mail that apps gave to the relay: there from before its sender is told that it was taken until it was sent to everybody or given up. Everything that people
-- wrote, addresses among it, is sealed.
create table app_mails (
  id text primary key,
  -- What an environment has sent does not go with the environment, but with its project.
  project_id text not null references projects on delete cascade,
  environment_id text not null,
  -- Whose log tells what became of it: of which app, in the folder of which environment.
  machine_name text not null,
  app text not null,
  bytes integer not null,
  -- From whom, and for whom it was not taken yet.
  envelope_sealed text not null,
  message_sealed text not null,
  -- The mail server put it off, so it is out of the order of its environment, and tried by itself.
  is_deferred boolean not null default false,
  -- Nobody tries any more; it stays until that is told.
  is_given_up boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);
create index app_mails_environment on app_mails (project_id, environment_id) include (bytes);
create index app_mails_given_up on app_mails (id) where is_given_up;

-- What is still to be told to owners, in the logs of their apps.
create table app_mail_notes (
  id text primary key,
  project_id text not null references projects on delete cascade,
  machine_name text not null,
  app text not null,
  text_sealed text not null,
  created_at timestamptz not null default clock_timestamp()
);

-- To how many recipients each environment has sent, for its limits.
create table app_mail_hours (
  project_id text not null references projects on delete cascade,
  environment_id text not null,
  hour timestamptz not null,
  recipients integer not null,
  primary key (project_id, environment_id, hour)
);

-- Whoever connects is known by the network of its stack.
create index deployments_occupying on deployments (stack_id) where status in ('preparing', 'current');
