-- Who did what. Nothing refers to anything: a record outlives what it tells of, until it is as old as records get.
create table audit (
  id text primary key,
  created_at timestamptz not null default clock_timestamp(),
  user_id uuid not null,
  -- The name of the operation of the API, or the type of the activity that began otherwise, such as a push.
  operation text not null,
  -- What kind of thing it was done to.
  kind text not null,
  summary text not null,
  -- The address of the thing.
  target text not null,
  -- The person whom it concerns: whose membership, access, token or key it is.
  subject_id uuid,
  organization_id text,
  project_id text,
  activity_id text,
  -- From where; empty where nobody asked over HTTP.
  address text not null
);
create index audit_organization on audit (organization_id, created_at, id);
create index audit_subject on audit (subject_id, created_at) where organization_id is null;
create index audit_created on audit (created_at);
