-- Every change that people can see is told to the API processes: what the thing is, where it is, and whose it is, so that each of them can decide who may
-- hear of it without asking the database. What a transaction changes several times is told once.
create function tell_change(kind text, segments text[], organization text, project text, environment_type text, person text) returns void
  language sql as $$
  select pg_notify('offshoot', 'change ' || jsonb_strip_nulls(jsonb_build_object('kind', kind, 'segments', segments, 'scope', jsonb_build_object(
    'organization', organization, 'project', project, 'environmentType', environment_type, 'user', person)))::text)
$$;

-- What belongs to an environment, or to a project where the row names no environment. Arguments: its kind, and the collection that it is in.
create function tell_change_in_project() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  environment text := changed ->> 'environment_id';
  project text := changed ->> 'project_id';
  organization text;
  type text;
begin
  -- The platform's own, such as its certificate, is no project's.
  if project is null then
    return null;
  end if;
  select organization_id into organization from projects where id = project;
  if environment is null then
    perform tell_change(tg_argv[0], array['projects', project, tg_argv[1]], organization, project, null, null);
  else
    -- Of an environment that is gone its own removal is told.
    select environments.type into type from environments where project_id = project and id = environment;
    if type is not null then
      perform tell_change(tg_argv[0], array['projects', project, 'environments', environment, tg_argv[1]], organization, project, type, null);
    end if;
  end if;
  return null;
end $$;

create function tell_environment() returns trigger language plpgsql as $$
declare
  changed environments := case when tg_op = 'DELETE' then old else new end;
  organization text;
begin
  select organization_id into organization from projects where id = changed.project_id;
  perform tell_change('environment', array['projects', changed.project_id, 'environments', changed.id], organization, changed.project_id, changed.type, null);
  return null;
end $$;

-- As activities themselves, it is for those who may see the most guarded of their environments.
create function tell_activity() returns trigger language plpgsql as $$
declare
  organization text;
  guarded text := (select each from unnest(array['production', 'staging', 'development']) with ordinality as types (each, n)
    where each = any (new.environment_types) order by n limit 1);
  environment text;
begin
  select organization_id into organization from projects where id = new.project_id;
  perform tell_change('activity', array['projects', new.project_id, 'activities', new.id], organization, new.project_id, guarded, null);
  foreach environment in array new.environments loop
    perform tell_change('activity', array['projects', new.project_id, 'environments', environment, 'activities', new.id],
      organization, new.project_id, guarded, null);
  end loop;
  return null;
end $$;

-- A project has two addresses: its own, and the one that its organization knows it by.
create function tell_project() returns trigger language plpgsql as $$
declare
  changed projects := case when tg_op = 'DELETE' then old else new end;
begin
  perform tell_change('project', array['projects', changed.id], changed.organization_id, changed.id, null, null);
  perform tell_change('contract', array['organizations', changed.organization_id, 'projects', changed.id], changed.organization_id, changed.id, null, null);
  return null;
end $$;

create function tell_organization() returns trigger language plpgsql as $$
declare
  changed organizations := case when tg_op = 'DELETE' then old else new end;
begin
  perform tell_change('organization', array['organizations', changed.id], changed.id, null, null, null);
  return null;
end $$;

create function tell_change_in_organization() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  organization text := changed ->> 'organization_id';
begin
  perform tell_change(tg_argv[0], array['organizations', organization, tg_argv[1]], organization, null, null, null);
  return null;
end $$;

create function tell_user() returns trigger language plpgsql as $$
begin
  perform tell_change('user', array['users', new.id::text], null, null, null, new.id::text);
  return null;
end $$;

create function tell_change_of_user() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  person text := changed ->> 'user_id';
begin
  perform tell_change(tg_argv[0], array['users', person, tg_argv[1]], null, null, null, person);
  return null;
end $$;

-- Who may see what has changed: of one person, or, where the row names none, of anybody. It is told before the changes that follow it.
create function tell_rights() returns trigger language plpgsql as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
begin
  perform pg_notify('offshoot', 'rights ' || coalesce(case when tg_table_name = 'users' then changed ->> 'id' else changed ->> 'user_id' end, ''));
  return null;
