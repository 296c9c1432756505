-- Generated from the migrations by ./offshoot schema; do not edit.

create type host_names as range (subtype = text, collation = "C");

CREATE OR REPLACE FUNCTION public.names_of(host text)
 RETURNS host_names
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
  select case
    when host like '*.%' then public.host_names(reverse(substr(host, 3)) || '.', reverse(substr(host, 3)) || '/', '[)')
    else public.host_names(reverse(host) || '.', reverse(host) || '.', '[]')
  end
$function$;

CREATE OR REPLACE FUNCTION public.tell_change(kind text, segments text[], organization text, project text, environment_type text, person text)
 RETURNS void
 LANGUAGE sql
AS $function$
  select pg_notify('offshoot', 'change ' || jsonb_strip_nulls(jsonb_build_object('kind', kind, 'segments', segments, 'scope', jsonb_build_object(
    'organization', organization, 'project', project, 'environmentType', environment_type, 'user', person)))::text)
$function$;

create table acme_accounts (
  owner text not null,
  directory_url text not null,
  sealed text not null,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint acme_accounts_pkey PRIMARY KEY (owner, directory_url)
);

create table activities (
  id text not null,
  project_id text not null,
  type text not null,
  queue text not null,
  environments text[] not null default '{}'::text[],
  environment_types text[] not null default '{}'::text[],
  integration text,
  state text not null default 'pending'::text,
  result text,
  failure_reason text,
  completion_percent integer not null default 0,
  parameters jsonb not null default '{}'::jsonb,
  payload jsonb not null default '{}'::jsonb,
  description text,
  text text,
  timings jsonb not null default '{}'::jsonb,
  commands jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  started_at timestamp with time zone,
  completed_at timestamp with time zone,
  cancelled_at timestamp with time zone,
  expires_at timestamp with time zone,
  position bigint not null generated always as identity,
  input jsonb not null default 'null'::jsonb,
  is_urgent boolean not null default false,
  is_cancellable boolean not null default true,
  is_undoing boolean not null default false,
  failure text,
  cancel_requested_at timestamp with time zone,
  run_after timestamp with time zone not null default '-infinity'::timestamp with time zone,
  runner text,
  lease_until timestamp with time zone,
  fence integer not null default 0,
  attempts integer not null default 0,
  staged_in text,
  constraint activities_pkey PRIMARY KEY (id),
  constraint activities_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint activities_completion_percent_check CHECK (((completion_percent >= 0) AND (completion_percent <= 100))),
  constraint activities_failure_reason_check CHECK ((failure_reason = ANY (ARRAY['error'::text, 'shell'::text]))),
  constraint activities_result_check CHECK ((result = ANY (ARRAY['success'::text, 'failure'::text]))),
  constraint activities_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'in_progress'::text, 'complete'::text, 'cancelled'::text, 'staged'::text, 'scheduled'::text])))
);
CREATE INDEX activities_expiry ON public.activities USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX activities_integration ON public.activities USING btree (project_id, integration, created_at DESC, id) WHERE (integration IS NOT NULL);
CREATE INDEX activities_open ON public.activities USING btree (project_id, created_at DESC, id) WHERE (state = ANY (ARRAY['pending'::text, 'in_progress'::text, 'scheduled'::text, 'staged'::text]));
CREATE INDEX activities_project ON public.activities USING btree (project_id, created_at DESC, id);
CREATE INDEX activities_running ON public.activities USING btree (project_id, queue) WHERE (state = 'in_progress'::text);
CREATE INDEX activities_staged ON public.activities USING btree (project_id, staged_in) WHERE (state = 'staged'::text);
CREATE INDEX activities_type ON public.activities USING btree (project_id, type, created_at DESC, id);
CREATE INDEX activities_waiting ON public.activities USING btree (is_urgent DESC, "position") WHERE (state = ANY (ARRAY['pending'::text, 'scheduled'::text]));

create table activity_events (
  id bigint not null generated always as identity,
  project_id text not null,
  activity_id text not null,
  state text not null,
  result text,
  completion_percent integer not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint activity_events_pkey PRIMARY KEY (id),
  constraint activity_events_activity_id_fkey FOREIGN KEY (activity_id) REFERENCES activities(id) ON DELETE CASCADE,
  constraint activity_events_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX activity_events_activity ON public.activity_events USING btree (activity_id);

create table activity_lanes (
  activity_id text not null,
  project_id text not null,
  lane text not null,
  position bigint not null,
  created_at timestamp with time zone not null,
  lanes integer not null default 1,
  is_open boolean not null default true,
  is_shared boolean not null default false,
  constraint activity_lanes_pkey PRIMARY KEY (activity_id, lane),
  constraint activity_lanes_activity_id_fkey FOREIGN KEY (activity_id) REFERENCES activities(id) ON DELETE CASCADE
);
CREATE INDEX activity_lanes_list ON public.activity_lanes USING btree (project_id, lane, created_at DESC, activity_id);
CREATE INDEX activity_lanes_open ON public.activity_lanes USING btree (project_id, lane, "position") INCLUDE (activity_id, lanes, is_shared) WHERE is_open;

create table activity_log (
  activity_id text not null,
  position integer not null,
  at timestamp with time zone not null,
  message text not null,
  constraint activity_log_pkey PRIMARY KEY (activity_id, "position"),
  constraint activity_log_activity_id_fkey FOREIGN KEY (activity_id) REFERENCES activities(id) ON DELETE CASCADE
);

create table activity_steps (
  activity_id text not null,
  name text not null,
  position integer not null,
  state text not null,
  result jsonb,
  constraint activity_steps_pkey PRIMARY KEY (activity_id, name),
  constraint activity_steps_activity_id_fkey FOREIGN KEY (activity_id) REFERENCES activities(id) ON DELETE CASCADE,
  constraint activity_steps_state_check CHECK ((state = ANY (ARRAY['begun'::text, 'done'::text, 'undone'::text])))
);

create table addresses (
  user_id uuid not null,
  country text not null default ''::text,
  name_line text not null default ''::text,
  premise text not null default ''::text,
  sub_premise text not null default ''::text,
  thoroughfare text not null default ''::text,
  administrative_area text not null default ''::text,
  sub_administrative_area text not null default ''::text,
  locality text not null default ''::text,
  dependent_locality text not null default ''::text,
  postal_code text not null default ''::text,
  constraint addresses_pkey PRIMARY KEY (user_id),
  constraint addresses_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint addresses_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text))
);

create table allocations (
  id bigint not null generated always as identity,
  organization_id text not null,
  project_id text not null,
  environment text not null,
  subject text not null,
  version text not null,
  amounts jsonb not null,
  since timestamp with time zone not null,
  until timestamp with time zone,
  constraint allocations_pkey PRIMARY KEY (id),
  constraint allocations_check CHECK ((until >= since))
);
CREATE INDEX allocations_ended ON public.allocations USING btree (until);
CREATE UNIQUE INDEX allocations_open ON public.allocations USING btree (project_id, environment, subject) WHERE (until IS NULL);

create table api_processes (
  host text not null,
  port integer not null,
  seen_at timestamp with time zone not null default clock_timestamp(),
  constraint api_processes_pkey PRIMARY KEY (host, port)
);

