-- Whether a backup of an environment is being made is asked with every environment that is shown.

create index backups_being_made on backups (project_id, environment_id) where status = 'CREATED' and not restorable;
