-- Whether another repository was found under the name of the one that was connected: nothing is fetched from it, and nothing told to it.
alter table code_mirrors add column is_replaced boolean not null default false;
