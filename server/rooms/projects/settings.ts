/**
 * The settings of a project: what the installation does, unless an operator decided otherwise for this one. All that the published API names is
 * told; four of them are the administrators' own to change.
 */
import { sql } from 'kysely';
import { Type, type Static, type TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { Config } from '../../config.ts';
import { ProjectId } from '../../ids.ts';
import { queueLimits } from '../../kernel/activity.ts';
import { entity } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import { nullable } from '../../kernel/schema.ts';
import type { Db, Tx } from '../../kernel/sql.ts';
import { buildResourcesUsual, capabilities } from './capabilities.ts';
import { DataRetention, retentionAfter, shownRetention } from './data-retention.ts';
import { projectById, type Project } from './queries.ts';
import { refuseCredentials } from './repository-address.ts';

const sizes = ['2XL', '4XL', 'L', 'M', 'S', 'XL'];
const text = Type.String({ maxLength: 1000 });
const flag = Type.Boolean();
const count = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 });
const choice = (...values: string[]) => Type.String({ enum: values });
const optionalText = nullable(text);
const mapOf = (values: object) => Type.Unsafe<unknown>({ type: 'object', additionalProperties: values, maxProperties: 100 });
const cpu = Type.Number({ minimum: 0.1, maximum: 1024 });
const memory = Type.Integer({ minimum: 64, maximum: 2 ** 24, description: 'MiB' });
const closed = { additionalProperties: false };
const fields = <T extends Record<string, TSchema>>(properties: T) => Type.Object(properties, closed);

const MaintenanceWindow = fields({
  recurrence: fields({
    interval: choice('2w', '4w'),
    day_of_week: Type.Integer({ minimum: 0, maximum: 6, description: '0 is Monday.' }),
    time: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', 'x-message': 'must be a time such as 23:30' }),
  }),
});

/** The settings that administrators of a project may change themselves. */
const ownSettings = {
  initialize: Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, maxProperties: 20 }),
  data_retention: nullable(DataRetention),
  build_resources: fields({ cpu: Type.Optional(cpu), memory: Type.Optional(memory) }),
  maintenance_window: nullable(MaintenanceWindow),
};

type Setting = string | number | boolean | null | object | ((config: Config) => string | boolean);

/** The settings that the operator decides: the shape of each, and its value on this installation. */
const platformSettings: Record<string, readonly [shape: TSchema, value: Setting]> = {
  product_name: [text, 'Offshoot'],
  product_code: [text, 'offshoot'],
  ui_uri_template: [text, ''],
  variables_prefix: [text, 'PLATFORM_'],
  bot_email: [text, ({ mail }) => mail.from],
  application_config_file: [text, '.platform.app.yaml'],
  project_config_dir: [text, '.upsun'],
  use_drupal_defaults: [flag, false],
  use_legacy_subdomains: [flag, false],
  development_service_size: [choice(...sizes), 'S'],
  development_application_size: [choice(...sizes), 'S'],
  enable_certificate_provisioning: [flag, true],
  certificate_style: [choice('ecdsa', 'rsa'), 'ecdsa'],
  certificate_renewal_activity: [flag, false],
  development_domain_template: [optionalText, null],
  enable_state_api_deployments: [flag, false],
  temporary_disk_size: [nullable(count), 8192],
  local_disk_size: [nullable(count), null],
  cron_minimum_interval: [count, 5],
  cron_maximum_jitter: [count, 20],
  cron_production_expiry_interval: [count, 30],
  cron_non_production_expiry_interval: [count, 7],
  concurrency_limits: [mapOf({ type: ['integer', 'null'] }), queueLimits],
  flexible_build_cache: [flag, false],
  strict_configuration: [flag, true],
  has_sleepy_crons: [flag, false],
  crons_in_git: [flag, false],
  custom_error_template: [optionalText, null],
  app_error_page_template: [optionalText, null],
  environment_name_strategy: [choice('hash', 'name-and-hash'), 'name-and-hash'],
  enable_codesource_integration_push: [flag, false],
  enforce_mfa: [flag, false],
  systemd: [flag, false],
  router_gen2: [flag, false],
  outbound_restrictions_default_policy: [choice('allow', 'deny'), 'allow'],
  self_upgrade: [flag, false],
  self_upgrade_latest_major: [flag, false],
  additional_hosts: [mapOf({ type: 'string', maxLength: 253 }), {}],
  max_allowed_routes: [count, 50_000],
  max_allowed_redirects_paths: [count, 50_000],
  enable_incremental_backups: [flag, true],
  sizing_api_enabled: [flag, true],
  enable_cache_grace_period: [flag, false],
  enable_zero_downtime_deployments: [flag, true],
  enable_admin_agent: [flag, false],
  certifier_url: [text, ({ url }) => url],
  centralized_permissions: [flag, true],
  glue_server_max_request_size: [count, 1],
  persistent_endpoints_ssh: [flag, false],
  persistent_endpoints_ssl_certificates: [flag, false],
  enable_disk_health_monitoring: [flag, false],
  enable_paused_environments: [flag, true],
  enable_unified_configuration: [flag, true],
  enable_explicit_empty_routes: [flag, true],
  enable_routes_tracing: [flag, false],
  image_deployment_validation: [flag, false],
  support_generic_images: [flag, false],
  enable_github_app_token_exchange: [flag, false],
  continuous_profiling: [fields({ supported_runtimes: Type.Array(text, { maxItems: 100 }) }), { supported_runtimes: [] }],
  disable_agent_error_reporter: [flag, true],
  requires_domain_ownership: [flag, ({ domainVerification }) => domainVerification === 'required'],
  enable_guaranteed_resources: [flag, false],
  git_server: [fields({ push_size_hard_limit: count }), { push_size_hard_limit: 2048 }],
  activity_logs_max_size: [count, 10],
  allow_manual_deployments: [flag, true],
  allow_rolling_deployments: [flag, true],
  allow_activity_reschedule: [flag, false],
  allow_burst: [flag, false],
  router_resources: [
    fields({ baseline_cpu: Type.Number(), baseline_memory: count, max_cpu: Type.Number(), max_memory: count }),
    { baseline_cpu: 0, baseline_memory: 0, max_cpu: 0, max_memory: 0 },
  ],
  allow_scaling_to_zero: [flag, false],
  save_applications_vendors: [flag, false],
  locations_script_default: [flag, true],
  support_oci_images: [flag, false],
};

