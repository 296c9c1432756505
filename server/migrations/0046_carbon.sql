-- The account of energy and carbon. A day is closed once, from what was measured on it, and never changed later.

-- How energy and carbon are worked out from what is measured: a row for each change of the settings or of the machine. A day is worked out by what held when it ended.
create table carbon_methods (
  since timestamptz primary key,
  method jsonb not null
);

-- Days that are closed, each with what no environment is charged with: the platform's own. Microwatt-hours, and micrograms of CO2 equivalent.
create table carbon_closings (
  day date primary key,
  method_since timestamptz not null references carbon_methods (since),
  own_energy bigint not null,
  own_emissions bigint not null,
  closed_at timestamptz not null default now()
);

-- What each environment is charged with, by day. It outlives environments and projects, so that the totals of their organizations stay what they were.
create table carbon_days (
  project_id text not null,
  day date not null references carbon_closings (day),
  -- The environment's machine name.
  environment text not null,
  processors bigint not null,
  idle bigint not null,
  memory bigint not null,
  disk bigint not null,
  network bigint not null,
  emissions bigint not null,
  primary key (project_id, day, environment)
);
