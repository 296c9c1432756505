-- What operators ask for from the console: an update of the images now, and the end of a session over SSH.
alter table installation add column image_update_asked_at timestamptz;
alter table ssh_sessions add column is_ending boolean not null default false;
