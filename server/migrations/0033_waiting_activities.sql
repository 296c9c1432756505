-- How many activities of an organization may wait at once; whoever asks for more is told so. What follows by itself from what was accepted before is not refused.
alter table quotas add column activities integer check (activities >= 1),
  drop constraint quotas_of_organizations,
  add constraint quotas_of_organizations check (project_id is null or num_nonnulls(projects, builds, activities) = 0);
update quotas set activities = 1000 where project_id is null;

-- With what people call the party, and how many activities may wait on its behalf. Null: any number.
create or replace view parties as
  select projects.id as project_id, organizations.id as party, organizations.owner_id::text as outer_party,
    'The organization ' || organizations.name as party_title,
    (select activities from quotas where quotas.organization_id = organizations.id or num_nonnulls(quotas.organization_id, quotas.project_id) = 0
      order by quotas.organization_id nulls last limit 1) as activities_most
  from projects join organizations on organizations.id = projects.organization_id;
