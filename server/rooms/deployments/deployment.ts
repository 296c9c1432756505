/**
 * The deployment of an environment, as the API tells of it. The schema is an allow-list down to the leaves: a stack holds secrets, and what is not
 * named here is not told. Only what people wrote themselves into their repository (`configuration`, `variables`, `runtime`) is passed on whole.
 */
import { Type, type TProperties, type TSchema } from 'typebox';
import { EnvironmentId, ProjectId } from '../../ids.ts';
import { entity } from '../../kernel/operation.ts';
import { nullable, Time } from '../../kernel/schema.ts';
import { environmentTypes } from '../../permissions.ts';
import { Subscription } from '../projects/public.ts';
import { loadDeployment, type Deployment } from './stack/document.ts';
import { HttpAccess, RouteFields } from './route.ts';

const text = Type.String();
const flag = Type.Boolean();
const integer = Type.Integer();
const nullableText = nullable(text);
const nullableInteger = nullable(integer);
const choice = (...values: string[]) => Type.String({ enum: values });
const texts = Type.Array(text);
const mapOf = (values: TSchema) => Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: values });
const nullableObject = (properties: TProperties) => nullable(Type.Object(properties));
/** An object that is passed on as people wrote it. */
const whole = Type.Unsafe<object>({ type: 'object', additionalProperties: true });

const Role = choice('admin', 'contributor', 'viewer');

const Step = nullableObject({
  cpu: Type.Number(),
  memory: Type.Integer({ description: 'MB' }),
  cpu_type: choice('shared', 'guaranteed'),
  disk: nullable(Type.Integer({ description: 'MB; 0: it may have one; null: it cannot.' })),
  profile_size: nullableText,
});

const resourcesWith = (disk: TProperties) =>
  nullableObject({
    base_memory: nullableInteger,
    memory_ratio: nullableInteger,
    profile_size: nullableText,
    minimum: Step,
    default: Step,
    disk: nullableObject({ temporary: nullableInteger, instance: nullableInteger, storage: nullableInteger, ...disk }),
  });

const Firewall = nullableObject({
  outbound: Type.Array(Type.Object({ protocol: text, ips: texts, domains: texts, ports: Type.Array(integer) })),
});

const sized = {
  type: text,
  size: choice('AUTO', 'XS', 'S', 'M', 'L', 'XL', '2XL', '4XL'),
  disk: nullable(Type.Integer({ description: 'MB' })),
  container_profile: nullableText,
  instance_count: nullableInteger,
  supports_horizontal_scaling: flag,
  firewall: Firewall,
  endpoints: Type.Unsafe<object | null>({ type: ['object', 'null'], additionalProperties: true }),
};

const Service = Type.Object({
  ...sized,
  resources: resourcesWith({}),
  access: mapOf(text),
  configuration: whole,
  relationships: mapOf(text),
});

const Commands = Type.Object({ start: text, stop: nullableText });

/** What web containers and workers have in common. */
const container = {
  ...sized,
  name: text,
  tree_id: text,
  slug_id: text,
  app_dir: text,
  authorizations: Type.Array(Type.Object({ type: choice('env', 'task'), action: text, resource: nullableText })),
  relationships: mapOf(Type.Object({ service: nullableText, endpoint: nullableText })),
  additional_hosts: mapOf(text),
  mounts: mapOf(Type.Object({ source: text, source_path: text, service: nullableText })),
  timezone: nullableText,
  variables: mapOf(whole),
  access: mapOf(Role),
  egress: nullableObject({}),
  operations: mapOf(Type.Object({ commands: Commands, timeout: nullableInteger, role: Role })),
  preflight: Type.Object({ enabled: flag, ignored_rules: texts }),
  runtime: whole,
  stack: Type.Object({ runtimes: Type.Array(whole), packages: texts }),
  image: nullableObject({ name: nullableText, buildfile: nullableText }),
};

/** The published API has `passthru` as text, even `true` and `false`. */
const passthru = text;

