-- One order for each organization and month, and the invoices that follow from it. They outlive the organization. Amounts are whole numbers of
-- the smallest unit of the currency.
create table orders (
  id bigint generated always as identity primary key,
  organization_id text not null,
  -- The first day of the month.
  month date not null check (extract(day from month) = 1),
  currency text not null default 'XXX',
  status text not null default 'pending'
    check (status in ('completed', 'past_due', 'pending', 'canceled', 'payment_failed_soft_decline', 'payment_failed_hard_decline')),
  lines jsonb not null default '[]',
  baseprice bigint not null default 0,
  discount bigint not null default 0,
  voucher bigint not null default 0,
  vat bigint not null default 0,
  vat_percent text not null default '0',
  total bigint not null default 0,
  -- Who pays, as it was when the order was last refreshed.
  payer jsonb not null default '{}',
  -- What the prepayment has paid of it.
  prepaid bigint not null default 0,
  refreshed_at timestamptz,
  closed_at timestamptz,
  due_on date,
  paid_on timestamptz,
  -- Where whoever pays has to confirm the payment; empty: nowhere.
  authorization_url text not null default '',
  unique (organization_id, month)
);
create index orders_open on orders (month, id) where closed_at is null;
create index orders_unpaid on orders (due_on) where closed_at is not null and status in ('pending', 'payment_failed_soft_decline');

create table invoices (
  id bigint generated always as identity primary key,
  -- Counted without gaps.
  number integer not null unique,
  invoice_number text not null unique,
  type text not null check (type in ('invoice', 'credit_memo')),
  order_id bigint not null references orders,
  related_invoice_id bigint references invoices,
  organization_id text not null,
  status text not null check (status in ('paid', 'charged_off', 'pending', 'refunded', 'canceled', 'refund_pending')),
  currency text not null,
  total bigint not null,
  issued_on date not null,
  due_on date,
  notes text not null default '',
  -- All that is printed.
  document jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((type = 'credit_memo') = (related_invoice_id is not null))
);
-- An order has one invoice.
create unique index invoices_of_order on invoices (order_id) where type = 'invoice';
create index invoices_organization on invoices (organization_id, id);
create index invoices_related on invoices (related_invoice_id) where related_invoice_id is not null;

create table invoice_numbers (
  is_only boolean primary key default true check (is_only),
  last integer not null
);
insert into invoice_numbers (last) values (0);

-- What was closed or issued never changes: only how far it is paid.
create function keep_closed_orders() returns trigger language plpgsql as $$
begin
  if old.closed_at is null then
    if tg_op = 'DELETE' then return old; end if;
    return new;
  end if;
  if tg_op = 'DELETE' or (old.organization_id, old.month, old.currency, old.lines, old.baseprice, old.discount, old.voucher, old.vat, old.vat_percent,
      old.total, old.payer, old.prepaid, old.closed_at, old.due_on)
    is distinct from (new.organization_id, new.month, new.currency, new.lines, new.baseprice, new.discount, new.voucher, new.vat, new.vat_percent,
      new.total, new.payer, new.prepaid, new.closed_at, new.due_on) then
    raise exception 'The order % is closed and cannot change', old.id;
  end if;
  return new;
end $$;
create trigger keep_closed_orders before update or delete on orders for each row execute function keep_closed_orders();

create function keep_issued_invoices() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or (old.number, old.invoice_number, old.type, old.order_id, old.related_invoice_id, old.organization_id, old.currency, old.total,
      old.issued_on, old.due_on, old.notes, old.document)
    is distinct from (new.number, new.invoice_number, new.type, new.order_id, new.related_invoice_id, new.organization_id, new.currency, new.total,
      new.issued_on, new.due_on, new.notes, new.document) then
    raise exception 'The invoice % is issued and cannot change', old.invoice_number;
  end if;
  return new;
end $$;
create trigger keep_issued_invoices before update or delete on invoices for each row execute function keep_issued_invoices();

-- What a payment provider has told, by its own ids: each is heard once.
create table payment_events (
  id text primary key,
  invoice_id bigint not null references invoices,
  event text not null,
  received_at timestamptz not null default now()
);
