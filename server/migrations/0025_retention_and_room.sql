-- Which backups stay follows from which there are, and from the policy. Where neither has changed since, there is nothing to decide, and nothing is read.

create table applied_retention (
  project_id text not null,
  environment_id text not null,
  -- A digest of all that it was decided from.
  basis text not null,
  primary key (project_id, environment_id),
  foreign key (project_id, environment_id) references environments on delete cascade
);

create index backups_kept on backups (project_id, environment_id, updated_at) where status = 'CREATED' and restorable;
-- Those that go by themselves.
create index backups_expiring on backups (expires_at) where status = 'CREATED' and (orphaned_at is not null or damaged_at is not null);

-- MB of the pool that nothing is on. Null: nobody has looked yet.
alter table machine_amounts add column disk_free double precision;
