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
  /** By URL template, `https://{default}/`. `resolveRoutes` makes URLs of them. */
  routes: Record<string, Route>;
  tasks: Record<string, Task>;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What an app, each of its workers and a task have in common. */
export interface Container {
  relationships: Record<string, Relationship>;
  /** By path inside the app: begins with a slash, does not end with one. */
  mounts: Record<string, Mount>;
  /** By prefix, then by name. */
  variables: Record<string, Record<string, Json>>;
  additional_hosts: Record<string, string>;
  /** Null: the default of the type. */
  container_profile: ContainerProfile | null;
}

/** What web and workers may each have in a way of their own. */
export interface Instance extends Container {
  access: { ssh: Role };
  /** Null: everything is let out. */
  firewall: Firewall | null;
  /** Of the legacy files, as hints for the first deployment; AUTO and null elsewhere. */
  size: Size;
  /** MB. */
  disk: number | null;
  resources: { base_memory: number; memory_ratio: number } | null;
}

/** As its web container runs it: what `web` overrides is already in place here. */
export interface App extends Instance {
  name: string;
  type: string;
  source: Source;
  web: Web;
  /** By their own names; `workersOf` gives them as the deployment document has them. */
  workers: Record<string, Worker>;
  crons: Record<string, Cron>;
  hooks: Hooks;
  /** By language, then by package. */
  dependencies: Record<string, Record<string, Json>>;
  build: Build;
  timezone: string | null;
  operations: Record<string, Operation>;
  runtime: PhpRuntime | Record<string, never>;
  preflight: { enabled: boolean; ignored_rules: string[] };
}

/** What it does not say itself it has from its app. */
export interface Worker extends Instance {
  worker: { commands: WorkerCommands; disk: number | null };
}

/** As in the deployment document. */
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
  /** With `storage` the app (or `<app>--<worker>`) whose volume it is, null for its own; with `service` the service. */
  service: string | null;
}

export interface Web {
  commands: { pre_start: string | null; start: string | null; post_start: string | null };
  upstream: { socket_family: 'tcp' | 'unix'; protocol: 'http' | 'fastcgi' };
  /** By path: begins with a slash. Never empty. */
  locations: Record<string, Location>;
  move_to_root: false;
}

/** Also what a rule of a location may say. */
export interface LocationRule {
  /** `-1s`, `5m`, `1d`; units ms s m h d w M y. */
  expires: string;
  /** True: what is not a file goes to the app; a path that begins with a slash: to that front controller. */
  passthru: boolean | string;
  scripts: boolean;
  allow: boolean;
  headers: Record<string, string>;
}

export interface Location extends LocationRule {
  /** Inside the app, without slashes around it; empty: the app's root; null: no static files. */
  root: string | null;
  index: string[] | null;
  /** By regular expression of JavaScript, in order. */
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
  /** Our own: run inside a clone of data before it opens. */
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
  /** Ranges: `10.0.0.0/8`. Empty where `domains` are given. */
  ips: string[];
  domains: string[];
  /** Empty: all. */
  ports: number[];
}

export interface Service {
  name: string;
  /** As written: `mysql:10.11` stays. */
  type: string;
  /** As written, for the document; checked. */
  configuration: Record<string, Json>;
  /** `service:endpoint`, as the document has them. */
  relationships: Record<string, string>;
  container_profile: ContainerProfile | null;
  size: Size;
  /** MB. */
  disk: number | null;
  /** Databases, schemas or virtual hosts there are to be. Others are removed. */
  databases: string[];
  /** What relationships may name. */
  endpoints: Record<string, ServiceEndpoint>;
  /** Of databases, where the type has them. */
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
  /** MB: how much memory it has, and for each CPU; null: as its profile says. */
  resources: { base_memory: number; memory_ratio: number } | null;
  /** As written; nothing is granted by it here. */
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
