// Generated from the migrations by ./offshoot schema; do not edit.
import type { Generated, GeneratedAlways } from 'kysely';

/** A time with microseconds, as in 2026-01-31T12:00:00.000000+00:00. */
type Time = string;

export interface Database {
  acme_accounts: {
    owner: string;
    directory_url: string;
    sealed: string;
    updated_at: Generated<Time>;
  };
  activities: {
    id: string;
    project_id: string;
    type: string;
    queue: string;
    environments: Generated<string[]>;
    environment_types: Generated<string[]>;
    integration: string | null;
    state: Generated<string>;
    result: string | null;
    failure_reason: string | null;
    completion_percent: Generated<number>;
    parameters: Generated<unknown>;
    payload: Generated<unknown>;
    description: string | null;
    text: string | null;
    timings: Generated<unknown>;
    commands: Generated<unknown>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    started_at: Time | null;
    completed_at: Time | null;
    cancelled_at: Time | null;
    expires_at: Time | null;
    position: GeneratedAlways<string>;
    input: Generated<unknown>;
    is_urgent: Generated<boolean>;
    is_cancellable: Generated<boolean>;
    is_undoing: Generated<boolean>;
    failure: string | null;
    cancel_requested_at: Time | null;
    run_after: Generated<Time>;
    runner: string | null;
    lease_until: Time | null;
    fence: Generated<number>;
    attempts: Generated<number>;
    staged_in: string | null;
  };
  activity_events: {
    id: GeneratedAlways<string>;
    project_id: string;
    activity_id: string;
    state: string;
    result: string | null;
    completion_percent: number;
    created_at: Generated<Time>;
  };
  activity_lanes: {
    activity_id: string;
    project_id: string;
    lane: string;
    position: string;
    created_at: Time;
    lanes: Generated<number>;
    is_open: Generated<boolean>;
    is_shared: Generated<boolean>;
  };
  activity_log: {
    activity_id: string;
    position: number;
    at: Time;
    message: string;
  };
  activity_steps: {
    activity_id: string;
    name: string;
    position: number;
    state: string;
    result: unknown;
  };
  addresses: {
    user_id: string;
    country: Generated<string>;
    name_line: Generated<string>;
    premise: Generated<string>;
    sub_premise: Generated<string>;
    thoroughfare: Generated<string>;
    administrative_area: Generated<string>;
    sub_administrative_area: Generated<string>;
    locality: Generated<string>;
    dependent_locality: Generated<string>;
    postal_code: Generated<string>;
  };
  allocations: {
    id: GeneratedAlways<string>;
    organization_id: string;
    project_id: string;
    environment: string;
    subject: string;
    version: string;
    amounts: unknown;
    since: Time;
    until: Time | null;
  };
  api_processes: {
    host: string;
    port: number;
    seen_at: Generated<Time>;
  };
  api_tokens: {
    id: Generated<string>;
    user_id: string;
    name: string;
    fingerprint: string;
    mfa_on_creation: Generated<boolean>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    last_used_at: Time | null;
  };
  app_mail_hours: {
    project_id: string;
    environment_id: string;
    hour: Time;
    recipients: number;
  };
  app_mail_notes: {
    id: string;
    project_id: string;
    machine_name: string;
    app: string;
    text_sealed: string;
    created_at: Generated<Time>;
  };
  app_mails: {
    id: string;
    project_id: string;
    environment_id: string;
    machine_name: string;
    app: string;
    bytes: number;
    envelope_sealed: string;
    message_sealed: string;
    is_deferred: Generated<boolean>;
    is_given_up: Generated<boolean>;
    created_at: Generated<Time>;
  };
  applied_retention: {
    project_id: string;
    environment_id: string;
    basis: string;
  };
  attempts: {
    key: string;
    count: number;
    window_ends_at: Time;
  };
  audit: {
    id: string;
    created_at: Generated<Time>;
    user_id: string;
    operation: string;
    kind: string;
    summary: string;
    target: string;
    subject_id: string | null;
    organization_id: string | null;
    project_id: string | null;
    activity_id: string | null;
    address: string;
  };
  authorities: {
    id: GeneratedAlways<string>;
    certificate: string;
    key_sealed: string;
    names: string[];
    addresses: string[];
    expires_at: Time;
    created_at: Generated<Time>;
  };
  autoscaling_settings: {
    project_id: string;
    environment_id: string;
    service: string;
    settings: unknown;
    is_on: boolean;
  };
  backup_slots: {
    project_id: string;
    environment_id: string;
    slot_at: Time;
    attempts: Generated<number>;
    tried_at: Generated<Time>;
    is_done: Generated<boolean>;
    made: Generated<number>;
  };
  backups: {
    id: string;
    project_id: string;
    environment_id: string;
    environment_type: string;
    status: Generated<string>;
    restorable: Generated<boolean>;
    safe: boolean;
    automated: boolean;
    index: number | null;
    slot_at: Time | null;
    commit_id: string;
    deployment: string | null;
    stack_sealed: string;
    parts: Generated<unknown>;
    stored: unknown;
    size_of_volumes: number | null;
    size_used: number | null;
    size_object_storage: number | null;
    attributes: Generated<unknown>;
    origin: unknown;
    activity_id: string | null;
    deletion_id: string | null;
    expires_at: Time | null;
    orphaned_at: Time | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    damaged_at: Time | null;
  };
  billed_users: {
    organization_id: string;
    day: string;
    admin_users: number;
    viewer_users: number;
    user_management: string;
    support_level: string;
  };
  billing: {
    is_only: Generated<boolean>;
    billed_until: string;
  };
  billing_alerts: {
    organization_id: string;
    active: Generated<boolean>;
    threshold: string;
    mode: Generated<string>;
    alerts_sent: Generated<number>;
    last_alert_at: Time | null;
    updated_at: Generated<Time>;
  };
  carbon_closings: {
    day: string;
    method_since: Time;
    own_energy: string;
    own_emissions: string;
    closed_at: Generated<Time>;
  };
  carbon_days: {
    project_id: string;
    day: string;
    environment: string;
    processors: string;
    idle: string;
    memory: string;
    disk: string;
    network: string;
    emissions: string;
  };
  carbon_methods: {
    since: Time;
    method: unknown;
  };
  cdn_certificates: {
    integration_id: string;
    certificate_id: string;
    mark: string;
    again_at: Time | null;
  };
  certificate_provisioners: {
    project_id: string;
    directory_url: string;
    email: string;
    eab_kid: string | null;
    eab_hmac_key_sealed: string | null;
    updated_at: Generated<Time>;
  };
  certificates: {
    id: string;
    project_id: string | null;
    certificate: string;
    chain: Generated<string[]>;
    key_sealed: string;
    names: string[];
    expires_at: Time;
    is_provisioned: Generated<boolean>;
    is_invalid: Generated<boolean>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    version: Generated<string>;
    serves: Generated<string[]>;
    issued_by: string | null;
    renew_at: Time | null;
    ask_again_at: Time | null;
    owners_told_at: Time | null;
    ask_status_at: Generated<Time | null>;
    status_failures: Generated<number>;
    must_staple: Generated<boolean>;
    stapled: string | null;
    stapled_until: Time | null;
    revoked_at: Time | null;
    status_trouble: string | null;
  };
  code_host_news: {
    integration_id: string;
    about: string;
    pull_request: number | null;
    version: Generated<string>;
    noted_at: Generated<Time>;
  };
  code_host_reports: {
    integration_id: string;
    environment: string;
    statuses: Generated<unknown>;
    comment_key: string;
    comment_id: string | null;
    comment_text: string | null;
  };
  code_mirrors: {
    integration_id: string;
    repository_id: string | null;
    repository_url: string | null;
    default_branch: string | null;
    sync_at: Generated<Time>;
    is_replaced: Generated<boolean>;
    quiet_until: Time | null;
  };
  connections: {
    user_id: string;
    provider: string;
    provider_type: string;
    is_mandatory: Generated<boolean>;
    subject: string;
    email_address: string;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    issuer: string;
  };
  counted_forwardings: {
    name: string;
    generation: string;
    bytes: string;
  };
  crons: {
    project_id: string;
    environment_id: string;
    app: string;
    name: string;
    spec: string;
    timezone: string | null;
    next_at: Time;
    last_at: Time | null;
    activity_id: string | null;
    left_out: Generated<number>;
  };
  deliveries: {
    id: string;
    kind: string;
    order_key: string;
    position: string;
    organization_id: string | null;
    project_id: string | null;
    integration_id: string | null;
    payload_sealed: string | null;
    state: Generated<string>;
    repeats: string | null;
    created_at: Generated<Time>;
    finished_at: Time | null;
    about: Generated<unknown>;
  };
  delivery_attempts: {
    delivery_id: string;
    number: number;
    begun_at: Time;
    milliseconds: number;
    outcome: string;
    request: unknown;
    response: unknown;
    trouble: string | null;
  };
  delivery_lanes: {
    order_key: string;
    party: string;
    head: Generated<string>;
    tail: Generated<string>;
    due_at: Generated<Time>;
    failures: Generated<number>;
    holder: string | null;
    leased_until: Time | null;
  };
  deployments: {
    id: string;
    project_id: string;
    environment_id: string;
    stack_id: string;
    number: number;
    status: Generated<string>;
    commit_id: string;
    model: unknown;
    slugs: unknown;
    sizes: unknown;
    generations: Generated<unknown>;
    routes: unknown;
    settings: unknown;
    secrets_sealed: string;
    activity_id: string | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    cpu: Generated<number>;
    memory: Generated<number>;
    disk: Generated<number>;
    has_crons_scheduled: Generated<boolean>;
    told_routes: unknown;
    is_scaling: Generated<boolean>;
    domain_names: unknown;
  };
  discounts: {
    id: GeneratedAlways<number>;
    organization_id: string;
    type: string;
    currency: string;
    monthly: string;
    start_month: string;
    months: number | null;
    created_at: Generated<Time>;
    ended_month: string | null;
  };
  domain_claims: {
    name: string;
    project_id: string;
    is_kept: Generated<boolean>;
    proven_at: Time | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  domains: {
    project_id: string;
    name: string;
    environment_id: string | null;
    replacement_for: string | null;
    registered_name: string;
    attributes: Generated<unknown>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  edge_proofs: {
    question: string;
    sealed: string;
    created_at: Generated<Time>;
  };
  environment_use: {
    project_id: string;
    machine_name: string;
    measured_at: Time;
    cpu_used: number;
    memory_bytes: string;
    data_bytes: string | null;
    own_bytes: string | null;
  };
  environment_variables: {
    project_id: string;
    environment_id: string;
    name: string;
    value: string | null;
    value_sealed: string | null;
    is_json: Generated<boolean>;
    is_sensitive: Generated<boolean>;
    visible_build: Generated<boolean>;
    visible_runtime: Generated<boolean>;
    application_scope: Generated<string[]>;
    is_enabled: Generated<boolean>;
    is_inheritable: Generated<boolean>;
    attributes: Generated<unknown>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  environments: {
    project_id: string;
    id: string;
    machine_name: string;
    title: string;
    attributes: Generated<unknown>;
    type: string;
    parent: string | null;
    status: Generated<string>;
    clone_parent_on_create: Generated<boolean>;
    deployment_target: Generated<string>;
    is_dedicated: Generated<boolean>;
    is_pr: Generated<boolean>;
    has_remote: Generated<boolean>;
    http_access: Generated<unknown>;
    enable_smtp: Generated<boolean>;
    restrict_robots: Generated<boolean>;
    enable_manual_deployments: Generated<boolean>;
    default_domain: string | null;
    max_instance_count: number | null;
    head_commit: string | null;
    commits_ahead: number | null;
    commits_behind: number | null;
    last_active_at: Time | null;
    last_backup_at: Time | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    stack_id: string | null;
    last_deployment: unknown;
    chosen_sizes: Generated<unknown>;
    sizes_by_hand: Generated<boolean>;
    pinned_commit: string | null;
    last_maintenance_at: Time | null;
    sleep_after_seconds: number | null;
    sleeping_since: Time | null;
    is_waking: Generated<boolean>;
    woken_at: Time | null;
    start_failure: string | null;
    autoscale_decided_at: Time | null;
    last_autoscale_up_at: Time | null;
    last_autoscale_down_at: Time | null;
    is_mirrored: Generated<boolean>;
    is_from_fork: Generated<boolean>;
    paused_by_suspension: Generated<boolean>;
    data_taken_at: Time | null;
    data_taken_from: string | null;
  };
  forwarded_logs: {
    hour: Time;
    project_id: string;
    environment: string;
    bytes: string;
  };
  health_alerts: {
    id: string;
    project_id: string;
    environment_id: string;
    check_name: string;
    subject: string;
    severity: string;
    text: string;
    value: number;
    opened_at: Time;
    away_since: Time | null;
    ended_at: Time | null;
    is_unwatched: Generated<boolean>;
    returns: Generated<number>;
  };
  health_alerts_told: {
    alert_id: string;
    integration_id: string;
    severity: string;
  };
  health_counts: {
    container: string;
    started_at: Time | null;
    restarts: number;
    out_of_memory_kills: number;
  };
  health_greetings: {
    integration_id: string;
  };
  health_incidents: {
    id: GeneratedAlways<string>;
    project_id: string;
    machine_name: string;
    kind: string;
    service: string;
    count: number;
    at: Time;
  };
  hosts: {
    host: string;
    project_id: string;
    environment_id: string;
    claim: GeneratedAlways<string>;
  };
  installation: {
    only_one: Generated<boolean>;
    created_at: Generated<Time>;
    first_credentials: string | null;
    backed_up_at: Time | null;
    routed_for: string | null;
    image_update_asked_at: Time | null;
  };
  installation_keys: {
    name: string;
    sealed: string;
    created_at: Generated<Time>;
  };
  integration_storage: {
    integration_id: string;
    key: string;
    value: unknown;
  };
  integration_variables: {
    integration_id: string;
    name: string;
    value: string | null;
    value_sealed: string | null;
    is_json: Generated<boolean>;
    is_sensitive: Generated<boolean>;
    attributes: Generated<unknown>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  integrations: {
    id: string;
    project_id: string;
    type: string;
    settings: unknown;
    secrets_sealed: string;
    hears_activities: boolean;
    hooked_at: Time | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  invitations: {
    id: Generated<string>;
    organization_id: string;
    project_id: string | null;
    email: string;
    permissions: string[];
    state: Generated<string>;
    owner_id: string;
    token_fingerprint: string;
    expires_at: Time;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    finished_at: Time | null;
  };
  invoice_numbers: {
    is_only: Generated<boolean>;
    last: number;
  };
  invoices: {
    id: GeneratedAlways<string>;
    number: number;
    invoice_number: string;
    type: string;
    order_id: string;
    related_invoice_id: string | null;
    organization_id: string;
    status: string;
    currency: string;
    total: string;
    issued_on: string;
    due_on: string | null;
    notes: Generated<string>;
    document: unknown;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  issuances: {
    certificate_id: string;
    project_id: string | null;
    names: string[];
    issued_by: string;
    sealed: string | null;
    not_before: Generated<Time>;
    refusals: Generated<number>;
    trouble: string | null;
    is_wanted: Generated<boolean>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  machine_amounts: {
    is_only: Generated<boolean>;
    cpu: number;
    memory: number;
    disk: number;
    noted_at: Generated<Time>;
    disk_free: number | null;
  };
  mailed_links: {
    token_fingerprint: string;
    user_id: string;
    purpose: string;
    email: string | null;
    expires_at: Time;
  };
  metered: {
    id: GeneratedAlways<number>;
    organization_id: string;
    project_id: string;
    environment: string;
    service: string;
    kind: string;
  };
  metering: {
    is_only: Generated<boolean>;
    closed_until: Time;
    seen_at: Time;
    boot_id: string;
  };
  migrations: {
    name: string;
    hash: string;
    applied_at: Generated<Time>;
  };
  oauth_records: {
    model: string;
    id_hash: string;
    sealed: string;
    uid: string | null;
    grant_id: string | null;
    user_id: string | null;
    consumed_at: Time | null;
    expires_at: Time | null;
  };
  orders: {
    id: GeneratedAlways<string>;
    organization_id: string;
    month: string;
    currency: Generated<string>;
    status: Generated<string>;
    lines: Generated<unknown>;
    baseprice: Generated<string>;
    discount: Generated<string>;
    voucher: Generated<string>;
    vat: Generated<string>;
    vat_percent: Generated<string>;
    total: Generated<string>;
    payer: Generated<unknown>;
    prepaid: Generated<string>;
    refreshed_at: Time | null;
    closed_at: Time | null;
    due_on: string | null;
    paid_on: Time | null;
    authorization_url: Generated<string>;
  };
  organization_addons: {
    organization_id: string;
    user_management: Generated<string>;
    support_level: Generated<string>;
    updated_at: Generated<Time>;
  };
  organization_addresses: {
    organization_id: string;
    country: Generated<string>;
    name_line: Generated<string>;
    premise: Generated<string>;
    sub_premise: Generated<string>;
    thoroughfare: Generated<string>;
    administrative_area: Generated<string>;
    sub_administrative_area: Generated<string>;
    locality: Generated<string>;
    dependent_locality: Generated<string>;
    postal_code: Generated<string>;
  };
  organization_members: {
    organization_id: string;
    user_id: string;
    permissions: Generated<string[]>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    accepted_at: Time | null;
  };
  organization_profiles: {
    organization_id: string;
    company_name: Generated<string>;
    legal_entity_name: Generated<string>;
    customer_type: Generated<string>;
    vat_number: Generated<string>;
    billing_contact: Generated<string>;
    default_catalog: Generated<string>;
    project_options_url: Generated<string>;
    updated_at: Generated<Time>;
  };
  organizations: {
    id: string;
    type: Generated<string>;
    owner_id: string;
    namespace: Generated<string>;
    name: string;
    label: string;
    country: Generated<string>;
    capabilities: Generated<string[]>;
    vendor: Generated<string>;
    billing_profile_id: string | null;
    billing_legacy: Generated<boolean>;
    security_contact: Generated<string>;
    status: Generated<string>;
    enforce_mfa: Generated<boolean>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    users_max: number | null;
    suspended_at: Time | null;
    suspension_reason: Generated<string>;
  };
  own_reports: {
    project_id: string;
    environment_id: string;
    application: string;
    reported_at: Time;
  };
  passcodes: {
    user_id: string;
    sealed: string;
    step_used: Generated<number>;
    created_at: Generated<Time>;
  };
  payment_events: {
    id: string;
    invoice_id: string | null;
    event: string;
    received_at: Generated<Time>;
  };
  payment_sources: {
    organization_id: string;
    added_at: Generated<Time>;
  };
  phone_verifications: {
    sid: string;
    user_id: string;
    phone_number: string;
    code_fingerprint: string;
    attempts: Generated<number>;
    expires_at: Time;
  };
  pictures: {
    user_id: string;
    version: string;
    content_type: string;
    content: Buffer;
  };
  plan_records: {
    id: GeneratedAlways<string>;
    organization_id: string;
    project_id: string;
    subscription_id: number;
    owner_id: string;
    region: string;
    title: string;
    plan: string;
    contract_options: unknown;
    storage_mib: number;
    environments_max: number;
    user_licenses: number;
    status: string;
    started_at: Time;
    ended_at: Time | null;
  };
  prepayment_transactions: {
    id: GeneratedAlways<string>;
    organization_id: string;
    order_id: string | null;
    message: string;
    currency: string;
    amount: string;
    created_at: Generated<Time>;
  };
  prepayments: {
    organization_id: string;
    fallback: string | null;
  };
  price_lists: {
    version: GeneratedAlways<number>;
    currency: string;
    effective_from: string;
    content: unknown;
    created_at: Generated<Time>;
  };
  profiles: {
    user_id: string;
    company_type: Generated<string>;
    company_role: Generated<string>;
    vat_number: Generated<string>;
    customer_type: Generated<string>;
    legal_entity_name: Generated<string>;
    billing_contact: Generated<string>;
    currency: Generated<string>;
    ui_colorscheme: Generated<string>;
    default_catalog: Generated<string>;
    project_options_url: Generated<string>;
    marketing: Generated<boolean>;
    updated_at: Generated<Time>;
  };
  project_variables: {
    project_id: string;
    name: string;
    value: string | null;
    value_sealed: string | null;
    is_json: Generated<boolean>;
    is_sensitive: Generated<boolean>;
    visible_build: Generated<boolean>;
    visible_runtime: Generated<boolean>;
    application_scope: Generated<string[]>;
    attributes: Generated<unknown>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  projects: {
    id: string;
    organization_id: string;
    subscription_id: GeneratedAlways<number>;
    region: string;
    title: Generated<string>;
    type: Generated<string>;
    plan: Generated<string>;
    status: Generated<string>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    description: Generated<string>;
    attributes: Generated<unknown>;
    owner_id: string | null;
    namespace: string | null;
    default_branch: Generated<string>;
    default_domain: string | null;
    timezone: Generated<string>;
    environments_max: Generated<number>;
    storage_mib: Generated<number>;
    user_licenses: Generated<number>;
    settings: Generated<unknown>;
    client_public_key: string | null;
    client_key_sealed: string | null;
    build_cache_generation: Generated<number>;
    restarted_at: Generated<Time>;
    entropy_sealed: string | null;
    name_salt: Generated<string>;
    has_first_receiver: Generated<boolean>;
    contract_options: Generated<unknown>;
  };
  pull_requests: {
    integration_id: string;
    number: number;
    details: unknown;
    approved_commit: string | null;
    approved_by: string | null;
    approved_at: Time | null;
    revision: string | null;
  };
  pushes: {
    id: GeneratedAlways<string>;
    project_id: string;
    user_id: string | null;
    updates: unknown;
    options: Generated<unknown>;
    created_at: Generated<Time>;
  };
  quotas: {
    organization_id: string | null;
    project_id: string | null;
    environments: number | null;
    cpu: number | null;
    memory: number | null;
    disk: number | null;
    projects: number | null;
    builds: number | null;
    activities: number | null;
  };
  recovery_codes: {
    user_id: string;
    fingerprint: string;
  };
  released_names: {
    name: string;
    organization_id: string;
    released_at: Generated<Time>;
  };
  report_news: {
    id: GeneratedAlways<string>;
    project_id: string;
    environment: string;
  };
  resource_history: {
    id: GeneratedAlways<string>;
    project_id: string;
    environment: string;
    event_type: string;
    event_id: string;
    resource: string;
    quantity: string;
    user_id: string | null;
    happened_at: Time;
  };
  running_tasks: {
    activity_id: string;
    project_id: string;
    environment_id: string;
    cpu: number;
    memory: number;
  };
  service_types: {
    name: string;
    description: string;
    added_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  sign_ins: {
    id: Generated<string>;
    user_id: string;
    grant_model: Generated<string>;
    grant_hash: string;
    session_hash: string | null;
    client_id: string;
    user_agent: string;
    address: string;
    created_at: Generated<Time>;
    last_used_at: Generated<Time>;
  };
  slugs: {
    id: string;
    project_id: string;
    app: string;
    tree_id: string;
    config_id: string;
    volume: string;
    bytes: string;
    created_at: Generated<Time>;
    last_used_at: Generated<Time>;
    image: unknown;
  };
  ssh_keys: {
    key_id: GeneratedAlways<number>;
    user_id: string;
    title: string;
    value: string;
    fingerprint: string;
    changed: Generated<Time>;
  };
  ssh_sessions: {
    id: string;
    user_id: string;
    project_id: string;
    environment_id: string;
    runs: string;
    instance: number;
    address: string;
    via: string;
    started_at: Generated<Time>;
    seen_at: Generated<Time>;
    is_ending: Generated<boolean>;
  };
  team_access: {
    team_id: string;
    project_id: string;
    organization_id: string;
    granted_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  team_members: {
    team_id: string;
    user_id: string;
    organization_id: string;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  teams: {
    id: string;
    organization_id: string;
    label: string;
    project_permissions: Generated<string[]>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  terminal_tickets: {
    fingerprint: string;
    proof: unknown;
    destination: string;
    expires_at: Time;
  };
  ticket_attachments: {
    id: GeneratedAlways<number>;
    ticket_id: number;
    comment_id: number | null;
    filename: string;
    content: Buffer | null;
    created_at: Generated<Time>;
    file: string | null;
    size: number;
  };
  ticket_collaborators: {
    ticket_id: number;
    user_id: string;
  };
  ticket_comments: {
    id: GeneratedAlways<number>;
    ticket_id: number;
    author_id: string | null;
    is_answer: boolean;
    text: string;
    created_at: Generated<Time>;
  };
  tickets: {
    id: GeneratedAlways<number>;
    type: string;
    category: string;
    priority: string;
    status: Generated<string>;
    subject: string;
    description: string;
    requester_id: string;
    submitter_id: string | null;
    assignee_id: string | null;
    organization_id: string | null;
    project_id: string | null;
    followup_id: number | null;
    affected_url: Generated<string>;
    has_incidents: Generated<boolean>;
    due: Time | null;
    help_desk_url: Generated<string>;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    responded_at: Time | null;
    resolved_at: Time | null;
  };
  token_rotations: {
    integration_id: string;
    token_fingerprint: string;
    begun_at: Generated<Time>;
  };
  usage_alerts: {
    project_id: string;
    id: string;
    active: Generated<boolean>;
    threshold: string;
    alerts_sent: Generated<number>;
    last_alert_at: Time | null;
    updated_at: Generated<Time>;
  };
  usage_hours: {
    metered_id: number;
    hour: Time;
    allocated_time: string | null;
    cpu_allocated: string | null;
    memory_allocated: string | null;
    storage_allocated: string | null;
    cpu_used: string | null;
    memory_used: string | null;
    storage_used: string | null;
    received: string | null;
    sent: string | null;
    requests: string | null;
    request_bytes: string | null;
    response_bytes: string | null;
    forwarded_bytes: string | null;
  };
  user_access: {
    project_id: string;
    user_id: string;
    organization_id: string;
    permissions: string[];
    granted_at: Generated<Time>;
    updated_at: Generated<Time>;
  };
  users: {
    id: Generated<string>;
    uid: GeneratedAlways<number>;
    namespace: Generated<string>;
    username: string;
    email: string;
    email_verified: Generated<boolean>;
    first_name: Generated<string>;
    last_name: Generated<string>;
    picture: Generated<string>;
    company: Generated<string>;
    website: Generated<string>;
    country: Generated<string>;
    deactivated: Generated<boolean>;
    is_operator: Generated<boolean>;
    phone_number_verified: Generated<boolean>;
    mfa_enabled: Generated<boolean>;
    sso_enabled: Generated<boolean>;
    password_hash: string | null;
    token_generation: Generated<number>;
    consented_at: Time | null;
    consent_method: string | null;
    created_at: Generated<Time>;
    updated_at: Generated<Time>;
    phone_number: string | null;
  };
  voucher_uses: {
    code: string;
    order_id: string;
    amount: string;
  };
  vouchers: {
    code: string;
    currency: string;
    amount: string;
    organization_id: Generated<string>;
    applied_at: Time | null;
    created_at: Generated<Time>;
  };
}
