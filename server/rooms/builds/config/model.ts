/**
 * What a configuration says, whatever files and forms it was written in: every key is there, with its default, in the case of the wire, so that
 * it goes into the deployment document and into PLATFORM_APPLICATION as it is. Nothing in it is unchecked: names that it mentions exist.
 */
import type { ContainerProfile } from '../../../catalogue/entry.ts';
import type { ServiceEndpoint } from '../../../catalogue/service-configuration.ts';
import type { Route } from './route-model.ts';

export interface ProjectModel {
  applications: Record<string, App>;
  services: Record<string, Service>;
  /** Routes by URL template, such as `https://{default}/`. `resolveRoutes` turns templates into URLs. */
  routes: Record<string, Route>;
  tasks: Record<string, Task>;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What an app, each of its workers and a task have in common. */
export interface Container {
  relationships: Record<string, Relationship>;
  /** Mounts by path inside the app, which begins with a slash and does not end with one. */
  mounts: Record<string, Mount>;
  /** Variables by prefix, then by name. */
  variables: Record<string, Record<string, Json>>;
  additional_hosts: Record<string, string>;
  /** Null: the default of the type. */
  container_profile: ContainerProfile | null;
}

/** What web and workers may each override. */
export interface Instance extends Container {
  access: { ssh: Role };
  /** Null: the app may reach everything. */
  firewall: Firewall | null;
  /** Size and disk are hints in legacy files for the first deployment; elsewhere they are AUTO and null. */
  size: Size;
  /** MB. */
  disk: number | null;
  resources: { base_memory: number; memory_ratio: number } | null;
}

/** An app as its web container runs it: what `web` overrides is already replaced here. */
export interface App extends Instance {
  name: string;
  type: string;
  source: Source;
  web: Web;
  /** Workers by their own names; `workersOf` gives them as the deployment document has them. */
  workers: Record<string, Worker>;
  crons: Record<string, Cron>;
  hooks: Hooks;
  /** Versions by language, then by package. */
  dependencies: Record<string, Record<string, Json>>;
  build: Build;
  timezone: string | null;
  operations: Record<string, Operation>;
  runtime: PhpRuntime | Record<string, never>;
  preflight: { enabled: boolean; ignored_rules: string[] };
  /** Where the app is an image of a registry; extensions of the published configuration, both. */
  image?: AppImage;
  /** Where its image is built from a Dockerfile. */
  dockerfile?: AppDockerfile;
}

export interface AppImage {
  /** As written: a tag is resolved by the build. */
  name: string;
  /** The public key, in PEM, that it has to be signed with. */
  signed_by: string | null;
}

export interface AppDockerfile {
  /** Inside the app's source. */
  path: string;
  /** The stage that is wanted; null: the last. */
  target: string | null;
  args: Record<string, string>;
}

/** A worker; what its configuration leaves out is that of its app. */
export interface Worker extends Instance {
  worker: { commands: WorkerCommands; disk: number | null };
}

/** A worker as in the deployment document. */
export interface WorkerDocument extends Worker, Pick<App, 'type' | 'timezone' | 'operations' | 'runtime' | 'preflight'> {
  /** `<app>--<worker>` */
  name: string;
  app: string;
}

export interface Source {
  /** `/` for the repository's root, else `/folder`, without a slash at the end. */
  root: string;
  operations: Record<string, { command: string }>;
}

export interface Relationship {
  /** A service or an app. */
  service: string;
  endpoint: string;
}

export type MountSource = 'storage' | 'instance' | 'tmp' | 'service';

export interface Mount {
  source: MountSource;
  /** Without slashes around it; empty: the volume's root. */
  source_path: string;
  /** For the source `storage`: the app (or `<app>--<worker>`) whose volume is mounted, null for its own. For `service`: the service. */
  service: string | null;
}

export interface Web {
  commands: { pre_start: string | null; start: string | null; post_start: string | null };
  /** `port`: where the app listens, if not where it is told to; an extension of the published configuration. */
  upstream: { socket_family: 'tcp' | 'unix'; protocol: 'http' | 'fastcgi'; port?: number };
  /** Locations by path, which begins with a slash. There is always at least one. */
  locations: Record<string, Location>;
  move_to_root: false;
}

/** What a location says, and what a rule of it may override. */
export interface LocationRule {
  /** `-1s`, `5m`, `1d`; units ms s m h d w M y. */
  expires: string;
  /** True: requests for what is not a file go to the app. A path that begins with a slash: they go to that front controller. */
  passthru: boolean | string;
  scripts: boolean;
  allow: boolean;
  headers: Record<string, string>;
}

export interface Location extends LocationRule {
  /** A folder inside the app, without slashes around it; empty: the app's root; null: no static files. */
  root: string | null;
  index: string[] | null;
  /** Rules by regular expression of JavaScript, in order. */
  rules: Record<string, Partial<LocationRule>>;
  request_buffering: { enabled: boolean; max_request_size: string };
}

export interface WorkerCommands {
  pre_start: string | null;
  start: string;
  post_start: string | null;
}

export interface Cron {
  /** Five fields; `H` is a slot that stays the same. */
  spec: string;
  commands: { start: string; stop: string | null };
  /** Seconds. */
  shutdown_timeout: number;
  /** Seconds. */
  timeout: number;
}

export interface Hooks {
  build: string | null;
  deploy: string | null;
  post_deploy: string | null;
  /** An extension of the published configuration: runs on a clone of data before the environment opens. */
  sanitize: string | null;
}

export interface Build {
  /** `composer` for PHP, `default` for Node.js, `none` for what has no flavor or wants none. */
  flavor: 'composer' | 'default' | 'none';
  caches: Record<string, BuildCache>;
}

export interface BuildCache {
  directory: string | null;
  watch: string[];
  allow_stale: boolean;
  share_between_apps: boolean;
}

export interface Operation {
  role: Role;
  commands: { start: string; stop: string | null };
  /** Seconds. */
  timeout: number | null;
}

export interface PhpRuntime {
  extensions: { name: string; configuration: Record<string, Json> }[];
  disabled_extensions: string[];
  /** Seconds. */
  request_terminate_timeout: number | null;
  /** MB. */
  sizing_hints: { request_memory: number; reserved_memory: number };
}

export interface Firewall {
  outbound: FirewallRule[];
}

export interface FirewallRule {
  protocol: 'tcp';
  /** Ranges of addresses, such as `10.0.0.0/8`. Empty where `domains` are given. */
  ips: string[];
  domains: string[];
  /** Empty: all ports. */
  ports: number[];
}

export interface Service {
  name: string;
  /** The type as written: `mysql:10.11` stays. */
  type: string;
  /** The configuration as written, for the document; it has been checked. */
  configuration: Record<string, Json>;
  /** `service:endpoint`, as the document has them. */
  relationships: Record<string, string>;
  container_profile: ContainerProfile | null;
  size: Size;
  /** MB. */
  disk: number | null;
  /** The databases, schemas or virtual hosts that the service is to have. Others are removed. */
  databases: string[];
  /** The endpoints that relationships may name. */
  endpoints: Record<string, ServiceEndpoint>;
  /** Extensions of databases, where the type has them. */
  extensions: string[];
}

export type { ServiceEndpoint } from '../../../catalogue/service-configuration.ts';
export type { Privilege } from '../../../catalogue/service.ts';

/** Fields of the published Task, without what only a deployment knows, and how it is built. */
export interface Task extends Container {
  name: string;
  type: string;
  source: { root: string };
  hooks: { build: string | null; deploy: string | null };
  /** `timeout` in seconds. */
  run: { command: string; timeout: number };
  timezone: string | null;
  dependencies: Record<string, Record<string, Json>>;
  runtime: PhpRuntime | Record<string, never>;
  /** Memory in MB: a base, and an amount for each CPU; null: as the profile says. */
  resources: { base_memory: number; memory_ratio: number } | null;
  /** Authorizations as written; they grant nothing here. */
  authorizations: Authorization[];
  build: Build;
}

export interface Authorization {
  type: 'env' | 'task';
  action: string;
  resource: string | null;
}

export type * from './route-model.ts';

export const roles = ['admin', 'contributor', 'viewer'] as const;
export type Role = (typeof roles)[number];

export { containerProfiles, type ContainerProfile } from '../../../catalogue/entry.ts';

export const sizes = ['AUTO', 'XS', 'S', 'M', 'L', 'XL', '2XL', '4XL'] as const;
export type Size = (typeof sizes)[number];
