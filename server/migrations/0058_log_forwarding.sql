-- Whoever forwards logs is told at once when integrations come, change or go, with whatever made them so.
create function nudge_log_forwarding() returns trigger language plpgsql as $$
begin
  perform pg_notify('offshoot', 'reconcile forward logs');
  return null;
end $$;

create trigger integrations_changed after insert or delete or update of settings, secrets_sealed on integrations
  for each statement execute function nudge_log_forwarding();
