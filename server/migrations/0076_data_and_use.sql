-- Whose data an environment's is a copy of, and as of when; null: it is its own. What was cloned before anybody wrote it down came with the environment.
alter table environments add column data_taken_at timestamptz, add column data_taken_from text;
update environments set data_taken_at = created_at, data_taken_from = parent
  where parent is not null and clone_parent_on_create and stack_id is not null;

-- What environments use and hold, as the machine was last looked at: a row each, written over every minute, so that whoever shows many asks nothing else.
create table environment_use (
  project_id text not null,
  machine_name text not null,
  measured_at timestamptz not null,
  cpu_used double precision not null,
  memory_bytes bigint not null,
  data_bytes bigint,
  own_bytes bigint,
  primary key (project_id, machine_name),
  foreign key (project_id, machine_name) references environments (project_id, machine_name) on delete cascade on update cascade
) with (fillfactor = 50);
