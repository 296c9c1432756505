-- Since when a backup is known to be damaged in every place that has it: it is not offered any more, and goes after a while, unless it is found whole again.

alter table backups add column damaged_at timestamptz;
alter table backups add check (damaged_at is null or (not restorable and stored is not null));
