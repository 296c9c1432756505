-- Authorities of the installation's own, which sign for its own names. The newest one whose constraints fit the settings is in use; the others are kept,
-- because people trust them already, for settings that are changed back.
create table authorities (
  id bigint generated always as identity primary key,
  -- The root, as PEM.
  certificate text not null,
  key_sealed text not null,
  -- What the root is constrained to: each name stands for itself and all names below it.
  names text[] not null,
  addresses text[] not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Rises with every change that the edge has to be told of.
create sequence certificate_versions;

alter table certificates
  -- Null: it is the installation's own.
  alter column project_id drop not null,
  add column version bigint not null default nextval('certificate_versions'),
  -- The hosts that it was chosen for: the edge presents it for these, and for no other name that it may hold.
  add column serves text[] not null default '{}',
  -- Who issued it by itself: `authority <id>`, or the directory of an authority that speaks ACME. Null where people gave it.
  add column issued_by text,
  -- When one that came by itself is replaced, and when its issuer is asked again whether that is still so.
  add column renew_at timestamptz,
  add column ask_again_at timestamptz;
