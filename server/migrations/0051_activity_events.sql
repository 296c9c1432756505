-- Each change of an activity's state, written down with the change itself until the integrations that it concerns have been told. Only projects
-- that have such integrations have any. Deliveries are activities too: that they begin and end is told to nobody, or there would be no end of it.
create table activity_events (
  id bigint primary key generated always as identity,
  project_id text not null references projects on delete cascade,
  activity_id text not null references activities on delete cascade,
  state text not null,
  result text,
  completion_percent integer not null,
  created_at timestamptz not null default clock_timestamp()
);
create index activity_events_activity on activity_events (activity_id);
create index integrations_hearing on integrations (project_id) where hears_activities;

create function note_activity_event() returns trigger language plpgsql as $$
begin
  if exists (select from integrations where project_id = new.project_id and hears_activities) then
    insert into activity_events (project_id, activity_id, state, result, completion_percent)
    values (new.project_id, new.id, new.state, new.result, new.completion_percent);
    perform pg_notify('offshoot', 'reconcile tell integrations');
  end if;
  return null;
end $$;

create trigger activity_began after insert on activities for each row
  when (new.type not in ('integration.webhook', 'integration.script'))
  execute function note_activity_event();
create trigger activity_changed_state after update of state on activities for each row
  when (old.state is distinct from new.state and new.type not in ('integration.webhook', 'integration.script'))
  execute function note_activity_event();
