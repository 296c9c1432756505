-- The operator suspends an organization: its environments are paused, and nothing of it can be changed, until it is resumed.
alter table organizations add suspended_at timestamptz, add suspension_reason text not null default '';
update organizations set suspended_at = updated_at where status = 'suspended';
alter table organizations add constraint organizations_suspended_at check ((status = 'suspended') = (suspended_at is not null));
create index organizations_suspended on organizations (id) where status = 'suspended';
create index projects_suspended on projects (organization_id) where status = 'suspended';

-- Environments that ran until their organization was suspended, and run again when it is resumed.
alter table environments add paused_by_suspension boolean not null default false;
create index environments_paused_by_suspension on environments (project_id) where paused_by_suspension;
