-- What the issuers of certificates say of them when asked by OCSP. A certificate that takes the place of another begins anew.
alter table certificates
  -- When the issuer is asked next. Null: it answers no such questions.
  add column ask_status_at timestamptz default clock_timestamp(),
  -- Questions without an answer that counts, since the last one.
  add column status_failures integer not null default 0,
  -- Clients are to refuse the certificate without the issuer's answer.
  add column must_staple boolean not null default false,
  -- The answer in base64, as it is sent along with the certificate, and when it ends.
  add column stapled text,
  add column stapled_until timestamptz,
  -- When the issuer revoked it.
  add column revoked_at timestamptz,
  -- What is wrong because of all that, in words for the owner.
  add column status_trouble text;
create index certificates_ask_status_at on certificates (ask_status_at);
