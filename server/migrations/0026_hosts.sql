-- Which environment has which host. What the edge serves follows from this table alone, so it is what decides between two who want the same name.

-- A restore of the platform that was interrupted drops tables and leaves types.
drop type if exists host_names cascade;

-- The names that a host stands for, as a range of names that are written backwards: those below a domain lie side by side then.
create type host_names as range (subtype = text, collation = "C");

-- `*.example.org` stands for example.org and for all that ends with .example.org; every other host for itself. (PostgreSQL
-- evaluates indexes without a search path, hence `public`.)
create function names_of(host text) returns host_names language sql immutable strict parallel safe as $$
  select case
    when host like '*.%' then public.host_names(reverse(substr(host, 3)) || '.', reverse(substr(host, 3)) || '/', '[)')
    else public.host_names(reverse(host) || '.', reverse(host) || '.', '[]')
  end
$$;

create table hosts (
  -- Lower case, ASCII, without a dot at its end.
  host text primary key check (host ~ '^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+$'),
  project_id text not null,
  environment_id text not null,
  -- Grows with each claim: of two that the edge knows for one host, the higher is the owner's.
  claim bigint generated always as identity,
  foreign key (project_id, environment_id) references environments on delete cascade,
  -- No two claims have a name in common; where an environment has a wildcard, it needs no claim of what the wildcard stands for.
  constraint hosts_one_owner exclude using gist (names_of(host) with &&)
);
create index hosts_environment on hosts (project_id, environment_id);

-- What the generated names of a project's environments have that those of others have not. It never leaves the installation.
alter table projects add column name_salt text not null default replace(gen_random_uuid()::text, '-', '');
