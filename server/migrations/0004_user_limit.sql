-- How many people an organization may have; null is as many as it likes. Set by an operator.
alter table organizations add column users_max integer check (users_max > 0);

-- Operators list all organizations, by name unless they ask otherwise.
create index organizations_by_name on organizations (name, id);
