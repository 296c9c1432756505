-- What is known of the code host of an integration, and when it is looked at next. One row for each integration with a code host, made with it.
create table code_mirrors (
  integration_id text primary key references integrations on delete cascade,
  -- Since the repository was verified: what the host calls it, also once it was renamed, and where people find it.
  repository_id text,
  repository_url text,
  default_branch text,
  sync_at timestamptz not null default clock_timestamp()
);
create index code_mirrors_due on code_mirrors (sync_at);

-- What the host said that there is to look at, until that was done. News about the same thing is one row, whose version is raised: whoever did what an older
-- version asked for does not cross out the newer one.
create table code_host_news (
  integration_id text not null references integrations on delete cascade,
  about text not null,
  pull_request integer,
  version bigint not null default 1,
  noted_at timestamptz not null default clock_timestamp(),
  primary key (integration_id, about)
);

-- The open pull requests of the host. One from a fork has no environment before somebody approved a commit of it, and then has that commit.
create table pull_requests (
  integration_id text not null references integrations on delete cascade,
  number integer not null,
  details jsonb not null,
  approved_commit text,
  approved_by uuid references users on delete set null,
  approved_at timestamptz,
  -- What its environment was made of; null: it has none.
  revision text,
  primary key (integration_id, number),
  check ((approved_commit is null) = (approved_at is null))
);

-- Whether the branch is the host's, and whether its code is that of a fork, whose authors must not come to know the project's secrets.
alter table environments add column is_mirrored boolean not null default false;
alter table environments add column is_from_fork boolean not null default false;

create function note_code_mirror() returns trigger language plpgsql as $$
begin
  insert into code_mirrors (integration_id) values (new.id)
  on conflict (integration_id) do update set sync_at = clock_timestamp();
  perform pg_notify('offshoot', 'reconcile sync code hosts');
  return null;
end $$;

-- With other settings, other branches and pull requests may have environments.
create trigger integration_with_code_host after insert or update of settings, secrets_sealed on integrations for each row
  when (new.type in ('bitbucket', 'bitbucket_server', 'gitea', 'github', 'gitlab'))
  execute function note_code_mirror();
insert into code_mirrors (integration_id) select id from integrations where type in ('bitbucket', 'bitbucket_server', 'gitea', 'github', 'gitlab');
