-- Tasks have sizes like all that runs; and while one runs, it counts among what the machine has given out.

update deployments set sizes = sizes || '{"tasks": {}}' where not sizes ? 'tasks';

create table running_tasks (
  activity_id text primary key references activities (id) on delete cascade,
  project_id text not null,
  environment_id text not null,
  -- CPUs, and MB.
  cpu double precision not null,
  memory double precision not null
);
create index running_tasks_environment on running_tasks (project_id, environment_id);
