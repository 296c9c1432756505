-- The domains that the routes of a deployment were resolved with: where changes of domains are staged, what runs goes on with these. Null in deployments from before.
alter table deployments add column domain_names json;