end $$;

create trigger environment_made_or_gone after insert or delete on environments for each row execute function tell_environment();
-- Every request to an environment may move the time of its last one, and the autoscaler notes each of its looks: neither is news.
create trigger environment_changed after update on environments for each row
  when (to_jsonb(old) - array['updated_at', 'last_active_at', 'autoscale_decided_at'] is distinct from to_jsonb(new) - array['updated_at', 'last_active_at', 'autoscale_decided_at'])
  execute function tell_environment();
create trigger activity_made after insert on activities for each row execute function tell_activity();
create trigger activity_changed after update of state, result, completion_percent, description, text, payload, cancel_requested_at on activities for each row
  when ((old.state, old.result, old.completion_percent, old.description, old.text, old.payload, old.cancel_requested_at)
    is distinct from (new.state, new.result, new.completion_percent, new.description, new.text, new.payload, new.cancel_requested_at))
  execute function tell_activity();
create trigger project_changed after insert or update or delete on projects for each row execute function tell_project();
create trigger organization_changed after insert or update or delete on organizations for each row execute function tell_organization();
create trigger user_changed after update on users for each row execute function tell_user();

create trigger deployment_told after insert or update or delete on deployments for each row execute function tell_change_in_project('deployment', 'deployments');
create trigger backup_told after insert or update or delete on backups for each row execute function tell_change_in_project('backup', 'backups');
create trigger cron_told after insert or update or delete on crons for each row execute function tell_change_in_project('cron', 'crons');
create trigger autoscaling_told after insert or update or delete on autoscaling_settings for each row
  execute function tell_change_in_project('autoscaling', 'autoscaling');
create trigger domain_told after insert or update or delete on domains for each row execute function tell_change_in_project('domain', 'domains');
create trigger environment_variable_told after insert or update or delete on environment_variables for each row
  execute function tell_change_in_project('variable', 'variables');
create trigger project_variable_told after insert or update or delete on project_variables for each row
  execute function tell_change_in_project('variable', 'variables');
create trigger certificate_told after insert or update or delete on certificates for each row
  execute function tell_change_in_project('certificate', 'certificates');
create trigger integration_told after insert or update or delete on integrations for each row
  execute function tell_change_in_project('integration', 'integrations');
create trigger user_access_told after insert or update or delete on user_access for each row execute function tell_change_in_project('access', 'user-access');
create trigger team_access_told after insert or update or delete on team_access for each row execute function tell_change_in_project('access', 'team-access');
create trigger member_told after insert or update or delete on organization_members for each row
  execute function tell_change_in_organization('member', 'members');
create trigger team_told after insert or update or delete on teams for each row execute function tell_change_in_organization('team', 'teams');
create trigger team_member_told after insert or update or delete on team_members for each row execute function tell_change_in_organization('team', 'teams');
create trigger api_token_told after insert or update or delete on api_tokens for each row execute function tell_change_of_user('api-token', 'api-tokens');
create trigger ssh_key_told after insert or update or delete on ssh_keys for each row execute function tell_change_of_user('ssh-key', 'ssh-keys');

create trigger member_rights after insert or update or delete on organization_members for each row execute function tell_rights();
create trigger organization_rights after update of owner_id, status, enforce_mfa or delete on organizations for each row execute function tell_rights();
create trigger user_access_rights after insert or update or delete on user_access for each row execute function tell_rights();
create trigger team_access_rights after insert or update or delete on team_access for each row execute function tell_rights();
create trigger team_member_rights after insert or update or delete on team_members for each row execute function tell_rights();
create trigger team_rights after update of project_permissions or delete on teams for each row execute function tell_rights();
create trigger user_rights after update of token_generation, deactivated, is_operator, mfa_enabled or delete on users for each row execute function tell_rights();
create trigger api_token_rights after delete on api_tokens for each row execute function tell_rights();
create trigger sign_in_rights after delete on oauth_records for each row when (old.model = 'Grant') execute function tell_rights();
