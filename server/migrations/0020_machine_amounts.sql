-- What the machine has to give out, as whoever has it found it: so that any process can refuse at once what cannot fit.

create table machine_amounts (
  is_only boolean primary key default true check (is_only),
  -- CPUs, and MB.
  cpu double precision not null,
  memory double precision not null,
  disk double precision not null,
  noted_at timestamptz not null default clock_timestamp()
);

-- How many projects an organization may have. Null: as many as it likes.
alter table quotas
  add column projects integer check (projects >= 0),
  add constraint quotas_projects check (projects is null or organization_id is not null);
