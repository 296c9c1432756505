-- Sizes that people chose and that no deployment has made so yet, and how much of the machine each deployment is given.

alter table environments
  -- {services, webapps, workers}: by name, those of {profile_size, instance_count, disk} that the next deployment is to have.
  add column chosen_sizes jsonb not null default '{}',
  -- Whether new containers wait for somebody to choose their size: a deployment was asked for it with `resources.init`, and has not come about.
  add column sizes_by_hand boolean not null default false;

alter table deployments
  -- Of all that it runs and keeps: CPUs, and MB. So that what the machine has promised can be added up.
  add column cpu double precision not null default 0,
  add column memory integer not null default 0,
  add column disk integer not null default 0;
