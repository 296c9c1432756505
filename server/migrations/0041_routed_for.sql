-- The settings that the routes of what runs were resolved with: where these have changed, the next start resolves them anew.
alter table installation add column routed_for text;
