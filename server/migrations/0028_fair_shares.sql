-- On whose behalf a project uses what is limited and shared: its organization, and outside of it whoever owns that, who may own several.
create view parties as
  select projects.id as project_id, organizations.id as party, organizations.owner_id::text as outer_party
  from projects join organizations on organizations.id = projects.organization_id;

-- How many builds an organization may have at once; further ones wait. Of builds, as of projects, only organizations have a number.
alter table quotas add column builds integer check (builds >= 1),
  drop constraint quotas_projects, add constraint quotas_of_organizations check (project_id is null or num_nonnulls(projects, builds) = 0);

-- The row of nobody is what an organization may have that has no row of its own. Generous: it is there so that nobody takes everything unnoticed.
alter table quotas drop constraint quotas_check, add constraint quotas_check check (num_nonnulls(organization_id, project_id) <= 1);
create unique index quotas_default on quotas ((true)) where organization_id is null and project_id is null;
insert into quotas (projects, environments, builds) values (100, 500, 4);
