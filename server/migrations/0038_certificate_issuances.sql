-- Where a project's certificates come from, where somebody chose another authority than the settings of the installation.
create table certificate_provisioners (
  project_id text primary key references projects,
  directory_url text not null,
  email text not null,
  eab_kid text,
  eab_hmac_key_sealed text,
  updated_at timestamptz not null default clock_timestamp()
);

-- Accounts at authorities that speak ACME, sealed with their keys.
create table acme_accounts (
  -- The project that chose the authority; an empty text where the installation's settings did.
  owner text not null,
  directory_url text not null,
  sealed text not null,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (owner, directory_url)
);

-- Certificates that are being had. Written after each step, so that whoever was killed goes on.
create table issuances (
  -- The certificate that it becomes, or whose place it takes.
  certificate_id text primary key,
  -- Null: the installation's own.
  project_id text references projects,
  names text[] not null,
  issued_by text not null,
  -- The value, which holds the private key. Null: it has to be begun, at first or after a refusal.
  sealed text,
  not_before timestamptz not null default clock_timestamp(),
  refusals integer not null default 0,
  -- What went wrong the last time, in words for the owner of the names.
  trouble text,
  -- False: nobody wants it any more; what was put up for the authority to see is taken down, and then the row goes.
  is_wanted boolean not null default true,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index issuances_project on issuances (project_id);

-- Owners are told once that a certificate of theirs nears its end.
alter table certificates add column owners_told_at timestamptz;

-- Proofs that the edge shows to authorities, for hosts whose certificates are being had.
create table edge_proofs (
  -- What the authority asks for: `http-01 www.example.org/.well-known/…`, `tls-alpn-01 www.example.org`.
  question text primary key,
  sealed text not null,
  created_at timestamptz not null default clock_timestamp()
);
