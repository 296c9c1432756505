/**
 * The containers and volumes of a stack, derived from it and from nothing else: two stacks can be compared by what they lead to, and what runs can
 * be made again from what is written down. Images and volumes are named here; where they are on the machine is filled in by `located`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogue } from '../../drivers/images/catalogue.ts';
import { appUser, dataFolder, type Service } from '../../drivers/images/service.ts';
import type { Container, Limits } from '../../drivers/runtime/runtime.ts';
import { Problem } from '../../kernel/problem.ts';
import { toolVariables, type App, type FirewallRule, type Mount, type PhpRuntime, type WorkerDocument } from '../builds/room.ts';
import {
  dataVolume,
  instanceContainer,
  labelOf,
  logsVolume,
  onceContainer,
  serviceContainer,
  setupContainer,
  storageVolume,
} from './names.ts';
import { outboundOf, type DomainAddresses } from './outbound.ts';
import type { Generations } from './queries.ts';
import { appPort, internalNamesOf, relationshipsOf, type Addresses } from './relationships.ts';
import { diskBytes, limitsOf, nameOfType, profileOf, storageOwners } from './sizes.ts';
import type { Size, Stack } from './stack.ts';
import { appRoot, phpSettings, runtimeVariables } from './told-variables.ts';
import { workersIn } from './workers.ts';

/** A container whose image, volumes and what it may reach are still names. */
export interface WantedContainer extends Omit<Container, 'layers' | 'mounts' | 'outbound'> {
  image: string;
  mounts: readonly WantedMount[];
  outbound?: readonly FirewallRule[];
}

export interface WantedMount {
  volume: string;
  below?: string;
  at: string;
  writable: boolean;
}

export interface WantedVolume {
  name: string;
  bytesMax: number;
  /** Cloned with the environment; logs are not. */
  isData: boolean;
}

/** An app or a worker that runs, as opposed to an app that has only files to serve. */
export type Runnable = App | WorkerDocument;

const logsFolder = '/var/log';
const processesMax = 1000;
const temporaryBytesMax = 8 * 2 ** 30;
const logsBytesMax = 512 * 2 ** 20;
/** Of a volume that the sizes say nothing of. */
const volumeBytesUsual = 512 * 2 ** 20;
const startSecondsMax = 120;
const stop = { signal: 'SIGTERM', secondsMax: 15 } as const;

const script = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
const launchScript = script('launch.sh');
const launchPhpScript = script('launch-php.sh');
const runScript = script('run-command.sh');

/** A command of the user's, for `Runtime.exec`. */
export const userCommand = (command: string): [string, ...string[]] => ['dash', '-c', runScript, 'run', command];

const isPhp = ({ type }: Pick<App, 'type'>) => nameOfType(type) === 'php';
/** Without a start command there is PHP, or nothing to run: the edge serves the files. */
const runs = (app: App) => app.web.commands.start !== null || (isPhp(app) && app.web.upstream.protocol === 'fastcgi');

/** Apps first, then workers. */
export const runnablesOf = ({ model }: Pick<Stack, 'model'>): Runnable[] => [
  ...Object.values(model.applications).filter(runs),
  ...Object.values(workersIn(model)),
];

export const isWorker = (runnable: Runnable): runnable is WorkerDocument => 'app' in runnable;
const appNameOf = (runnable: Runnable) => (isWorker(runnable) ? runnable.app : runnable.name);

const sizeOf = (stack: Stack, runnable: Runnable): Size | undefined =>
  isWorker(runnable) ? stack.sizes.workers[runnable.name] : stack.sizes.webapps[runnable.name];

export const instanceCountOf = (stack: Stack, runnable: Runnable) => sizeOf(stack, runnable)?.instance_count ?? 1;

/** Those of one app or worker, as they are called and told with these generations and addresses. */
export function instancesOf(stack: Stack, generations: Generations, runnable: Runnable, addresses: Addresses): WantedContainer[] {
  const generation = generations[runnable.name] ?? stack.deployment.number;
  return Array.from({ length: instanceCountOf(stack, runnable) }, (_, index) => ({
    ...appContainer(stack, runnable, addresses),
    name: instanceContainer(stack.id, runnable.name, generation, index),
  }));
}

export function allInstancesOf(stack: Stack, generations: Generations, addresses: Addresses = {}): WantedContainer[] {
  return runnablesOf(stack).flatMap((runnable) => instancesOf(stack, generations, runnable, addresses));
}

/** What makes an instance another one when it changes: everything but how many there are, and how large they are. */
export function essenceOf(stack: Stack, runnable: Runnable): string {
  const { limits: _, ...rest } = appContainer(stack, runnable, {});
  return JSON.stringify(rest);
}

