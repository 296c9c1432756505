-- Environments of which something may have to be told to the code host of the project, written down with what happened. Only projects with such an integration
-- have any. Told is what is true at the moment of telling, so rows say of what and not what.
create table report_news (
  id bigint primary key generated always as identity,
  project_id text not null references projects on delete cascade,
  environment text not null
);
create index report_news_project on report_news (project_id, environment);

create function note_report_news(project text, environments text[]) returns void language plpgsql as $$
begin
  if exists (select from integrations where project_id = project
      and type in ('bitbucket', 'bitbucket_server', 'gitea', 'github', 'gitlab')) then
    insert into report_news (project_id, environment) select project, unnest(environments);
    perform pg_notify('offshoot', 'reconcile report to code hosts');
  end if;
end $$;

create function note_activity_to_report() returns trigger language plpgsql as $$
begin
  perform note_report_news(new.project_id, new.environments);
  return null;
end $$;
create trigger activity_to_report after insert on activities for each row
  when (new.environments <> '{}' and new.type <> 'environment.cron')
  execute function note_activity_to_report();
create trigger activity_change_to_report after update of state on activities for each row
  when (old.state is distinct from new.state and new.environments <> '{}' and new.type <> 'environment.cron')
  execute function note_activity_to_report();

create function note_environment_to_report() returns trigger language plpgsql as $$
begin
  perform note_report_news(new.project_id, array[new.id]);
  return null;
end $$;
create trigger environment_to_report after update of is_mirrored on environments for each row
  when (old.is_mirrored is distinct from new.is_mirrored)
  execute function note_environment_to_report();

-- A pull request from a fork has no environment, and yet there is something to tell.
create function note_pull_request_to_report() returns trigger language plpgsql as $$
begin
  perform note_report_news(project_id, array['pr-' || coalesce(new.number, old.number)])
  from integrations where id = coalesce(new.integration_id, old.integration_id);
  return null;
end $$;
create trigger pull_request_to_report after insert or delete on pull_requests for each row
  execute function note_pull_request_to_report();
create trigger pull_request_change_to_report after update on pull_requests for each row
  when (old.* is distinct from new.*)
  execute function note_pull_request_to_report();

-- What a code host was told of an environment. It outlives the environment: one that comes back under the same name has the same comment.
create table code_host_reports (
  integration_id text not null references integrations on delete cascade,
  environment text not null,
  -- The state that was last told of each of the latest commits, and because of which activity.
  statuses jsonb not null default '{}',
  -- By which our comment is known again.
  comment_key text not null,
  comment_id text,
  -- A hash of the text that it has.
  comment_text text,
  primary key (integration_id, environment)
);

-- Tokens that are about to be replaced, or have been: the host voids the old one before we have the new one.
create table token_rotations (
  integration_id text primary key references integrations on delete cascade,
  token_fingerprint text not null,
  begun_at timestamptz not null default clock_timestamp()
);
