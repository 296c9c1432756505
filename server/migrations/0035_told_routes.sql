-- Domains change the routes of what runs, and touch no container. Until the next deployment, this is what the apps were told when they started; null: the
-- routes as they are.
alter table deployments add column told_routes json;