function appContainer(stack: Stack, runnable: Runnable, addresses: Addresses): WantedContainer {
  checkSocket(runnable);
  const common = appSurroundings(stack, runnable, addresses);
  const argv = launchOf(stack, runnable, common.limits);
  checkLengths(runnable.name, { ...common.env, 'The start command': argv.at(-1) ?? '' });
  return {
    ...common,
    name: '',
    argv,
    names: isWorker(runnable) ? [] : internalNamesOf(stack, runnable.name),
    ...(!isWorker(runnable) && { probe: { kind: 'port', port: appPort, secondsMax: startSecondsMax } as const }),
    restart: 'always',
  };
}

/** The same surroundings without the app itself, for commands: it only waits. */
export function onceContainerOf(stack: Stack, app: App, addresses: Addresses): WantedContainer {
  return {
    ...appSurroundings(stack, app, addresses),
    name: onceContainer(stack.id, app.name),
    argv: ['sleep', 'infinity'],
    names: [],
    restart: 'never',
  };
}

function appSurroundings(stack: Stack, runnable: Runnable, addresses: Addresses) {
  const app = stack.model.applications[appNameOf(runnable)];
  const slug = stack.slugs[appNameOf(runnable)];
  if (!app || !slug) throw new Error(`${runnable.name} was not built`);
  const own = Object.entries(runnable.mounts);
  const { PATH, ...told } = runtimeVariables(stack, runnable, relationshipsOf(stack, runnable, addresses));
  return {
    image: runnable.type,
    env: { LANG: 'C.UTF-8', HOME: appRoot, ...catalogue[nameOfType(runnable.type)]?.env, ...toolVariables(app, PATH), ...told },
    user: appUser,
    workingFolder: appRoot,
    writable: ['/tmp', '/run', ...own.flatMap(([path, { source }]) => (isTemporary(source) ? `${appRoot}${path}` : []))],
    mounts: [
      { volume: slug.volume, at: appRoot, writable: false },
      { volume: logsVolume(stack.id), below: labelOf(runnable.name), at: logsFolder, writable: true },
      ...own.flatMap(([path, mount]) => (isTemporary(mount.source) ? [] : storageMount(stack, runnable.name, path, mount))),
    ],
    limits: limitsFor(stack, runnable),
    network: stack.id,
    ...(Object.keys(runnable.additional_hosts).length > 0 && { hosts: runnable.additional_hosts }),
    ...(runnable.firewall && { outbound: runnable.firewall.outbound }),
    stop,
  };
}

const isTemporary = (source: Mount['source']) => source === 'instance' || source === 'tmp';

function storageMount(stack: Stack, owner: string, path: string, { source, source_path, service }: Mount): WantedMount {
  if (source === 'service')
    throw new Problem(
      'invalid-request',
      `Invalid deployment: The mount '${path}' of '${owner}' is of a service, which is not possible here; use source: storage.`,
    );
  const below = source_path === '' ? {} : { below: source_path };
  return { volume: storageVolume(stack.id, service ?? owner), ...below, at: `${appRoot}${path}`, writable: true };
}

function limitsFor(stack: Stack, runnable: Runnable): Limits {
  const size = sizeOf(stack, runnable);
  if (!size) throw new Error(`${runnable.name} has no size`);
  const { cpu, memoryBytes } = limitsOf(profileOf(runnable.type, runnable.container_profile), size);
  return { cpu, memoryBytes, pids: processesMax, diskBytes: temporaryBytesMax };
}

/** Of one argument or variable with its name: more the kernel passes to no program. */
const toldBytesMax = 128 * 1024 - 1;

function checkLengths(owner: string, told: Readonly<Record<string, string>>) {
  const long = Object.entries(told).find(([name, value]) => Buffer.byteLength(`${name}=${value}`) > toldBytesMax);
  if (!long) return;
  throw new Problem(
    'invalid-request',
    `Invalid deployment: ${long[0]} of '${owner}' is too long: no program can be told more than ${toldBytesMax} bytes at once. Shorten what it is made from.`,
  );
}

/** PHP's own server listens where we say; what people start themselves must listen where the edge can reach it. */
function checkSocket(runnable: Runnable) {
  if (isWorker(runnable) || runnable.web.commands.start === null || runnable.web.upstream.socket_family === 'tcp') return;
  throw new Problem(
    'invalid-request',
    `Invalid deployment: Application '${runnable.name}' wants to listen on a Unix socket, which is not possible here; write socket_family: tcp under web.upstream and listen on $PORT.`,
  );
}