const Location = Type.Object({
  root: nullableText,
  expires: text,
  passthru,
  scripts: flag,
  index: nullable(texts),
  allow: flag,
  headers: mapOf(text),
  rules: mapOf(Type.Partial(Type.Object({ expires: text, passthru, scripts: flag, allow: flag, headers: mapOf(text) }))),
  request_buffering: Type.Object({ enabled: flag, max_request_size: nullableText }),
});

const Webapp = Type.Object({
  ...container,
  resources: resourcesWith({ object: nullableInteger }),
  config_id: text,
  web: Type.Object({
    locations: mapOf(Location),
    commands: Type.Object({ pre_start: nullableText, start: nullableText, post_start: nullableText }),
    upstream: Type.Object({ socket_family: choice('tcp', 'unix'), protocol: nullable(choice('http', 'fastcgi')) }),
    move_to_root: flag,
  }),
  hooks: Type.Object({ build: nullableText, deploy: nullableText, post_deploy: nullableText, sanitize: nullableText }),
  crons: mapOf(Type.Object({ spec: text, commands: Commands, shutdown_timeout: nullableInteger, timeout: integer })),
  source: Type.Object({ root: nullableText, operations: mapOf(Type.Object({ command: nullableText })) }),
  build: Type.Object({
    flavor: nullableText,
    caches: mapOf(Type.Object({ directory: nullableText, watch: texts, allow_stale: flag, share_between_apps: flag })),
  }),
  dependencies: mapOf(whole),
  is_across_submodule: flag,
});

const Worker = Type.Object({
  ...container,
  resources: resourcesWith({}),
  app: text,
  worker: Type.Object({
    commands: Type.Object({ pre_start: nullableText, start: text, post_start: nullableText }),
    disk: nullableInteger,
  }),
});

/** What runs for an environment, and what it was made from. */
export const DeploymentEntity = entity({
  name: 'deployment',
  path: '/projects/{projectId}/environments/{environmentId}/deployments/{deploymentId}',
  params: {
    projectId: ProjectId,
    environmentId: EnvironmentId,
    deploymentId: Type.String({ pattern: '^[a-z0-9]{1,64}$', description: '`current`, or the id of one that was.' }),
  },
  schema: Type.Object({
    id: text,
    created_at: Time,
    updated_at: Time,
    fingerprint: Type.String({ description: 'The same for two deployments that are made of the same.' }),
    cluster_name: text,
    project_info: Type.Object({
      title: text,
      name: ProjectId,
      namespace: nullableText,
      organization: nullableText,
      capabilities: whole,
      settings: whole,
    }),
    environment_info: Type.Object({
      name: EnvironmentId,
      status: text,
      is_main: flag,
      is_production: flag,
      constraints: whole,
      reference: text,
      machine_name: text,
      environment_type: choice(...environmentTypes),
      links: whole,
    }),
    deployment_target: text,
    vpn: nullableObject({}),
    http_access: HttpAccess,
    enable_smtp: flag,
    restrict_robots: flag,
    variables: Type.Array(
      Type.Object({
        name: text,
        value: Type.Optional(Type.String({ description: 'Not told where it is sensitive.' })),
        is_sensitive: flag,
        is_json: flag,
        visible_build: flag,
        visible_runtime: flag,
      }),
    ),
    access: Type.Array(Type.Object({ entity_id: text, role: Role })),
    subscription: Subscription,
    services: mapOf(Service),
    routes: mapOf(
      Type.Object({
        ...RouteFields,
        id: text,
        original_url: text,
      }),
    ),
    webapps: mapOf(Webapp),
    workers: mapOf(Worker),
    container_profiles: mapOf(mapOf(Type.Object({ cpu: Type.Number(), memory: integer, cpu_type: choice('shared', 'guaranteed') }))),
    tasks: mapOf(Type.Object({ resources: nullableObject({ profile_size: nullableText }), container_profile: text })),
  }),
  address: ({ id, project_id, environment_id }: Deployment) => ({
    projectId: project_id,
    environmentId: environment_id,
    deploymentId: id,
  }),
  scope: ({ project_id, organization_id, type }) => ({ project: project_id, organization: organization_id, environmentType: type }),
  view: 'environment:view',
  load: ({ projectId, environmentId, deploymentId }, platform) => loadDeployment(platform, projectId, environmentId, deploymentId),
});
