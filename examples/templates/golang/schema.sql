create table if not exists links (name text primary key, target text not null, visits integer not null default 0);
insert into links (name, target, visits)
  select * from (values ('go', 'https://go.dev/', 12), ('trees', 'https://en.wikipedia.org/wiki/Tree', 7)) as first
  where not exists (select from links);
