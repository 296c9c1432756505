-- What each project was contracted for, from when until when. Nothing here refers to projects or organizations: what they had stays when they are gone.
create table plan_records (
  id bigint generated always as identity primary key,
  organization_id text not null,
  project_id text not null,
  subscription_id integer not null,
  -- Who made the project or, if they are gone, the owner of its organization.
  owner_id uuid not null,
  region text not null,
  title text not null,
  plan text not null,
  contract_options jsonb not null,
  storage_mib integer not null,
  environments_max integer not null,
  user_licenses integer not null,
  status text not null check (status in ('active', 'suspended')),
  started_at timestamptz not null,
  -- Null: it still holds.
  ended_at timestamptz,
  check (ended_at >= started_at)
);
create unique index plan_records_open on plan_records (project_id) where ended_at is null;
create index plan_records_organization on plan_records (organization_id, started_at);

-- A record begins and ends with the change of the project itself, in its transaction.
create function note_plan() returns trigger language plpgsql as $$
declare
  what_counts constant text[] := array['organization_id', 'plan', 'contract_options', 'storage_mib', 'environments_max', 'user_licenses', 'status', 'region'];
begin
  if tg_op = 'UPDATE' then
    if (select bool_and(to_jsonb(old) -> field is not distinct from to_jsonb(new) -> field) from unnest(what_counts) as field) then
      if old.title <> new.title then
        update plan_records set title = new.title where project_id = new.id and ended_at is null;
      end if;
      return null;
    end if;
  end if;
  if tg_op <> 'INSERT' then
    update plan_records set ended_at = greatest(started_at, now()) where project_id = old.id and ended_at is null;
  end if;
  if tg_op <> 'DELETE' and new.status in ('active', 'suspended') then
    insert into plan_records (organization_id, project_id, subscription_id, owner_id, region, title, plan, contract_options, storage_mib,
      environments_max, user_licenses, status, started_at)
    select new.organization_id, new.id, new.subscription_id, coalesce(new.owner_id, organizations.owner_id), new.region, new.title, new.plan,
      new.contract_options, new.storage_mib, new.environments_max, new.user_licenses, new.status, now()
    from organizations where organizations.id = new.organization_id;
  end if;
  return null;
end $$;
create trigger note_plan after insert or update or delete on projects for each row execute function note_plan();

-- Of what was there before anybody wrote it down, the beginning is known.
insert into plan_records (organization_id, project_id, subscription_id, owner_id, region, title, plan, contract_options, storage_mib,
  environments_max, user_licenses, status, started_at)
select projects.organization_id, projects.id, projects.subscription_id, coalesce(projects.owner_id, organizations.owner_id), projects.region,
  projects.title, projects.plan, projects.contract_options, projects.storage_mib, projects.environments_max, projects.user_licenses,
  projects.status, projects.created_at
from projects join organizations on organizations.id = projects.organization_id where projects.status in ('active', 'suspended');

-- What an organization has beside its projects, by level.
create table organization_addons (
  organization_id text primary key references organizations on delete cascade,
  user_management text not null default '',
  support_level text not null default '',
  updated_at timestamptz not null default clock_timestamp()
);

-- How many users an organization had on a day at most, and with which add-ons. Days on which nobody looked were like the one before.
create table billed_users (
  organization_id text not null,
  day date not null,
  admin_users integer not null,
  viewer_users integer not null,
  user_management text not null,
  support_level text not null,
  primary key (organization_id, day)
);
