-- What is taken off, and what is paid ahead. What an order may still need outlives the organization. Amounts are whole numbers of the smallest unit of the currency.
create table vouchers (
  code text primary key,
  currency text not null,
  amount bigint not null check (amount > 0),
  -- Empty: nobody has applied it.
  organization_id text not null default '',
  applied_at timestamptz,
  created_at timestamptz not null default now()
);
create index vouchers_organization on vouchers (organization_id) where organization_id <> '';

-- How much of a voucher an order took; of an open order this is worked out anew with each refresh.
create table voucher_uses (
  code text not null references vouchers,
  order_id bigint not null references orders,
  amount bigint not null check (amount > 0),
  primary key (code, order_id)
);
create index voucher_uses_order on voucher_uses (order_id);

create table discounts (
  id integer generated always as identity primary key,
  organization_id text not null,
  type text not null check (type in ('allowance', 'startup', 'enterprise')),
  currency text not null,
  -- For each month.
  monthly bigint not null check (monthly > 0),
  start_month date not null check (extract(day from start_month) = 1),
  -- Null: without end.
  months integer check (months > 0),
  is_ended boolean not null default false,
  created_at timestamptz not null default now()
);
create index discounts_organization on discounts (organization_id);

create table prepayments (
  organization_id text primary key references organizations on delete cascade,
  -- What pays where the balance does not suffice. Null: nothing, so nothing more can be afforded.
  fallback text check (fallback = 'invoice')
);

create table prepayment_transactions (
  id bigint generated always as identity primary key,
  organization_id text not null,
  order_id bigint references orders,
  message text not null,
  currency text not null,
  -- Negative: taken by an order.
  amount bigint not null,
  created_at timestamptz not null default now()
);
create index prepayment_transactions_organization on prepayment_transactions (organization_id, id);
create unique index prepayment_transactions_order on prepayment_transactions (order_id) where order_id is not null;

create table billing_alerts (
  organization_id text primary key references organizations on delete cascade,
  active boolean not null default true,
  -- Whole units of the organization's currency.
  threshold bigint not null check (threshold > 0),
  mode text not null default 'estimate' check (mode in ('estimate', 'spent')),
  alerts_sent integer not null default 0,
  last_alert_at timestamptz,
  updated_at timestamptz not null default clock_timestamp()
);
create index billing_alerts_active on billing_alerts (organization_id) where active;
