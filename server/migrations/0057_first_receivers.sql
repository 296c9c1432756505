-- New projects get an integration that mails their admins what is wrong. Whoever deletes it does not get it again; projects that were there before get none.
alter table projects add column has_first_receiver boolean not null default true;
alter table projects alter column has_first_receiver set default false;
create index projects_without_receiver on projects (id) where not has_first_receiver;

create function add_first_receiver() returns trigger language plpgsql as $$
begin
  perform pg_notify('offshoot', 'reconcile add first receivers');
  return null;
end $$;

create trigger project_became_active after insert or update of status on projects for each row
  when (new.status = 'active' and not new.has_first_receiver)
  execute function add_first_receiver();