const ownDefaults = { initialize: {}, data_retention: null, build_resources: buildResourcesUsual, maintenance_window: null };

const isFromConfig = (value: Setting): value is (config: Config) => string | boolean => typeof value === 'function';

const platformShapes = Object.fromEntries(Object.entries(platformSettings).map(([name, [shape]]) => [name, shape]));
const platformDefaults = (config: Config) =>
  Object.fromEntries(Object.entries(platformSettings).map(([name, [, value]]) => [name, isFromConfig(value) ? value(config) : value]));

const shapes: Record<string, TSchema> = { ...ownSettings, ...platformShapes };

export interface ProjectSettings {
  project: Project;
  [setting: string]: unknown;
}

export const SettingsEntity = entity({
  name: 'project settings',
  path: '/projects/{projectId}/settings',
  params: { projectId: ProjectId },
  schema: Type.Object(shapes),
  address: ({ project }: ProjectSettings) => ({ projectId: project.id }),
  scope: ({ project }) => ({ project: project.id, organization: project.organization_id }),
  view: 'project:view',
  load: async ({ projectId }, { db, config }) => {
    const project = await projectById(db, projectId);
    return project && settingsOf(project, config);
  },
});

export const SettingsChange = Type.Partial(Type.Object(shapes), { additionalProperties: false });

export const settingsOf = (project: Project, config: Config): ProjectSettings => ({
  ...ownDefaults,
  ...platformDefaults(config),
  ...(project.settings as Record<string, unknown>),
  data_retention: shownRetention((project.settings as Record<string, unknown>)['data_retention']),
  project,
});

/** The settings that apply to crons, given the stored settings of a project. */
export function cronSettingsOf(stored: Record<string, unknown>) {
  const setting = (name: string) => Value.Parse(count, stored[name] ?? platformSettings[name]?.[1]);
  return {
    intervalMinutesMin: setting('cron_minimum_interval'),
    jitterMinutesMax: setting('cron_maximum_jitter'),
    productionDays: setting('cron_production_expiry_interval'),
    otherDays: setting('cron_non_production_expiry_interval'),
  };
}

/** Whether names have to be proven before the project gets them: as the installation has it, unless the operator decided otherwise for this project. */
export async function requiresDomainOwnership(
  db: Db | Tx,
  { domainVerification }: Pick<Config, 'domainVerification'>,
  projectId: string,
): Promise<boolean> {
  const { rows } = await sql<{ required: string | null }>`
    select settings ->> 'requires_domain_ownership' as required from projects where id = ${projectId}`.execute(db);
  const { required = null } = rows[0] ?? {};
  return required === null ? domainVerification === 'required' : required === 'true';
}

const initializeCharactersMax = 64 * 1024;

/** The settings to store after a change; throws a Problem that names those that may not be changed. */
export function checkedChange({ project, build_resources }: ProjectSettings, change: Static<typeof SettingsChange>, isOperator: boolean) {
  const reserved = Object.keys(change).filter((name) => !isOperator && !Object.hasOwn(ownSettings, name));
  if (reserved.length > 0) throw onlyForOperators(reserved);
  if (JSON.stringify(change['initialize'] ?? null).length > initializeCharactersMax) {
    const message = `must be at most ${initializeCharactersMax} characters of JSON`;
    throw new Problem('invalid-request', `initialize ${message}.`, { fields: { initialize: message } });
  }
  refuseCredentials(change['initialize'], 'initialize');
  const resources = change['build_resources'] as Partial<typeof buildResourcesUsual> | undefined;
  refuseTooLargeBuilds(resources);
  const merged = resources && { build_resources: { ...(build_resources as object), ...resources } };
  const stored = project.settings as Record<string, unknown>;
  const retention = 'data_retention' in change && { data_retention: retentionAfter(stored['data_retention'], change['data_retention']) };
  return { ...stored, ...change, ...merged, ...retention };
}

function refuseTooLargeBuilds({ cpu = 0, memory = 0 }: Partial<typeof buildResourcesUsual> = {}) {
  const { max_cpu, max_memory } = capabilities.build_resources;
  const fields = {
    ...(cpu > max_cpu && { 'build_resources.cpu': `must be at most ${max_cpu}` }),
    ...(memory > max_memory && { 'build_resources.memory': `must be at most ${max_memory}` }),
  };
  const sentences = Object.entries(fields).map(([field, message]) => `${field} ${message}.`);
  if (sentences.length > 0) throw new Problem('invalid-request', sentences.join(' '), { fields });
}

function onlyForOperators(names: readonly string[]) {
  const message = 'is decided by the operator of this installation';
  return new Problem('forbidden', names.map((name) => `${name} ${message}.`).join(' '), {
    fields: Object.fromEntries(names.map((name) => [name, message])),
  });
}