create table api_tokens (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  name text not null,
  fingerprint text not null,
  mfa_on_creation boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone,
  constraint api_tokens_fingerprint_key UNIQUE (fingerprint),
  constraint api_tokens_user_id_name_key UNIQUE (user_id, name),
  constraint api_tokens_pkey PRIMARY KEY (id),
  constraint api_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table app_mail_hours (
  project_id text not null,
  environment_id text not null,
  hour timestamp with time zone not null,
  recipients integer not null,
  constraint app_mail_hours_pkey PRIMARY KEY (project_id, environment_id, hour),
  constraint app_mail_hours_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

create table app_mail_notes (
  id text not null,
  project_id text not null,
  machine_name text not null,
  app text not null,
  text_sealed text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint app_mail_notes_pkey PRIMARY KEY (id),
  constraint app_mail_notes_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);

create table app_mails (
  id text not null,
  project_id text not null,
  environment_id text not null,
  machine_name text not null,
  app text not null,
  bytes integer not null,
  envelope_sealed text not null,
  message_sealed text not null,
  is_deferred boolean not null default false,
  is_given_up boolean not null default false,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint app_mails_pkey PRIMARY KEY (id),
  constraint app_mails_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX app_mails_environment ON public.app_mails USING btree (project_id, environment_id) INCLUDE (bytes);
CREATE INDEX app_mails_given_up ON public.app_mails USING btree (id) WHERE is_given_up;

create table applied_retention (
  project_id text not null,
  environment_id text not null,
  basis text not null,
  constraint applied_retention_pkey PRIMARY KEY (project_id, environment_id),
  constraint applied_retention_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE
);

create table attempts (
  key text not null,
  count integer not null,
  window_ends_at timestamp with time zone not null,
  constraint attempts_pkey PRIMARY KEY (key)
);

create table audit (
  id text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  user_id uuid not null,
  operation text not null,
  kind text not null,
  summary text not null,
  target text not null,
  subject_id uuid,
  organization_id text,
  project_id text,
  activity_id text,
  address text not null,
  constraint audit_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_created ON public.audit USING btree (created_at);
CREATE INDEX audit_organization ON public.audit USING btree (organization_id, created_at, id);
CREATE INDEX audit_subject ON public.audit USING btree (subject_id, created_at) WHERE (organization_id IS NULL);

create table authorities (
  id bigint not null generated always as identity,
  certificate text not null,
  key_sealed text not null,
  names text[] not null,
  addresses text[] not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint authorities_pkey PRIMARY KEY (id)
);

create table autoscaling_settings (
  project_id text not null,
  environment_id text not null,
  service text not null,
  settings jsonb not null,
  is_on boolean not null,
  constraint autoscaling_settings_pkey PRIMARY KEY (project_id, environment_id, service),
  constraint autoscaling_settings_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE
);
CREATE INDEX autoscaling_settings_on ON public.autoscaling_settings USING btree (project_id, environment_id) WHERE is_on;

create table backup_slots (
  project_id text not null,
  environment_id text not null,
  slot_at timestamp with time zone not null,
  attempts integer not null default 1,
  tried_at timestamp with time zone not null default clock_timestamp(),
  is_done boolean not null default false,
  made integer not null default 0,
  constraint backup_slots_pkey PRIMARY KEY (project_id, environment_id),
  constraint backup_slots_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE
);

create table backups (
  id text not null,
  project_id text not null,
  environment_id text not null,
  environment_type text not null,
  status text not null default 'CREATED'::text,
  restorable boolean not null default false,
  safe boolean not null,
  automated boolean not null,
  index integer,
  slot_at timestamp with time zone,
  commit_id text not null,
  deployment text,
  stack_sealed text not null,
  parts jsonb not null default '[]'::jsonb,
  stored jsonb,
  size_of_volumes integer,
  size_used integer,
  size_object_storage integer,
  attributes jsonb not null default '{}'::jsonb,
  origin jsonb,
  activity_id text,
  deletion_id text,
  expires_at timestamp with time zone,
  orphaned_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  damaged_at timestamp with time zone,
  constraint backups_pkey PRIMARY KEY (id),
  constraint backups_check CHECK (((NOT restorable) OR (stored IS NOT NULL))),
  constraint backups_check1 CHECK ((automated OR ((slot_at IS NULL) AND (index IS NULL)))),
  constraint backups_check2 CHECK (((damaged_at IS NULL) OR ((NOT restorable) AND (stored IS NOT NULL)))),
  constraint backups_environment_type_check CHECK ((environment_type = ANY (ARRAY['production'::text, 'staging'::text, 'development'::text]))),
  constraint backups_id_check CHECK ((id ~ '^[0-9A-HJKMNP-TV-Z]{26}$'::text)),
  constraint backups_index_check CHECK ((index > 0)),
  constraint backups_status_check CHECK ((status = ANY (ARRAY['CREATED'::text, 'DELETING'::text, 'ABANDONED'::text])))
);
CREATE INDEX backups_being_made ON public.backups USING btree (project_id, environment_id) WHERE ((status = 'CREATED'::text) AND (NOT restorable));
CREATE INDEX backups_environment ON public.backups USING btree (project_id, environment_id, created_at DESC, id DESC);
CREATE INDEX backups_expiring ON public.backups USING btree (expires_at) WHERE ((status = 'CREATED'::text) AND ((orphaned_at IS NOT NULL) OR (damaged_at IS NOT NULL)));
CREATE INDEX backups_going ON public.backups USING btree (project_id) WHERE (status <> 'CREATED'::text);
CREATE INDEX backups_kept ON public.backups USING btree (project_id, environment_id, updated_at) WHERE ((status = 'CREATED'::text) AND restorable);
CREATE UNIQUE INDEX backups_slot ON public.backups USING btree (project_id, environment_id, slot_at) WHERE (status <> 'ABANDONED'::text);

create table billed_users (
  organization_id text not null,
  day date not null,
  admin_users integer not null,
  viewer_users integer not null,
  user_management text not null,
  support_level text not null,
  constraint billed_users_pkey PRIMARY KEY (organization_id, day)
);

create table billing (
  is_only boolean not null default true,
  billed_until date not null,
  constraint billing_pkey PRIMARY KEY (is_only),
  constraint billing_is_only_check CHECK (is_only)
);

create table billing_alerts (
  organization_id text not null,
  active boolean not null default true,
  threshold bigint not null,
  mode text not null default 'estimate'::text,
  alerts_sent integer not null default 0,
  last_alert_at timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint billing_alerts_pkey PRIMARY KEY (organization_id),
  constraint billing_alerts_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint billing_alerts_mode_check CHECK ((mode = ANY (ARRAY['estimate'::text, 'spent'::text]))),
  constraint billing_alerts_threshold_check CHECK ((threshold > 0))
);
CREATE INDEX billing_alerts_active ON public.billing_alerts USING btree (organization_id) WHERE active;

create table carbon_closings (
  day date not null,
  method_since timestamp with time zone not null,
  own_energy bigint not null,
  own_emissions bigint not null,
  closed_at timestamp with time zone not null default now(),
  constraint carbon_closings_pkey PRIMARY KEY (day),
  constraint carbon_closings_method_since_fkey FOREIGN KEY (method_since) REFERENCES carbon_methods(since)
);

create table carbon_days (
  project_id text not null,
  day date not null,
  environment text not null,
  processors bigint not null,
  idle bigint not null,
  memory bigint not null,
  disk bigint not null,
  network bigint not null,
  emissions bigint not null,
  constraint carbon_days_pkey PRIMARY KEY (project_id, day, environment),
  constraint carbon_days_day_fkey FOREIGN KEY (day) REFERENCES carbon_closings(day)
);

create table carbon_methods (
  since timestamp with time zone not null,
  method jsonb not null,
  constraint carbon_methods_pkey PRIMARY KEY (since)
);

create table cdn_certificates (
  integration_id text not null,
  certificate_id text not null,
  mark text not null,
  again_at timestamp with time zone,
  constraint cdn_certificates_pkey PRIMARY KEY (integration_id, certificate_id),
  constraint cdn_certificates_certificate_id_fkey FOREIGN KEY (certificate_id) REFERENCES certificates(id) ON DELETE CASCADE,
  constraint cdn_certificates_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table certificate_provisioners (
  project_id text not null,
  directory_url text not null,
  email text not null,
  eab_kid text,
  eab_hmac_key_sealed text,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint certificate_provisioners_pkey PRIMARY KEY (project_id),
  constraint certificate_provisioners_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);

create table certificates (
  id text not null,
  project_id text,
  certificate text not null,
  chain text[] not null default '{}'::text[],
  key_sealed text not null,
  names text[] not null,
  expires_at timestamp with time zone not null,
  is_provisioned boolean not null default false,
  is_invalid boolean not null default false,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  version bigint not null default nextval('certificate_versions'::regclass),
  serves text[] not null default '{}'::text[],
  issued_by text,
  renew_at timestamp with time zone,
  ask_again_at timestamp with time zone,
  owners_told_at timestamp with time zone,
  ask_status_at timestamp with time zone default clock_timestamp(),
  status_failures integer not null default 0,
  must_staple boolean not null default false,
  stapled text,
  stapled_until timestamp with time zone,
  revoked_at timestamp with time zone,
  status_trouble text,
  constraint certificates_pkey PRIMARY KEY (id),
  constraint certificates_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX certificates_ask_status_at ON public.certificates USING btree (ask_status_at);
CREATE INDEX certificates_project ON public.certificates USING btree (project_id);

create table code_host_news (
  integration_id text not null,
  about text not null,
  pull_request integer,
  version bigint not null default 1,
  noted_at timestamp with time zone not null default clock_timestamp(),
  constraint code_host_news_pkey PRIMARY KEY (integration_id, about),
  constraint code_host_news_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table code_host_reports (
  integration_id text not null,
  environment text not null,
  statuses jsonb not null default '{}'::jsonb,
  comment_key text not null,
  comment_id text,
  comment_text text,
  constraint code_host_reports_pkey PRIMARY KEY (integration_id, environment),
  constraint code_host_reports_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table code_mirrors (
  integration_id text not null,
  repository_id text,
  repository_url text,
  default_branch text,
  sync_at timestamp with time zone not null default clock_timestamp(),
  is_replaced boolean not null default false,
  quiet_until timestamp with time zone,
  constraint code_mirrors_pkey PRIMARY KEY (integration_id),
  constraint code_mirrors_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);
CREATE INDEX code_mirrors_due ON public.code_mirrors USING btree (sync_at);

create table connections (
  user_id uuid not null,
  provider text not null,
  provider_type text not null,
  is_mandatory boolean not null default false,
  subject text not null,
  email_address text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  issuer text not null,
  constraint connections_issuer_subject_key UNIQUE (issuer, subject),
  constraint connections_pkey PRIMARY KEY (user_id, provider),
  constraint connections_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table counted_forwardings (
  name text not null,
  generation text not null,
  bytes bigint not null,
  constraint counted_forwardings_pkey PRIMARY KEY (name, generation)
);

create table crons (
  project_id text not null,
  environment_id text not null,
  app text not null,
  name text not null,
  spec text not null,
  timezone text,
  next_at timestamp with time zone not null,
  last_at timestamp with time zone,
  activity_id text,
  left_out integer not null default 0,
  constraint crons_pkey PRIMARY KEY (project_id, environment_id, app, name),
  constraint crons_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE
);
CREATE INDEX crons_next ON public.crons USING btree (next_at);

create table deliveries (
  id text not null,
  kind text not null,
  order_key text not null,
  position bigint not null,
  organization_id text,
  project_id text,
  integration_id text,
  payload_sealed text,
  state text not null default 'waiting'::text,
  repeats text,
  created_at timestamp with time zone not null default clock_timestamp(),
  finished_at timestamp with time zone,
  about jsonb not null default '{}'::jsonb,
  constraint deliveries_pkey PRIMARY KEY (id),
  constraint deliveries_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE,
  constraint deliveries_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint deliveries_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint deliveries_check CHECK (((state = 'waiting'::text) = (finished_at IS NULL))),
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE INDEX deliveries_finished ON public.deliveries USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX deliveries_integration ON public.deliveries USING btree (integration_id, id) WHERE (integration_id IS NOT NULL);
CREATE INDEX deliveries_organization ON public.deliveries USING btree (organization_id) WHERE (organization_id IS NOT NULL);
CREATE INDEX deliveries_project ON public.deliveries USING btree (project_id) WHERE (project_id IS NOT NULL);
CREATE INDEX deliveries_waiting ON public.deliveries USING btree (order_key, "position") WHERE (state = 'waiting'::text);

create table delivery_attempts (
  delivery_id text not null,
  number integer not null,
  begun_at timestamp with time zone not null,
  milliseconds integer not null,
  outcome text not null,
  request json,
  response json,
  trouble text,
  constraint delivery_attempts_pkey PRIMARY KEY (delivery_id, number),
  constraint delivery_attempts_delivery_id_fkey FOREIGN KEY (delivery_id) REFERENCES deliveries(id) ON DELETE CASCADE,
  constraint delivery_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['delivered'::text, 'refused'::text, 'failed'::text])))
);

create table delivery_lanes (
  order_key text not null,
  party text not null,
  head bigint not null default 1,
  tail bigint not null default 1,
  due_at timestamp with time zone not null default clock_timestamp(),
  failures integer not null default 0,
  holder text,
  leased_until timestamp with time zone,
  constraint delivery_lanes_pkey PRIMARY KEY (order_key)
);
CREATE INDEX delivery_lanes_due ON public.delivery_lanes USING btree (due_at) WHERE (head <= tail);
CREATE INDEX delivery_lanes_held ON public.delivery_lanes USING btree (holder) WHERE (holder IS NOT NULL);

create table deployments (
  id text not null,
  project_id text not null,
  environment_id text not null,
  stack_id text not null,
  number integer not null,
  status text not null default 'preparing'::text,
  commit_id text not null,
  model json not null,
  slugs jsonb not null,
  sizes jsonb not null,
  generations jsonb not null default '{}'::jsonb,
  routes json not null,
  settings jsonb not null,
  secrets_sealed text not null,
  activity_id text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  cpu double precision not null default 0,
  memory integer not null default 0,
  disk integer not null default 0,
  has_crons_scheduled boolean not null default false,
  told_routes json,
  is_scaling boolean not null default false,
  domain_names json,
  constraint deployments_project_id_environment_id_stack_id_number_key UNIQUE (project_id, environment_id, stack_id, number),
  constraint deployments_pkey PRIMARY KEY (id),
  constraint deployments_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE,
  constraint deployments_number_check CHECK ((number > 0)),
  constraint deployments_status_check CHECK ((status = ANY (ARRAY['preparing'::text, 'current'::text, 'replaced'::text, 'failed'::text])))
);
CREATE UNIQUE INDEX deployments_current ON public.deployments USING btree (project_id, environment_id) WHERE (status = 'current'::text);
CREATE INDEX deployments_environment ON public.deployments USING btree (project_id, environment_id, number DESC);
CREATE INDEX deployments_occupying ON public.deployments USING btree (stack_id) WHERE (status = ANY (ARRAY['preparing'::text, 'current'::text]));
CREATE INDEX deployments_without_crons ON public.deployments USING btree (id) WHERE ((status = 'current'::text) AND (NOT has_crons_scheduled));

create table discounts (
  id integer not null generated always as identity,
  organization_id text not null,
  type text not null,
  currency text not null,
  monthly bigint not null,
  start_month date not null,
  months integer,
  created_at timestamp with time zone not null default now(),
  ended_month date,
  constraint discounts_pkey PRIMARY KEY (id),
  constraint discounts_ended_month_check CHECK ((EXTRACT(day FROM ended_month) = (1)::numeric)),
  constraint discounts_monthly_check CHECK ((monthly > 0)),
  constraint discounts_months_check CHECK ((months > 0)),
  constraint discounts_start_month_check CHECK ((EXTRACT(day FROM start_month) = (1)::numeric)),
  constraint discounts_type_check CHECK ((type = ANY (ARRAY['allowance'::text, 'startup'::text, 'enterprise'::text])))
);
CREATE INDEX discounts_organization ON public.discounts USING btree (organization_id);

create table domain_claims (
  name text not null,
  project_id text not null,
  is_kept boolean not null default false,
  proven_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint domain_claims_project_id_name_key UNIQUE (project_id, name),
  constraint domain_claims_pkey PRIMARY KEY (name),
  constraint domain_claims_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint domain_claims_name_check CHECK ((name ~ '^[a-z0-9-]+(\.[a-z0-9-]+)+$'::text))
);
CREATE INDEX domain_claims_names ON public.domain_claims USING gist (names_of(name));

create table domains (
  project_id text not null,
  name text not null,
  environment_id text,
  replacement_for text,
  registered_name text not null,
  attributes jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint domains_one_replacement UNIQUE (project_id, environment_id, replacement_for),
  constraint domains_project_id_name_key UNIQUE (project_id, name),
  constraint domains_pkey PRIMARY KEY (name),
  constraint domains_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE,
  constraint domains_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint domains_registered_name FOREIGN KEY (project_id, registered_name) REFERENCES domain_claims(project_id, name),
  constraint domains_replacement_for FOREIGN KEY (project_id, replacement_for) REFERENCES domains(project_id, name) ON DELETE CASCADE,
  constraint domains_check CHECK (((environment_id IS NULL) = (replacement_for IS NULL))),
  constraint domains_name_check CHECK ((name ~ '^(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+$'::text))
);
CREATE INDEX domains_attached ON public.domains USING btree (project_id, replacement_for);
CREATE INDEX domains_claimed ON public.domains USING btree (project_id, registered_name);

create table edge_proofs (
  question text not null,
  sealed text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint edge_proofs_pkey PRIMARY KEY (question)
);

create table environment_use (
  project_id text not null,
  machine_name text not null,
  measured_at timestamp with time zone not null,
  cpu_used double precision not null,
  memory_bytes bigint not null,
  data_bytes bigint,
  own_bytes bigint,
  constraint environment_use_pkey PRIMARY KEY (project_id, machine_name),
  constraint environment_use_project_id_machine_name_fkey FOREIGN KEY (project_id, machine_name) REFERENCES environments(project_id, machine_name) ON UPDATE CASCADE ON DELETE CASCADE
);

create table environment_variables (
  project_id text not null,
  environment_id text not null,
  name text not null,
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  visible_build boolean not null default false,
  visible_runtime boolean not null default true,
  application_scope text[] not null default '{}'::text[],
  is_enabled boolean not null default true,
  is_inheritable boolean not null default true,
  attributes jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint environment_variables_pkey PRIMARY KEY (project_id, environment_id, name),
  constraint environment_variables_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE,
  constraint environment_variables_check CHECK (((is_sensitive = (value IS NULL)) AND (is_sensitive = (value_sealed IS NOT NULL))))
);

create table environments (
  project_id text not null,
  id text not null,
  machine_name text not null,
  title text not null,
  attributes jsonb not null default '{}'::jsonb,
  type text not null,
  parent text,
  status text not null default 'inactive'::text,
  clone_parent_on_create boolean not null default true,
  deployment_target text not null default 'local'::text,
  is_dedicated boolean not null default false,
  is_pr boolean not null default false,
  has_remote boolean not null default false,
  http_access jsonb not null default '{"addresses": [], "basic_auth": {}, "is_enabled": true}'::jsonb,
  enable_smtp boolean not null default false,
  restrict_robots boolean not null default true,
  enable_manual_deployments boolean not null default false,
  default_domain text,
  max_instance_count integer,
  head_commit text,
  commits_ahead integer,
  commits_behind integer,
  last_active_at timestamp with time zone,
  last_backup_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  stack_id text,
  last_deployment jsonb,
  chosen_sizes jsonb not null default '{}'::jsonb,
  sizes_by_hand boolean not null default false,
  pinned_commit text,
  last_maintenance_at timestamp with time zone,
  sleep_after_seconds integer,
  sleeping_since timestamp with time zone,
  is_waking boolean not null default false,
  woken_at timestamp with time zone,
  start_failure text,
  autoscale_decided_at timestamp with time zone,
  last_autoscale_up_at timestamp with time zone,
  last_autoscale_down_at timestamp with time zone,
  is_mirrored boolean not null default false,
  is_from_fork boolean not null default false,
  paused_by_suspension boolean not null default false,
  data_taken_at timestamp with time zone,
  data_taken_from text,
  constraint environments_project_id_machine_name_key UNIQUE (project_id, machine_name),
  constraint environments_stack_id_key UNIQUE (stack_id),
  constraint environments_pkey PRIMARY KEY (project_id, id),
  constraint environments_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint environments_project_id_parent_fkey FOREIGN KEY (project_id, parent) REFERENCES environments(project_id, id),
  constraint environments_check CHECK ((parent <> id)),
  constraint environments_head_commit_check CHECK ((head_commit ~ '^[0-9a-f]{40}$'::text)),
  constraint environments_id_check CHECK (((length(id) >= 1) AND (length(id) <= 250))),
  constraint environments_sleep_after_seconds_check CHECK ((sleep_after_seconds >= 0)),
  constraint environments_sleeping CHECK (((sleeping_since IS NULL) OR (status = 'active'::text))),
  constraint environments_stack_id_check CHECK ((stack_id ~ '^[a-z2-7]{13}$'::text)),
  constraint environments_status_check CHECK ((status = ANY (ARRAY['active'::text, 'inactive'::text, 'paused'::text, 'deleting'::text]))),
  constraint environments_type_check CHECK ((type = ANY (ARRAY['production'::text, 'staging'::text, 'development'::text])))
);
CREATE INDEX environments_parent ON public.environments USING btree (project_id, parent);
CREATE INDEX environments_paused_by_suspension ON public.environments USING btree (project_id) WHERE paused_by_suspension;

create table forwarded_logs (
  hour timestamp with time zone not null,
  project_id text not null,
  environment text not null,
  bytes bigint not null,
  constraint forwarded_logs_pkey PRIMARY KEY (hour, project_id, environment)
);

create table health_alerts (
  id text not null,
  project_id text not null,
  environment_id text not null,
  check_name text not null,
  subject text not null,
  severity text not null,
  text text not null,
  value double precision not null,
  opened_at timestamp with time zone not null,
  away_since timestamp with time zone,
  ended_at timestamp with time zone,
  is_unwatched boolean not null default false,
  returns integer not null default 0,
  constraint health_alerts_id_key UNIQUE (id),
  constraint health_alerts_pkey PRIMARY KEY (project_id, environment_id, check_name, subject),
  constraint health_alerts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint health_alerts_severity_check CHECK ((severity = ANY (ARRAY['warning'::text, 'critical'::text])))
);
CREATE INDEX health_alerts_ended ON public.health_alerts USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX health_alerts_open ON public.health_alerts USING btree (project_id) WHERE (ended_at IS NULL);

create table health_alerts_told (
  alert_id text not null,
  integration_id text not null,
  severity text not null,
  constraint health_alerts_told_pkey PRIMARY KEY (alert_id, integration_id),
  constraint health_alerts_told_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES health_alerts(id) ON DELETE CASCADE,
  constraint health_alerts_told_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE,
  constraint health_alerts_told_severity_check CHECK ((severity = ANY (ARRAY['warning'::text, 'critical'::text])))
);
CREATE INDEX health_alerts_told_integration ON public.health_alerts_told USING btree (integration_id);

create table health_counts (
  container text not null,
  started_at timestamp with time zone,
  restarts integer not null,
  out_of_memory_kills integer not null,
  constraint health_counts_pkey PRIMARY KEY (container)
);

create table health_greetings (
  integration_id text not null,
  constraint health_greetings_pkey PRIMARY KEY (integration_id),
  constraint health_greetings_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table health_incidents (
  id bigint not null generated always as identity,
  project_id text not null,
  machine_name text not null,
  kind text not null,
  service text not null,
  count integer not null,
  at timestamp with time zone not null,
  constraint health_incidents_pkey PRIMARY KEY (id),
  constraint health_incidents_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint health_incidents_kind_check CHECK ((kind = ANY (ARRAY['restart'::text, 'out of memory'::text])))
);
CREATE INDEX health_incidents_at ON public.health_incidents USING btree (at);
CREATE INDEX health_incidents_environment ON public.health_incidents USING btree (project_id, machine_name, at);

create table hosts (
  host text not null,
  project_id text not null,
  environment_id text not null,
  claim bigint not null generated always as identity,
  constraint hosts_one_owner EXCLUDE USING gist (names_of(host) WITH &&),
  constraint hosts_pkey PRIMARY KEY (host),
  constraint hosts_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE,
  constraint hosts_host_check CHECK ((host ~ '^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+$'::text))
);
CREATE INDEX hosts_environment ON public.hosts USING btree (project_id, environment_id);

create table installation (
  only_one boolean not null default true,
  created_at timestamp with time zone not null default now(),
  first_credentials text,
  backed_up_at timestamp with time zone,
  routed_for text,
  image_update_asked_at timestamp with time zone,
  constraint installation_pkey PRIMARY KEY (only_one),
  constraint installation_only_one_check CHECK (only_one)
);

create table installation_keys (
  name text not null,
  sealed text not null,
  created_at timestamp with time zone not null default now(),
  constraint installation_keys_pkey PRIMARY KEY (name)
);

create table integration_storage (
  integration_id text not null,
  key text not null,
  value jsonb not null,
  constraint integration_storage_pkey PRIMARY KEY (integration_id, key),
  constraint integration_storage_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table integration_variables (
  integration_id text not null,
  name text not null,
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  attributes jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint integration_variables_pkey PRIMARY KEY (integration_id, name),
  constraint integration_variables_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE,
  constraint integration_variables_check CHECK (((is_sensitive = (value IS NULL)) AND (is_sensitive = (value_sealed IS NOT NULL))))
);

create table integrations (
  id text not null,
  project_id text not null,
  type text not null,
  settings jsonb not null,
  secrets_sealed text not null,
  hears_activities boolean not null,
  hooked_at timestamp with time zone,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint integrations_pkey PRIMARY KEY (id),
  constraint integrations_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX integrations_health ON public.integrations USING btree (project_id) WHERE (type ~~ 'health.%'::text);
CREATE INDEX integrations_hearing ON public.integrations USING btree (project_id) WHERE hears_activities;
CREATE INDEX integrations_project ON public.integrations USING btree (project_id, created_at, id);

create table invitations (
  id uuid not null default gen_random_uuid(),
  organization_id text not null,
  project_id text,
  email text not null,
  permissions text[] not null,
  state text not null default 'pending'::text,
  owner_id uuid not null,
  token_fingerprint text not null,
  expires_at timestamp with time zone not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone,
  constraint invitations_token_fingerprint_key UNIQUE (token_fingerprint),
  constraint invitations_pkey PRIMARY KEY (id),
  constraint invitations_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint invitations_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint invitations_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id) ON DELETE CASCADE,
  constraint invitations_email_check CHECK ((email = lower(email))),
  constraint invitations_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'processing'::text, 'accepted'::text, 'cancelled'::text, 'error'::text])))
);
CREATE INDEX invitations_organization ON public.invitations USING btree (organization_id, updated_at, id);
CREATE UNIQUE INDEX invitations_pending_organization ON public.invitations USING btree (organization_id, email) WHERE ((state = 'pending'::text) AND (project_id IS NULL));
CREATE UNIQUE INDEX invitations_pending_project ON public.invitations USING btree (project_id, email) WHERE ((state = 'pending'::text) AND (project_id IS NOT NULL));
CREATE INDEX invitations_project ON public.invitations USING btree (project_id, updated_at, id);

create table invoice_numbers (
  is_only boolean not null default true,
  last integer not null,
  constraint invoice_numbers_pkey PRIMARY KEY (is_only),
  constraint invoice_numbers_is_only_check CHECK (is_only)
);

create table invoices (
  id bigint not null generated always as identity,
  number integer not null,
  invoice_number text not null,
  type text not null,
  order_id bigint not null,
  related_invoice_id bigint,
  organization_id text not null,
  status text not null,
  currency text not null,
  total bigint not null,
  issued_on date not null,
  due_on date,
  notes text not null default ''::text,
  document jsonb not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint invoices_invoice_number_key UNIQUE (invoice_number),
  constraint invoices_number_key UNIQUE (number),
  constraint invoices_pkey PRIMARY KEY (id),
  constraint invoices_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint invoices_related_invoice_id_fkey FOREIGN KEY (related_invoice_id) REFERENCES invoices(id),
  constraint invoices_check CHECK (((type = 'credit_memo'::text) = (related_invoice_id IS NOT NULL))),
  constraint invoices_status_check CHECK ((status = ANY (ARRAY['paid'::text, 'charged_off'::text, 'pending'::text, 'refunded'::text, 'canceled'::text, 'refund_pending'::text]))),
  constraint invoices_type_check CHECK ((type = ANY (ARRAY['invoice'::text, 'credit_memo'::text])))
);
CREATE UNIQUE INDEX invoices_of_order ON public.invoices USING btree (order_id) WHERE (type = 'invoice'::text);
CREATE INDEX invoices_organization ON public.invoices USING btree (organization_id, id);
CREATE INDEX invoices_related ON public.invoices USING btree (related_invoice_id) WHERE (related_invoice_id IS NOT NULL);

create table issuances (
  certificate_id text not null,
  project_id text,
  names text[] not null,
  issued_by text not null,
  sealed text,
  not_before timestamp with time zone not null default clock_timestamp(),
  refusals integer not null default 0,
  trouble text,
  is_wanted boolean not null default true,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint issuances_pkey PRIMARY KEY (certificate_id),
  constraint issuances_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX issuances_project ON public.issuances USING btree (project_id);

create table machine_amounts (
  is_only boolean not null default true,
  cpu double precision not null,
  memory double precision not null,
  disk double precision not null,
  noted_at timestamp with time zone not null default clock_timestamp(),
  disk_free double precision,
  constraint machine_amounts_pkey PRIMARY KEY (is_only),
  constraint machine_amounts_is_only_check CHECK (is_only)
);

create table mailed_links (
  token_fingerprint text not null,
  user_id uuid not null,
  purpose text not null,
  email text,
  expires_at timestamp with time zone not null,
  constraint mailed_links_user_id_purpose_key UNIQUE (user_id, purpose),
  constraint mailed_links_pkey PRIMARY KEY (token_fingerprint),
  constraint mailed_links_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint mailed_links_purpose_check CHECK ((purpose = ANY (ARRAY['change-email'::text, 'reset-password'::text])))
);

create table metered (
  id integer not null generated always as identity,
  organization_id text not null,
  project_id text not null,
  environment text not null,
  service text not null,
  kind text not null,
  constraint metered_project_id_environment_service_kind_organization_id_key UNIQUE (project_id, environment, service, kind, organization_id),
  constraint metered_pkey PRIMARY KEY (id)
);
CREATE INDEX metered_organizations ON public.metered USING btree (organization_id);

create table metering (
  is_only boolean not null default true,
  closed_until timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  boot_id text not null,
  constraint metering_pkey PRIMARY KEY (is_only),
  constraint metering_is_only_check CHECK (is_only)
);

create table migrations (
  name text not null,
  hash text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table oauth_records (
  model text not null,
  id_hash text not null,
  sealed text not null,
  uid text,
  grant_id text,
  user_id uuid,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint oauth_records_pkey PRIMARY KEY (model, id_hash),
  constraint oauth_records_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX oauth_records_expiry ON public.oauth_records USING btree (expires_at);
CREATE INDEX oauth_records_grant ON public.oauth_records USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oauth_records_uid ON public.oauth_records USING btree (uid) WHERE (uid IS NOT NULL);
CREATE INDEX oauth_records_user ON public.oauth_records USING btree (user_id) WHERE (user_id IS NOT NULL);

create table orders (
  id bigint not null generated always as identity,
  organization_id text not null,
  month date not null,
  currency text not null default 'XXX'::text,
  status text not null default 'pending'::text,
  lines jsonb not null default '[]'::jsonb,
  baseprice bigint not null default 0,
  discount bigint not null default 0,
  voucher bigint not null default 0,
  vat bigint not null default 0,
  vat_percent text not null default '0'::text,
  total bigint not null default 0,
  payer jsonb not null default '{}'::jsonb,
  prepaid bigint not null default 0,
  refreshed_at timestamp with time zone,
  closed_at timestamp with time zone,
  due_on date,
  paid_on timestamp with time zone,
  authorization_url text not null default ''::text,
  constraint orders_organization_id_month_key UNIQUE (organization_id, month),
  constraint orders_pkey PRIMARY KEY (id),
  constraint orders_month_check CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
  constraint orders_status_check CHECK ((status = ANY (ARRAY['completed'::text, 'past_due'::text, 'pending'::text, 'canceled'::text, 'payment_failed_soft_decline'::text, 'payment_failed_hard_decline'::text])))
);
CREATE INDEX orders_open ON public.orders USING btree (month, id) WHERE (closed_at IS NULL);
CREATE INDEX orders_unpaid ON public.orders USING btree (due_on) WHERE ((closed_at IS NOT NULL) AND (status = ANY (ARRAY['pending'::text, 'payment_failed_soft_decline'::text])));

create table organization_addons (
  organization_id text not null,
  user_management text not null default ''::text,
  support_level text not null default ''::text,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint organization_addons_pkey PRIMARY KEY (organization_id),
  constraint organization_addons_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

create table organization_addresses (
  organization_id text not null,
  country text not null default ''::text,
  name_line text not null default ''::text,
  premise text not null default ''::text,
  sub_premise text not null default ''::text,
  thoroughfare text not null default ''::text,
  administrative_area text not null default ''::text,
  sub_administrative_area text not null default ''::text,
  locality text not null default ''::text,
  dependent_locality text not null default ''::text,
  postal_code text not null default ''::text,
  constraint organization_addresses_pkey PRIMARY KEY (organization_id),
  constraint organization_addresses_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint organization_addresses_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text))
);

create table organization_members (
  organization_id text not null,
  user_id uuid not null,
  permissions text[] not null default '{}'::text[],
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  accepted_at timestamp with time zone,
  constraint organization_members_pkey PRIMARY KEY (organization_id, user_id),
  constraint organization_members_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint organization_members_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint organization_members_permissions_check CHECK ((permissions <@ ARRAY['admin'::text, 'billing'::text, 'members'::text, 'plans'::text, 'projects:create'::text, 'projects:list'::text]))
);
CREATE INDEX organization_members_created ON public.organization_members USING btree (organization_id, created_at, user_id);
CREATE INDEX organization_members_updated ON public.organization_members USING btree (organization_id, updated_at, user_id);
CREATE INDEX organization_members_user ON public.organization_members USING btree (user_id);

create table organization_profiles (
  organization_id text not null,
  company_name text not null default ''::text,
  legal_entity_name text not null default ''::text,
  customer_type text not null default 'corporation'::text,
  vat_number text not null default ''::text,
  billing_contact text not null default ''::text,
  default_catalog text not null default ''::text,
  project_options_url text not null default ''::text,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint organization_profiles_pkey PRIMARY KEY (organization_id),
  constraint organization_profiles_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint organization_profiles_customer_type_check CHECK ((customer_type = ANY (ARRAY['individual'::text, 'corporation'::text, 'government'::text])))
);

create table organizations (
  id text not null,
  type text not null default 'flexible'::text,
  owner_id uuid not null,
  namespace text not null default 'offshoot'::text,
  name text not null,
  label text not null,
  country text not null default ''::text,
  capabilities text[] not null default '{teams}'::text[],
  vendor text not null default 'offshoot'::text,
  billing_profile_id text,
  billing_legacy boolean not null default false,
  security_contact text not null default ''::text,
  status text not null default 'active'::text,
  enforce_mfa boolean not null default false,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  users_max integer,
  suspended_at timestamp with time zone,
  suspension_reason text not null default ''::text,
  constraint organizations_pkey PRIMARY KEY (id),
  constraint organizations_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(id),
  constraint organizations_owner_is_member FOREIGN KEY (id, owner_id) REFERENCES organization_members(organization_id, user_id) DEFERRABLE INITIALLY DEFERRED,
  constraint organizations_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text)),
  constraint organizations_name_check CHECK ((name ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'::text)),
  constraint organizations_status_check CHECK ((status = ANY (ARRAY['active'::text, 'restricted'::text, 'suspended'::text, 'deleted'::text]))),
  constraint organizations_suspended_at CHECK (((status = 'suspended'::text) = (suspended_at IS NOT NULL))),
  constraint organizations_type_check CHECK ((type = ANY (ARRAY['fixed'::text, 'flexible'::text]))),
  constraint organizations_users_max_check CHECK ((users_max > 0))
);
CREATE INDEX organizations_by_name ON public.organizations USING btree (name, id);
CREATE INDEX organizations_created ON public.organizations USING btree (created_at, id);
CREATE INDEX organizations_label ON public.organizations USING btree (label, id);
CREATE UNIQUE INDEX organizations_name ON public.organizations USING btree (namespace, name) WHERE (status <> 'deleted'::text);
CREATE INDEX organizations_owner ON public.organizations USING btree (owner_id);
CREATE INDEX organizations_suspended ON public.organizations USING btree (id) WHERE (status = 'suspended'::text);
CREATE INDEX organizations_updated ON public.organizations USING btree (updated_at, id);

create table own_reports (
  project_id text not null,
  environment_id text not null,
  application text not null,
  reported_at timestamp with time zone not null,
  constraint own_reports_pkey PRIMARY KEY (project_id, environment_id, application),
  constraint own_reports_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE
);

create table passcodes (
  user_id uuid not null,
  sealed text not null,
  step_used integer not null default 0,
  created_at timestamp with time zone not null default now(),
  constraint passcodes_pkey PRIMARY KEY (user_id),
  constraint passcodes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table payment_events (
  id text not null,
  invoice_id bigint,
  event text not null,
  received_at timestamp with time zone not null default now(),
  constraint payment_events_pkey PRIMARY KEY (id),
  constraint payment_events_invoice_id_fkey FOREIGN KEY (invoice_id) REFERENCES invoices(id)
);

create table payment_sources (
  organization_id text not null,
  added_at timestamp with time zone not null default now(),
  constraint payment_sources_pkey PRIMARY KEY (organization_id),
  constraint payment_sources_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE
);

create table phone_verifications (
  sid text not null,
  user_id uuid not null,
  phone_number text not null,
  code_fingerprint text not null,
  attempts integer not null default 0,
  expires_at timestamp with time zone not null,
  constraint phone_verifications_user_id_key UNIQUE (user_id),
  constraint phone_verifications_pkey PRIMARY KEY (sid),
  constraint phone_verifications_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table pictures (
  user_id uuid not null,
  version text not null,
  content_type text not null,
  content bytea not null,
  constraint pictures_pkey PRIMARY KEY (user_id),
  constraint pictures_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX pictures_version ON public.pictures USING btree (version);

create table plan_records (
  id bigint not null generated always as identity,
  organization_id text not null,
  project_id text not null,
  subscription_id integer not null,
  owner_id uuid not null,
  region text not null,
  title text not null,
  plan text not null,
  contract_options jsonb not null,
  storage_mib integer not null,
  environments_max integer not null,
  user_licenses integer not null,
  status text not null,
  started_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint plan_records_pkey PRIMARY KEY (id),
  constraint plan_records_check CHECK ((ended_at >= started_at)),
  constraint plan_records_status_check CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text])))
);
CREATE UNIQUE INDEX plan_records_open ON public.plan_records USING btree (project_id) WHERE (ended_at IS NULL);
CREATE INDEX plan_records_organization ON public.plan_records USING btree (organization_id, started_at);

create table prepayment_transactions (
  id bigint not null generated always as identity,
  organization_id text not null,
  order_id bigint,
  message text not null,
  currency text not null,
  amount bigint not null,
  created_at timestamp with time zone not null default now(),
  constraint prepayment_transactions_pkey PRIMARY KEY (id),
  constraint prepayment_transactions_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
);
CREATE UNIQUE INDEX prepayment_transactions_order ON public.prepayment_transactions USING btree (order_id) WHERE (order_id IS NOT NULL);
CREATE INDEX prepayment_transactions_organization ON public.prepayment_transactions USING btree (organization_id, id);

create table prepayments (
  organization_id text not null,
  fallback text,
  constraint prepayments_pkey PRIMARY KEY (organization_id),
  constraint prepayments_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint prepayments_fallback_check CHECK ((fallback = 'invoice'::text))
);

create table price_lists (
  version integer not null generated always as identity,
  currency text not null,
  effective_from date not null,
  content jsonb not null,
  created_at timestamp with time zone not null default now(),
  constraint price_lists_pkey PRIMARY KEY (version),
  constraint price_lists_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text))
);
CREATE INDEX price_lists_effective ON public.price_lists USING btree (currency, effective_from, version);

create table profiles (
  user_id uuid not null,
  company_type text not null default ''::text,
  company_role text not null default ''::text,
  vat_number text not null default ''::text,
  customer_type text not null default 'individual'::text,
  legal_entity_name text not null default ''::text,
  billing_contact text not null default ''::text,
  currency text not null default 'EUR'::text,
  ui_colorscheme text not null default 'light'::text,
  default_catalog text not null default ''::text,
  project_options_url text not null default ''::text,
  marketing boolean not null default false,
  updated_at timestamp with time zone not null default now(),
  constraint profiles_pkey PRIMARY KEY (user_id),
  constraint profiles_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint profiles_currency_check CHECK ((currency ~ '^[A-Z]{3}$'::text)),
  constraint profiles_customer_type_check CHECK ((customer_type = ANY (ARRAY['individual'::text, 'corporation'::text, 'government'::text]))),
  constraint profiles_ui_colorscheme_check CHECK ((ui_colorscheme = ANY (ARRAY['light'::text, 'dark'::text])))
);

create table project_variables (
  project_id text not null,
  name text not null,
  value text,
  value_sealed text,
  is_json boolean not null default false,
  is_sensitive boolean not null default false,
  visible_build boolean not null default true,
  visible_runtime boolean not null default true,
  application_scope text[] not null default '{}'::text[],
  attributes jsonb not null default '{}'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint project_variables_pkey PRIMARY KEY (project_id, name),
  constraint project_variables_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint project_variables_check CHECK (((is_sensitive = (value IS NULL)) AND (is_sensitive = (value_sealed IS NOT NULL))))
);

create table projects (
  id text not null,
  organization_id text not null,
  subscription_id integer not null generated always as identity,
  region text not null,
  title text not null default ''::text,
  type text not null default 'grid'::text,
  plan text not null default 'flexible'::text,
  status text not null default 'requested'::text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  description text not null default ''::text,
  attributes jsonb not null default '{}'::jsonb,
  owner_id uuid,
  namespace text,
  default_branch text not null default 'main'::text,
  default_domain text,
  timezone text not null default 'UTC'::text,
  environments_max integer not null default 1000,
  storage_mib integer not null default 5120,
  user_licenses integer not null default 1,
  settings jsonb not null default '{}'::jsonb,
  client_public_key text,
  client_key_sealed text,
  build_cache_generation integer not null default 0,
  restarted_at timestamp with time zone not null default now(),
  entropy_sealed text,
  name_salt text not null default replace((gen_random_uuid())::text, '-'::text, ''::text),
  has_first_receiver boolean not null default false,
  contract_options jsonb not null default '{}'::jsonb,
  constraint projects_id_organization_id_key UNIQUE (id, organization_id),
  constraint projects_subscription_id_key UNIQUE (subscription_id),
  constraint projects_pkey PRIMARY KEY (id),
  constraint projects_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id),
  constraint projects_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint projects_id_check CHECK ((id ~ '^[a-z0-9]+$'::text)),
  constraint projects_status_check CHECK ((status = ANY (ARRAY['requested'::text, 'active'::text, 'failed'::text, 'suspended'::text, 'deleting'::text, 'deleted'::text]))),
  constraint projects_type_check CHECK ((type = ANY (ARRAY['grid'::text, 'dedicated'::text])))
);
CREATE INDEX projects_listed ON public.projects USING btree (organization_id, created_at, id) WHERE (status <> 'deleted'::text);
CREATE INDEX projects_organization ON public.projects USING btree (organization_id);
CREATE INDEX projects_suspended ON public.projects USING btree (organization_id) WHERE (status = 'suspended'::text);
CREATE INDEX projects_without_receiver ON public.projects USING btree (id) WHERE (NOT has_first_receiver);

create table pull_requests (
  integration_id text not null,
  number integer not null,
  details jsonb not null,
  approved_commit text,
  approved_by uuid,
  approved_at timestamp with time zone,
  revision text,
  constraint pull_requests_pkey PRIMARY KEY (integration_id, number),
  constraint pull_requests_approved_by_fkey FOREIGN KEY (approved_by) REFERENCES users(id) ON DELETE SET NULL,
  constraint pull_requests_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE,
  constraint pull_requests_check CHECK (((approved_commit IS NULL) = (approved_at IS NULL)))
);

create table pushes (
  id bigint not null generated always as identity,
  project_id text not null,
  user_id uuid,
  updates jsonb not null,
  options jsonb not null default '[]'::jsonb,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint pushes_pkey PRIMARY KEY (id),
  constraint pushes_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint pushes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX pushes_project ON public.pushes USING btree (project_id);

create table quotas (
  organization_id text,
  project_id text,
  environments integer,
  cpu double precision,
  memory integer,
  disk integer,
  projects integer,
  builds integer,
  activities integer,
  constraint quotas_organization_id_key UNIQUE (organization_id),
  constraint quotas_project_id_key UNIQUE (project_id),
  constraint quotas_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint quotas_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint quotas_activities_check CHECK ((activities >= 1)),
  constraint quotas_builds_check CHECK ((builds >= 1)),
  constraint quotas_check CHECK ((num_nonnulls(organization_id, project_id) <= 1)),
  constraint quotas_cpu_check CHECK ((cpu >= (0)::double precision)),
  constraint quotas_disk_check CHECK ((disk >= 0)),
  constraint quotas_environments_check CHECK ((environments >= 0)),
  constraint quotas_memory_check CHECK ((memory >= 0)),
  constraint quotas_of_organizations CHECK (((project_id IS NULL) OR (num_nonnulls(projects, builds, activities) = 0))),
  constraint quotas_projects_check CHECK ((projects >= 0))
);
CREATE UNIQUE INDEX quotas_default ON public.quotas USING btree ((true)) WHERE ((organization_id IS NULL) AND (project_id IS NULL));

create table recovery_codes (
  user_id uuid not null,
  fingerprint text not null,
  constraint recovery_codes_pkey PRIMARY KEY (user_id, fingerprint),
  constraint recovery_codes_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);

create table released_names (
  name text not null,
  organization_id text not null,
  released_at timestamp with time zone not null default clock_timestamp(),
  constraint released_names_pkey PRIMARY KEY (name)
);

create table report_news (
  id bigint not null generated always as identity,
  project_id text not null,
  environment text not null,
  constraint report_news_pkey PRIMARY KEY (id),
  constraint report_news_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE
);
CREATE INDEX report_news_project ON public.report_news USING btree (project_id, environment);

create table resource_history (
  id bigint not null generated always as identity,
  project_id text not null,
  environment text not null,
  event_type text not null,
  event_id text not null,
  resource text not null,
  quantity text not null,
  user_id uuid,
  happened_at timestamp with time zone not null,
  constraint resource_history_pkey PRIMARY KEY (id)
);
CREATE INDEX resource_history_age ON public.resource_history USING btree (happened_at);
CREATE INDEX resource_history_project ON public.resource_history USING btree (project_id, environment, event_type, resource, id);

create table running_tasks (
  activity_id text not null,
  project_id text not null,
  environment_id text not null,
  cpu double precision not null,
  memory double precision not null,
  constraint running_tasks_pkey PRIMARY KEY (activity_id),
  constraint running_tasks_activity_id_fkey FOREIGN KEY (activity_id) REFERENCES activities(id) ON DELETE CASCADE
);
CREATE INDEX running_tasks_environment ON public.running_tasks USING btree (project_id, environment_id);

create table service_types (
  name text not null,
  description text not null,
  added_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint service_types_pkey PRIMARY KEY (name),
  constraint service_types_name_check CHECK ((name ~ '^[a-z][a-z0-9-]{0,47}$'::text))
);

create table sign_ins (
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  grant_model text not null default 'Grant'::text,
  grant_hash text not null,
  session_hash text,
  client_id text not null,
  user_agent text not null,
  address text not null,
  created_at timestamp with time zone not null default now(),
  last_used_at timestamp with time zone not null default now(),
  constraint sign_ins_grant_model_grant_hash_key UNIQUE (grant_model, grant_hash),
  constraint sign_ins_pkey PRIMARY KEY (id),
  constraint sign_ins_grant_model_grant_hash_fkey FOREIGN KEY (grant_model, grant_hash) REFERENCES oauth_records(model, id_hash) ON DELETE CASCADE,
  constraint sign_ins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint sign_ins_grant_model_check CHECK ((grant_model = 'Grant'::text))
);
CREATE INDEX sign_ins_user ON public.sign_ins USING btree (user_id);

create table slugs (
  id text not null,
  project_id text not null,
  app text not null,
  tree_id text not null,
  config_id text not null,
  volume text not null,
  bytes bigint not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  last_used_at timestamp with time zone not null default clock_timestamp(),
  image jsonb,
  constraint slugs_volume_key UNIQUE (volume),
  constraint slugs_pkey PRIMARY KEY (id)
);
CREATE INDEX slugs_project ON public.slugs USING btree (project_id, last_used_at);

create table ssh_keys (
  key_id integer not null generated always as identity,
  user_id uuid not null,
  title text not null,
  value text not null,
  fingerprint text not null,
  changed timestamp with time zone not null default now(),
  constraint ssh_keys_value_key UNIQUE (value),
  constraint ssh_keys_pkey PRIMARY KEY (key_id),
  constraint ssh_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX ssh_keys_user ON public.ssh_keys USING btree (user_id);

create table ssh_sessions (
  id text not null,
  user_id uuid not null,
  project_id text not null,
  environment_id text not null,
  runs text not null,
  instance integer not null,
  address text not null,
  via text not null,
  started_at timestamp with time zone not null default clock_timestamp(),
  seen_at timestamp with time zone not null default clock_timestamp(),
  is_ending boolean not null default false,
  constraint ssh_sessions_pkey PRIMARY KEY (id),
  constraint ssh_sessions_project_id_environment_id_fkey FOREIGN KEY (project_id, environment_id) REFERENCES environments(project_id, id) ON DELETE CASCADE,
  constraint ssh_sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint ssh_sessions_instance_check CHECK ((instance >= 0))
);
CREATE INDEX ssh_sessions_environment ON public.ssh_sessions USING btree (project_id, environment_id);
CREATE INDEX ssh_sessions_user ON public.ssh_sessions USING btree (user_id);

create table team_access (
  team_id text not null,
  project_id text not null,
  organization_id text not null,
  granted_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint team_access_pkey PRIMARY KEY (team_id, project_id),
  constraint team_access_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id) ON DELETE CASCADE,
  constraint team_access_team_id_organization_id_fkey FOREIGN KEY (team_id, organization_id) REFERENCES teams(id, organization_id) ON DELETE CASCADE
);
CREATE INDEX team_access_project ON public.team_access USING btree (project_id, team_id);
CREATE INDEX team_access_project_granted ON public.team_access USING btree (project_id, granted_at, team_id);
CREATE INDEX team_access_project_updated ON public.team_access USING btree (project_id, updated_at, team_id);
CREATE INDEX team_access_team_granted ON public.team_access USING btree (team_id, granted_at, project_id);
CREATE INDEX team_access_team_updated ON public.team_access USING btree (team_id, updated_at, project_id);

create table team_members (
  team_id text not null,
  user_id uuid not null,
  organization_id text not null,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint team_members_pkey PRIMARY KEY (team_id, user_id),
  constraint team_members_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES organization_members(organization_id, user_id) ON DELETE CASCADE,
  constraint team_members_team_id_organization_id_fkey FOREIGN KEY (team_id, organization_id) REFERENCES teams(id, organization_id) ON DELETE CASCADE
);
CREATE INDEX team_members_created ON public.team_members USING btree (team_id, created_at, user_id);
CREATE INDEX team_members_member ON public.team_members USING btree (organization_id, user_id);
CREATE INDEX team_members_updated ON public.team_members USING btree (team_id, updated_at, user_id);
CREATE INDEX team_members_user ON public.team_members USING btree (user_id, team_id);

create table teams (
  id text not null,
  organization_id text not null,
  label text not null,
  project_permissions text[] not null default '{}'::text[],
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint teams_id_organization_id_key UNIQUE (id, organization_id),
  constraint teams_pkey PRIMARY KEY (id),
  constraint teams_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE CASCADE,
  constraint teams_project_permissions_check CHECK ((project_permissions <@ ARRAY['admin'::text, 'viewer'::text, 'development:admin'::text, 'development:contributor'::text, 'development:viewer'::text, 'staging:admin'::text, 'staging:contributor'::text, 'staging:viewer'::text, 'production:admin'::text, 'production:contributor'::text, 'production:viewer'::text]))
);
CREATE INDEX teams_by_creation ON public.teams USING btree (organization_id, created_at, id);
CREATE INDEX teams_by_label ON public.teams USING btree (organization_id, label, id);
CREATE INDEX teams_by_update ON public.teams USING btree (organization_id, updated_at, id);
CREATE INDEX teams_created_all ON public.teams USING btree (created_at, id);
CREATE UNIQUE INDEX teams_label ON public.teams USING btree (organization_id, lower(label));
CREATE INDEX teams_label_all ON public.teams USING btree (label, id);
CREATE INDEX teams_updated_all ON public.teams USING btree (updated_at, id);

create table terminal_tickets (
  fingerprint text not null,
  proof jsonb not null,
  destination text not null,
  expires_at timestamp with time zone not null,
  constraint terminal_tickets_pkey PRIMARY KEY (fingerprint)
);
CREATE INDEX terminal_tickets_expires_at ON public.terminal_tickets USING btree (expires_at);

create table ticket_attachments (
  id integer not null generated always as identity,
  ticket_id integer not null,
  comment_id integer,
  filename text not null,
  content bytea,
  created_at timestamp with time zone not null default clock_timestamp(),
  file uuid,
  size integer not null,
  constraint ticket_attachments_file_key UNIQUE (file),
  constraint ticket_attachments_pkey PRIMARY KEY (id),
  constraint ticket_attachments_comment_id_fkey FOREIGN KEY (comment_id) REFERENCES ticket_comments(id) ON DELETE CASCADE,
  constraint ticket_attachments_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets(id) ON DELETE CASCADE,
  constraint ticket_attachments_somewhere CHECK ((num_nonnulls(file, content) = 1))
);
CREATE INDEX ticket_attachments_ticket ON public.ticket_attachments USING btree (ticket_id, id);

create table ticket_collaborators (
  ticket_id integer not null,
  user_id uuid not null,
  constraint ticket_collaborators_pkey PRIMARY KEY (ticket_id, user_id),
  constraint ticket_collaborators_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets(id) ON DELETE CASCADE,
  constraint ticket_collaborators_user_id_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE
);
CREATE INDEX ticket_collaborators_user ON public.ticket_collaborators USING btree (user_id);

create table ticket_comments (
  id integer not null generated always as identity,
  ticket_id integer not null,
  author_id uuid,
  is_answer boolean not null,
  text text not null,
  created_at timestamp with time zone not null default clock_timestamp(),
  constraint ticket_comments_pkey PRIMARY KEY (id),
  constraint ticket_comments_author_id_fkey FOREIGN KEY (author_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint ticket_comments_ticket_id_fkey FOREIGN KEY (ticket_id) REFERENCES tickets(id) ON DELETE CASCADE
);
CREATE INDEX ticket_comments_ticket ON public.ticket_comments USING btree (ticket_id, id);

create table tickets (
  id integer not null generated always as identity,
  type text not null,
  category text not null,
  priority text not null,
  status text not null default 'new'::text,
  subject text not null,
  description text not null,
  requester_id uuid not null,
  submitter_id uuid,
  assignee_id uuid,
  organization_id text,
  project_id text,
  followup_id integer,
  affected_url text not null default ''::text,
  has_incidents boolean not null default false,
  due timestamp with time zone,
  help_desk_url text not null default ''::text,
  created_at timestamp with time zone not null default clock_timestamp(),
  updated_at timestamp with time zone not null default clock_timestamp(),
  responded_at timestamp with time zone,
  resolved_at timestamp with time zone,
  constraint tickets_pkey PRIMARY KEY (id),
  constraint tickets_assignee_id_fkey FOREIGN KEY (assignee_id) REFERENCES users(id) ON DELETE SET NULL,
  constraint tickets_followup_id_fkey FOREIGN KEY (followup_id) REFERENCES tickets(id) ON DELETE SET NULL,
  constraint tickets_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organizations(id) ON DELETE SET NULL,
  constraint tickets_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE SET NULL,
  constraint tickets_requester_id_fkey FOREIGN KEY (requester_id) REFERENCES users(id) ON DELETE CASCADE,
  constraint tickets_submitter_id_fkey FOREIGN KEY (submitter_id) REFERENCES users(id) ON DELETE SET NULL
);
CREATE INDEX tickets_created ON public.tickets USING btree (created_at, id);
CREATE INDEX tickets_requester ON public.tickets USING btree (requester_id, created_at);

create table token_rotations (
  integration_id text not null,
  token_fingerprint text not null,
  begun_at timestamp with time zone not null default clock_timestamp(),
  constraint token_rotations_pkey PRIMARY KEY (integration_id),
  constraint token_rotations_integration_id_fkey FOREIGN KEY (integration_id) REFERENCES integrations(id) ON DELETE CASCADE
);

create table usage_alerts (
  project_id text not null,
  id text not null,
  active boolean not null default true,
  threshold bigint not null,
  alerts_sent integer not null default 0,
  last_alert_at timestamp with time zone,
  updated_at timestamp with time zone not null default clock_timestamp(),
  constraint usage_alerts_pkey PRIMARY KEY (project_id, id),
  constraint usage_alerts_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id) ON DELETE CASCADE,
  constraint usage_alerts_threshold_check CHECK ((threshold > 0))
);
CREATE INDEX usage_alerts_active ON public.usage_alerts USING btree (project_id) WHERE active;

create table usage_hours (
  metered_id integer not null,
  hour timestamp with time zone not null,
  allocated_time bigint,
  cpu_allocated bigint,
  memory_allocated bigint,
  storage_allocated bigint,
  cpu_used bigint,
  memory_used bigint,
  storage_used bigint,
  received bigint,
  sent bigint,
  requests bigint,
  request_bytes bigint,
  response_bytes bigint,
  forwarded_bytes bigint,
  constraint usage_hours_pkey PRIMARY KEY (metered_id, hour),
  constraint usage_hours_metered_id_fkey FOREIGN KEY (metered_id) REFERENCES metered(id)
);
CREATE INDEX usage_hours_hour ON public.usage_hours USING brin (hour);

create table user_access (
  project_id text not null,
  user_id uuid not null,
  organization_id text not null,
  permissions text[] not null,
  granted_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  constraint user_access_pkey PRIMARY KEY (project_id, user_id),
  constraint user_access_organization_id_user_id_fkey FOREIGN KEY (organization_id, user_id) REFERENCES organization_members(organization_id, user_id) ON DELETE CASCADE,
  constraint user_access_project_id_organization_id_fkey FOREIGN KEY (project_id, organization_id) REFERENCES projects(id, organization_id) ON DELETE CASCADE,
  constraint user_access_permissions_check CHECK (((cardinality(permissions) > 0) AND (permissions <@ ARRAY['admin'::text, 'viewer'::text, 'development:admin'::text, 'development:contributor'::text, 'development:viewer'::text, 'staging:admin'::text, 'staging:contributor'::text, 'staging:viewer'::text, 'production:admin'::text, 'production:contributor'::text, 'production:viewer'::text])))
);
CREATE INDEX user_access_member ON public.user_access USING btree (organization_id, user_id);
CREATE INDEX user_access_project_granted ON public.user_access USING btree (project_id, granted_at, user_id);
CREATE INDEX user_access_project_updated ON public.user_access USING btree (project_id, updated_at, user_id);
CREATE INDEX user_access_user ON public.user_access USING btree (user_id, project_id);
CREATE INDEX user_access_user_granted ON public.user_access USING btree (user_id, granted_at, project_id);
CREATE INDEX user_access_user_updated ON public.user_access USING btree (user_id, updated_at, project_id);

create table users (
  id uuid not null default gen_random_uuid(),
  uid integer not null generated always as identity,
  namespace text not null default 'offshoot'::text,
  username text not null,
  email text not null,
  email_verified boolean not null default false,
  first_name text not null default ''::text,
  last_name text not null default ''::text,
  picture text not null default ''::text,
  company text not null default ''::text,
  website text not null default ''::text,
  country text not null default ''::text,
  deactivated boolean not null default false,
  is_operator boolean not null default false,
  phone_number_verified boolean not null default false,
  mfa_enabled boolean not null default false,
  sso_enabled boolean not null default false,
  password_hash text,
  token_generation integer not null default 0,
  consented_at timestamp with time zone,
  consent_method text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  phone_number text,
  constraint users_uid_key UNIQUE (uid),
  constraint users_pkey PRIMARY KEY (id),
  constraint users_consent_method_check CHECK ((consent_method = ANY (ARRAY['opt-in'::text, 'text-ref'::text]))),
  constraint users_country_check CHECK ((country ~ '^([A-Z]{2})?$'::text)),
  constraint users_email_check CHECK ((email = lower(email)))
);
CREATE INDEX users_created ON public.users USING btree (created_at, id);
CREATE UNIQUE INDEX users_email ON public.users USING btree (email);
CREATE UNIQUE INDEX users_phone_number ON public.users USING btree (phone_number) WHERE (phone_number IS NOT NULL);
CREATE UNIQUE INDEX users_username ON public.users USING btree (namespace, lower(username));

create table voucher_uses (
  code text not null,
  order_id bigint not null,
  amount bigint not null,
  constraint voucher_uses_pkey PRIMARY KEY (code, order_id),
  constraint voucher_uses_code_fkey FOREIGN KEY (code) REFERENCES vouchers(code),
  constraint voucher_uses_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id),
  constraint voucher_uses_amount_check CHECK ((amount > 0))
);
CREATE INDEX voucher_uses_order ON public.voucher_uses USING btree (order_id);

create table vouchers (
  code text not null,
  currency text not null,
  amount bigint not null,
  organization_id text not null default ''::text,
  applied_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  constraint vouchers_pkey PRIMARY KEY (code),
  constraint vouchers_amount_check CHECK ((amount > 0))
);
CREATE INDEX vouchers_organization ON public.vouchers USING btree (organization_id) WHERE (organization_id <> ''::text);

create view parties as
 SELECT projects.id AS project_id,
    organizations.id AS party,
    (organizations.owner_id)::text AS outer_party,
    ('The organization '::text || organizations.name) AS party_title,
    ( SELECT quotas.activities
           FROM quotas
          WHERE ((quotas.organization_id = organizations.id) OR (num_nonnulls(quotas.organization_id, quotas.project_id) = 0))
          ORDER BY quotas.organization_id
         LIMIT 1) AS activities_most
   FROM (projects
     JOIN organizations ON ((organizations.id = projects.organization_id)));
