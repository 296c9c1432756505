-- Apps that report their transactions themselves, and when they last did: what the edge saw of the same requests is no transaction then.
create table own_reports (
  project_id text not null,
  environment_id text not null,
  application text not null,
  reported_at timestamptz not null,
  primary key (project_id, environment_id, application),
  foreign key (project_id, environment_id) references environments (project_id, id) on delete cascade
);
