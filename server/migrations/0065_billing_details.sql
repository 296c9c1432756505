-- To whom an organization's invoices are addressed. An organization that has told nothing has no row, and is shown its defaults.
create table organization_addresses (
  organization_id text primary key references organizations on delete cascade,
  country text not null default '' check (country ~ '^([A-Z]{2})?$'),
  name_line text not null default '',
  premise text not null default '',
  sub_premise text not null default '',
  thoroughfare text not null default '',
  administrative_area text not null default '',
  sub_administrative_area text not null default '',
  locality text not null default '',
  dependent_locality text not null default '',
  postal_code text not null default ''
);

create table organization_profiles (
  organization_id text primary key references organizations on delete cascade,
  company_name text not null default '',
  legal_entity_name text not null default '',
  customer_type text not null default 'corporation' check (customer_type in ('individual', 'corporation', 'government')),
  vat_number text not null default '',
  -- Empty: the organization's owner is written to.
  billing_contact text not null default '',
  default_catalog text not null default '',
  project_options_url text not null default '',
  updated_at timestamptz not null default clock_timestamp()
);
