-- Service types that the operator described, each as its file was written: they come back with a backup of the installation, as what runs by them does.
create table service_types (
  name text primary key check (name ~ '^[a-z][a-z0-9-]{0,47}$'),
  description text not null,
  added_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
