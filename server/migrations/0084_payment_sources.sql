-- Organizations of which the payment provider knows how they pay.
create table payment_sources (
  organization_id text primary key references organizations on delete cascade,
  added_at timestamptz not null default now()
);

-- Events of the provider that are about no invoice.
alter table payment_events alter column invoice_id drop not null;
