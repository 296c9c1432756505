-- Crons of what is deployed, and when each runs next. Rows follow from the current deployment of the environment: a deployment says whether its own are here.

create table crons (
  project_id text not null,
  environment_id text not null,
  app text not null,
  name text not null,
  spec text not null,
  -- The app's own; null: the project's.
  timezone text,
  -- The slot that has not come yet, or not been heeded yet.
  next_at timestamptz not null,
  -- The last slot that an activity was started for, and that activity.
  last_at timestamptz,
  activity_id text,
  -- Slots that came while a run waited already, since the last one that ran.
  left_out integer not null default 0,
  primary key (project_id, environment_id, app, name),
  foreign key (project_id, environment_id) references environments on delete cascade
);
create index crons_next on crons (next_at);

alter table deployments add column has_crons_scheduled boolean not null default false;
create index deployments_without_crons on deployments (id) where status = 'current' and not has_crons_scheduled;
