-- Changes that wait for somebody to say go, and going back to what was deployed before.

alter table activities
  -- The lane in which it rests, done as far as it can be without anybody seeing it, until it is released; null once it is.
  add column staged_in text;
create index activities_staged on activities (project_id, staged_in) where state = 'staged';

alter table environments
  -- After a rollback: what is deployed in the place of the branch's head, until new code comes.
  add column pinned_commit text,
  add column last_maintenance_at timestamptz;

create index deployments_environment on deployments (project_id, environment_id, number desc);