function launchOf(stack: Stack, runnable: Runnable, limits: Limits): [string, ...string[]] {
  const { pre_start, start } = isWorker(runnable) ? runnable.worker.commands : runnable.web.commands;
  if (start !== null) return ['dash', '-c', launchScript, 'launch', pre_start ?? '', start];
  const { children, requestSeconds } = phpSizing(runnable.runtime, limits);
  const settings = Object.entries(phpSettings(stack, runnable)).flatMap(([name, value]) => ['-d', `${name}=${value}`]);
  const program = `php-fpm${runnable.type.split(':')[1] ?? ''}`;
  return ['dash', '-c', launchPhpScript, 'launch', pre_start ?? '', program, String(appPort), children, requestSeconds, ...settings];
}

const phpUsual = { request_memory: 45, reserved_memory: 70, requestSeconds: 300, childrenMin: 2 };

/** As many at once as fit into the memory; its own limits follow from its size, so a new size is a new container. */
function phpSizing(runtime: PhpRuntime | Record<string, never>, { memoryBytes }: Limits) {
  const { request_memory, reserved_memory } = 'sizing_hints' in runtime ? runtime.sizing_hints : phpUsual;
  const seconds = 'request_terminate_timeout' in runtime ? runtime.request_terminate_timeout : null;
  const children = Math.floor((memoryBytes / 2 ** 20 - reserved_memory) / request_memory);
  return { children: String(Math.max(phpUsual.childrenMin, children)), requestSeconds: String(seconds ?? phpUsual.requestSeconds) };
}

export interface WantedService {
  name: string;
  type: string;
  service: Service;
  container: WantedContainer;
  /** Only for its `initialise` commands. */
  setup: WantedContainer;
  /** Undefined: it keeps nothing. */
  volume: string | undefined;
}

export const servicesOf = (stack: Stack): WantedService[] => Object.keys(stack.model.services).map((name) => serviceOf(stack, name));

export function serviceOf(stack: Stack, name: string): WantedService {
  const configured = stack.model.services[name];
  const service = configured && catalogue[nameOfType(configured.type)]?.service;
  const size = stack.sizes.services[name];
  if (!configured || !service || !size) throw new Error(`${name} is not a service that can run`);
  const { type, configuration } = configured;
  const limits = { ...limitsOf(profileOf(type, configured.container_profile), size), pids: processesMax, diskBytes: temporaryBytesMax };
  const volume = service.keepsData ? dataVolume(stack.id, name, type) : undefined;
  const common = {
    image: type,
    env: { ...catalogue[nameOfType(type)]?.env, ...service.env },
    user: appUser,
    workingFolder: '/',
    writable: service.writable,
    mounts: volume === undefined ? [] : [{ volume, at: dataFolder, writable: true }],
    limits,
    network: stack.id,
    stop: service.stop,
  };
  return {
    name,
    type,
    service,
    volume,
    container: {
      ...common,
      name: serviceContainer(stack.id, name),
      argv: service.start({ limits, configuration }),
      names: internalNamesOf(stack, name),
      probe: service.probe,
      restart: 'always',
    },
    setup: { ...common, name: setupContainer(stack.id, name), argv: ['sleep', 'infinity'], names: [], restart: 'never' },
  };
}

/** All that are there for the stack itself; slugs belong to builds. */
export function volumesOf(stack: Stack): WantedVolume[] {
  const sizes = { ...stack.sizes.webapps, ...stack.sizes.workers };
  return [
    ...servicesOf(stack).flatMap(({ name, volume }) =>
      volume === undefined ? [] : { name: volume, bytesMax: bytesOf(stack.sizes.services[name]), isData: true },
    ),
    ...[...storageOwners(stack.model)].map((owner) => ({
      name: storageVolume(stack.id, owner),
      bytesMax: bytesOf(sizes[owner]),
      isData: true,
    })),
    { name: logsVolume(stack.id), bytesMax: logsBytesMax, isData: false },
  ];
}

const bytesOf = (size: Size | undefined) => (size && diskBytes(size)) ?? volumeBytesUsual;

/** Where images and volumes are on this machine, and domains on the internet. */
export interface Places {
  addresses: DomainAddresses;
  layers: ReadonlyMap<string, readonly string[]>;
  folders: ReadonlyMap<string, string>;
}

export function located({ image, mounts, outbound, ...container }: WantedContainer, { addresses, layers, folders }: Places): Container {
  const found = layers.get(image);
  if (!found) throw new Error(`The image ${image} was not looked for`);
  return {
    ...container,
    ...(outbound && { outbound: outboundOf(outbound, addresses) }),
    layers: found,
    mounts: mounts.map(({ volume, ...mount }) => {
      const from = folders.get(volume);
      if (from === undefined) throw new Problem('unavailable', `The volume ${volume}, which ${container.name} needs, is not there.`);
      return { from, ...mount };
    }),
  };
}
