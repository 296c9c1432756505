-- What people said about the number of instances of an app or worker that the platform chooses: one row for each that they said something about.
create table autoscaling_settings (
  project_id text not null,
  environment_id text not null,
  service text not null,
  settings jsonb not null,
  -- Whether a trigger is on: from then on nobody else chooses the number.
  is_on boolean not null,
  primary key (project_id, environment_id, service),
  foreign key (project_id, environment_id) references environments (project_id, id) on delete cascade
);
create index autoscaling_settings_on on autoscaling_settings (project_id, environment_id) where is_on;

alter table environments
  -- When the platform last decided on a number of instances, whatever came of it: it waits from then on.
  add column autoscale_decided_at timestamptz,
  add column last_autoscale_up_at timestamptz,
  add column last_autoscale_down_at timestamptz;

-- Whether nothing but the number of instances differs from the deployment before: there is nothing in it to go back to.
alter table deployments add column is_scaling boolean not null default false;
