// Generated from the migrations by ./offshoot schema; do not edit.
import type { Generated, GeneratedAlways } from 'kysely';

/** With microseconds, as in 2026-01-31T12:00:00.000000+00:00. */
type Time = string;

export interface Database {
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
  };
  activity_lanes: {
    activity_id: string;
    project_id: string;
    lane: string;
    position: string;
    created_at: Time;
    lanes: Generated<number>;
    is_open: Generated<boolean>;
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
  attempts: {
    key: string;
    count: number;
    window_ends_at: Time;
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
  };
  installation: {
    only_one: Generated<boolean>;
    created_at: Generated<Time>;
    first_credentials: string | null;
  };
  installation_keys: {
    name: string;
    sealed: string;
    created_at: Generated<Time>;
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
  mailed_links: {
    token_fingerprint: string;
    user_id: string;
    purpose: string;
    email: string | null;
    expires_at: Time;
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
  organization_members: {
    organization_id: string;
    user_id: string;
    permissions: Generated<string[]>;
    created_at: Generated<Time>;
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
  };
  passcodes: {
    user_id: string;
    sealed: string;
    step_used: Generated<number>;
    created_at: Generated<Time>;
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
  };
  pushes: {
    id: GeneratedAlways<string>;
    project_id: string;
    user_id: string | null;
    updates: unknown;
    options: Generated<unknown>;
    created_at: Generated<Time>;
  };
  recovery_codes: {
    user_id: string;
    fingerprint: string;
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
  };
  ssh_keys: {
    key_id: GeneratedAlways<number>;
    user_id: string;
    title: string;
    value: string;
    fingerprint: string;
    changed: Generated<Time>;
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
}
