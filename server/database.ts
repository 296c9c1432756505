// Generated from the migrations by ./offshoot schema; do not edit.
import type { Generated, GeneratedAlways } from 'kysely';

/** With microseconds, as in 2026-01-31T12:00:00.000000+00:00. */
type Time = string;

export interface Database {
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
  ssh_keys: {
    key_id: GeneratedAlways<number>;
    user_id: string;
    title: string;
    value: string;
    fingerprint: string;
    changed: Generated<Time>;
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
  };
}
