-- Previews that nobody visits may sleep: their containers stop, their data stays, and the next request starts them again. Their status stays active.

alter table environments
  -- Without a request; 0: it never sleeps; null: as the installation says.
  add column sleep_after_seconds integer check (sleep_after_seconds >= 0),
  -- Null: it is awake, or to be woken.
  add column sleeping_since timestamptz,
  -- It was asked for, and is not there yet.
  add column is_waking boolean not null default false,
  add column woken_at timestamptz,
  -- Why what should run could not be started the last time that was tried, in words for people.
  add column start_failure text,
  add constraint environments_sleeping check (sleeping_since is null or status = 'active');
