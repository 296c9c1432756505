-- What the operator lets an organization, or a single project, have of the machine. Null: as much as there is.

create table quotas (
  organization_id text unique references organizations (id) on delete cascade,
  project_id text unique references projects (id) on delete cascade,
  -- That are active or paused.
  environments integer check (environments >= 0),
  -- CPUs, and MB, of all that runs; disks also of what is paused or asleep.
  cpu double precision check (cpu >= 0),
  memory integer check (memory >= 0),
  disk integer check (disk >= 0),
  check (num_nonnulls(organization_id, project_id) = 1)
);
