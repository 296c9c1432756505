-- What the operator asks for what is used. A list is never changed: another one takes its place, from its day on.
create table price_lists (
  version integer generated always as identity primary key,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  effective_from date not null,
  -- Amounts are written as decimals in text.
  content jsonb not null,
  created_at timestamptz not null default now()
);
create index price_lists_effective on price_lists (currency, effective_from, version);

create table billing (
  is_only boolean primary key default true check (is_only),
  -- What was used before this day is billed, or being billed, by the prices of then.
  billed_until date not null
);
insert into billing (billed_until) values ('1970-01-01');
