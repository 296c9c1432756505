-- What projects had of resources, each time that it changed. Allocations themselves go once their hours are metered.
create table resource_history (
  id bigint generated always as identity primary key,
  project_id text not null,
  -- The machine name; empty: the project as a whole.
  environment text not null,
  -- What changed it: deployment or backups.
  event_type text not null,
  -- Of the deployment; empty where it was given up, and for backups.
  event_id text not null,
  resource text not null,
  -- CPUs, or GB.
  quantity text not null,
  -- Who deployed; null where nobody did, such as when an environment falls asleep.
  user_id uuid,
  happened_at timestamptz not null
);
create index resource_history_project on resource_history (project_id, environment, event_type, resource, id);
create index resource_history_age on resource_history (happened_at);

-- What is there now was there from when it was noted on.
insert into resource_history (project_id, environment, event_type, event_id, resource, quantity, happened_at)
select project_id, environment, subject, case subject when 'deployment' then split_part(version, ' ', 1) else '' end, resource, trim_scale(round(sum(part), 6))::text, since
from allocations, jsonb_to_recordset(amounts) as amount (kind text, cpu numeric, memory numeric, disk numeric),
  lateral (values
    (case kind when 'service' then 'cpu_services' when 'backups' then null else 'cpu_app' end, cpu),
    (case kind when 'service' then 'memory_services' when 'backups' then null else 'memory_app' end, memory / 1024),
    (case kind when 'backups' then 'backup_storage' else 'storage_app_services' end, disk / 1024)) as had (resource, part)
where until is null and subject in ('deployment', 'backups') and resource is not null
group by project_id, environment, subject, version, since, resource having sum(part) > 0;
