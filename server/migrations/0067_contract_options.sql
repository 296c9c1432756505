-- What a contract says beside plan and sizes, by the published names.
alter table projects add column contract_options jsonb not null default '{}';

-- When the use of a project is told by mail: one row for each kind of use that somebody has set.
create table usage_alerts (
  project_id text not null references projects on delete cascade,
  id text not null,
  active boolean not null default true,
  threshold bigint not null check (threshold > 0),
  alerts_sent integer not null default 0,
  last_alert_at timestamptz,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (project_id, id)
);
create index usage_alerts_active on usage_alerts (project_id) where active;
