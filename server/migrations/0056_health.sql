-- What is wrong with an environment: one row for each check and what it is about (an app, a service, a name; empty: the environment as a whole). It stays for a
-- while after the end, so that what comes back soon is known to have been there before.
create table health_alerts (
  -- Of this time that it was opened: receivers tell by it what belongs together.
  id text not null unique,
  project_id text not null references projects on delete cascade,
  -- No reference: alerts of an environment that is gone have to be ended, and that told.
  environment_id text not null,
  check_name text not null,
  subject text not null,
  severity text not null check (severity in ('warning', 'critical')),
  -- What was found when it was opened, or became worse, in words and as a number.
  text text not null,
  value double precision not null,
  opened_at timestamptz not null,
  -- Since when nothing is wrong any more; the alert ends once that has lasted for a while.
  away_since timestamptz,
  ended_at timestamptz,
  -- Whether it ended because nobody looks at the environment any more.
  is_unwatched boolean not null default false,
  -- How often it came back soon after it had ended.
  returns integer not null default 0,
  primary key (project_id, environment_id, check_name, subject)
);
create index health_alerts_open on health_alerts (project_id) where ended_at is null;
create index health_alerts_ended on health_alerts (ended_at) where ended_at is not null;

-- Which integration was told that an alert is open, and how bad it was then. The row goes with the message that it has ended.
create table health_alerts_told (
  alert_id text not null references health_alerts (id) on delete cascade,
  integration_id text not null references integrations on delete cascade,
  severity text not null check (severity in ('warning', 'critical')),
  primary key (alert_id, integration_id)
);
create index health_alerts_told_integration on health_alerts_told (integration_id);

-- How often each container had been restarted, and how many of its processes the kernel had killed for want of memory, at the last look.
create table health_counts (
  container text primary key,
  started_at timestamptz,
  restarts integer not null,
  out_of_memory_kills integer not null
);

-- What became of apps and services between two looks. Kept for as long as checks look back.
create table health_incidents (
  id bigint primary key generated always as identity,
  project_id text not null references projects on delete cascade,
  machine_name text not null,
  kind text not null check (kind in ('restart', 'out of memory')),
  service text not null,
  count integer not null,
  at timestamptz not null
);
create index health_incidents_environment on health_incidents (project_id, machine_name, at);
create index health_incidents_at on health_incidents (at);

-- Integrations that said hello to their receiver.
create table health_greetings (
  integration_id text primary key references integrations on delete cascade
);

create index integrations_health on integrations (project_id) where type like 'health.%';

-- Failures are told at once, and not with the next regular look.
create function look_for_failures() returns trigger language plpgsql as $$
begin
  if exists (select from integrations where project_id = new.project_id and type like 'health.%') then
    perform pg_notify('offshoot', 'reconcile notice failures');
  end if;
  return null;
end $$;

create trigger deployment_ended after update of last_deployment on environments for each row
  when (old.last_deployment is distinct from new.last_deployment)
  execute function look_for_failures();
create trigger backup_ended after update of result on activities for each row
  when (new.type = 'environment.backup' and old.result is distinct from new.result)
  execute function look_for_failures();

create function greet_receiver() returns trigger language plpgsql as $$
begin
  perform pg_notify('offshoot', 'reconcile greet receivers');
  return null;
end $$;

create trigger health_integration_added after insert on integrations for each row
  when (new.type like 'health.%')
  execute function greet_receiver();
