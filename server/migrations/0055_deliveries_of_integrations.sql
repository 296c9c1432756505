-- What was sent for an integration is shown with it, and goes with it.
alter table deliveries
  -- What it tells of, fit to be shown to those who see the integration.
  add about jsonb not null default '{}',
  add foreign key (integration_id) references integrations on delete cascade,
  drop constraint deliveries_state_check,
  -- `cancelled`: somebody did not want it any more while it waited.
  add constraint deliveries_state_check check (state in ('waiting', 'delivered', 'failed', 'cancelled'));

-- What a script of an integration keeps from one run to the next.
create table integration_storage (
  integration_id text not null references integrations on delete cascade,
  key text not null,
  value jsonb not null,
  primary key (integration_id, key)
);
