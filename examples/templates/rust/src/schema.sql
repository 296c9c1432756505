create table if not exists readings (
  id bigint generated always as identity primary key, station text not null, degrees integer not null, at timestamptz not null default now()
);
insert into readings (station, degrees)
  select * from (values ('Harbour', 11), ('Hilltop', 4), ('Orchard', 9)) as first
  where not exists (select from readings);
