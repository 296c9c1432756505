-- Which certificates were put on which CDN, so that they are put there again exactly when they, or the integration, have changed.
create table cdn_certificates (
  integration_id text not null references integrations on delete cascade,
  certificate_id text not null references certificates on delete cascade,
  -- What was sent, or is about to be: the certificate with its chain, for these hosts, by the integration as it was then.
  mark text not null,
  primary key (integration_id, certificate_id)
);

-- How much of each forwarding of logs has been counted. Its file counts on and on, and has a generation of its own, so that nothing is counted twice.
create table counted_forwardings (
  name text not null,
  generation text not null,
  bytes bigint not null,
  primary key (name, generation)
);

-- What was counted, by the hour in which it was; gone with the hour that is closed.
create table forwarded_logs (
  hour timestamptz not null,
  project_id text not null,
  environment text not null,
  bytes bigint not null,
  primary key (hour, project_id, environment)
);

-- What sinks outside took of logs.
alter table usage_hours add column forwarded_bytes bigint;
