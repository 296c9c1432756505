/**
 * The containers and volumes of a stack, derived from it and from nothing else: two stacks can be compared by what they lead to, and what runs can
 * be made again from what is written down. Images and volumes are named here; where they are on the machine is filled in by `located.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasOwnImage, isStorage, runtimeOfType, serviceOfType } from '../../../catalogue/catalogue.ts';
import { appUser, dataFolder, type Service } from '../../../catalogue/service.ts';
import type { Reporter } from '../../../drivers/otlp/reporter.ts';
import type { Container, Limits } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { App, FirewallRule, Mount, WorkerDocument } from '../../builds/public.ts';
import { launchOf, listeningOf } from './launch.ts';
import { dataVolume, instanceContainer, onceContainer, serviceContainer, setupContainer, storageVolume } from './names.ts';
import type { Generations } from '../queries.ts';
import { appsOfService, internalNamesOf, ownHostOf, relationshipsOf, type Addresses } from './relationships.ts';
import { diskBytes, limitsOf, profileOf, storageOwners, temporaryBytesOf } from '../sizes/sizes.ts';
import type { Size, Stack } from './stack.ts';
import { peersPath, runtimeFiles } from './runtime-files.ts';
import { imageOf } from './image-of.ts';
import { appRoot, folderOf, runtimeVariables, type Recipient } from './runtime-variables.ts';
import { workersIn } from './workers.ts';

/** A container whose image, volumes and what it may reach are still names. */
export interface WantedContainer extends Omit<Container, 'layers' | 'mounts' | 'outbound' | 'output'> {
  image: string;
  mounts: readonly WantedMount[];
  outbound?: readonly FirewallRule[];
  /** Layers on top of the image's: an image that people brought, and folders of a volume. */
  own?: { image: string | null; volume: string; layers: number };
  /** The app or worker whose log gets what it says. */
  logOf?: string;
  /** As whom it reports traces. No reason to replace what runs. */
  reporter?: Reporter;
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
/** Stands for the environment's logs among the names of volumes; no volume has this name. */
export const logsVolume = 'logs';
const processesMax = 1000;
/** The limit of a volume for which the sizes say none. */
const volumeBytesUsual = 512 * 2 ** 20;
const stop = { signal: 'SIGTERM', secondsMax: 15 } as const;

const runScript = readFileSync(join(import.meta.dirname, 'run-command.sh'), 'utf8');

/** A user's command, for `Runtime.exec`. */
export const userCommand = (command: string): [string, ...string[]] => ['dash', '-c', runScript, 'run', command];

/** Whether an app has something to run. Without a start command, its runtime may answer over FastCGI; otherwise the edge only serves its files. */
const runs = ({ type, web }: App) =>
  hasOwnImage(type) || web.commands.start !== null || (runtimeOfType(type)?.fastcgi !== undefined && web.upstream.protocol === 'fastcgi');

/** All apps that run, then all workers. */
export const runnablesOf = ({ model }: Pick<Stack, 'model'>): Runnable[] => [
  ...Object.values(model.applications).filter(runs),
  ...Object.values(workersIn(model)),
];

export const isWorker = (runnable: Runnable): runnable is WorkerDocument => 'app' in runnable;

const sizeOf = (stack: Stack, runnable: Runnable): Size | undefined =>
  isWorker(runnable) ? stack.sizes.workers[runnable.name] : stack.sizes.webapps[runnable.name];

export const instanceCountOf = (stack: Stack, runnable: Runnable) => sizeOf(stack, runnable)?.instance_count ?? 1;

/** The instances of one app or worker, with the names and variables that follow from these generations and addresses. */
export function instancesOf(stack: Stack, generations: Generations, runnable: Runnable, addresses: Addresses): WantedContainer[] {
  const generation = generations[runnable.name] ?? stack.deployment.number;
  return Array.from({ length: instanceCountOf(stack, runnable) }, (_, index) => ({
    ...appContainer(stack, runnable, addresses),
    name: instanceContainer(stack.id, runnable.name, generation, index),
    reporter: reporterOf(stack, runnable, index),
    peer: { group: `${runnable.name}-${generation}`, name: `${runnable.name}.${index}`, at: peersPath },
  }));
}

export function allInstancesOf(stack: Stack, generations: Generations, addresses: Addresses = {}): WantedContainer[] {
  return runnablesOf(stack).flatMap((runnable) => instancesOf(stack, generations, runnable, addresses));
}

/** What an instance has to be replaced for when it changes: everything but the number of instances, their limits, and files, which repeat what the variables say. */
export function essenceOf(stack: Stack, runnable: Runnable): string {
  const { limits: _, files: __, ...rest } = appContainer(stack, runnable, {});
  return JSON.stringify(rest);
}

function appContainer(stack: Stack, runnable: Runnable, addresses: Addresses): WantedContainer {
  const common = appSurroundings(stack, runnable, addresses);
  const argv = launchOf(stack, runnable, common.limits);
  checkLengths(runnable.name, { ...common.env, 'The start command': argv.at(-1) ?? '' });
  return {
    ...common,
    name: '',
    argv,
    names: isWorker(runnable) ? [] : internalNamesOf(stack, runnable.name),
    ...listeningOf(stack, runnable),
    logOf: runnable.name,
    restart: 'always',
  };
}

/** A container with the surroundings of the app but without the app itself: it only waits for commands to be run in it. */
export function onceContainerOf(stack: Stack, app: App, addresses: Addresses): WantedContainer {
  return {
    ...appSurroundings(stack, app, addresses),
    name: onceContainer(stack.id, app.name),
    reporter: reporterOf(stack, app, 0),
    argv: ['sleep', 'infinity'],
    names: [],
    restart: 'never',
  };
}

/** Whose traces those of a container are: its app's, also for workers. */
export const reporterOf = ({ id, project, environment }: Stack, container: Recipient, index: number): Reporter => ({
  project: project.id,
  environment: environment.machine_name,
  stack: id,
  application: 'app' in container ? container.app : container.name,
  instance: `${container.name}.${index}`,
});

function appSurroundings(stack: Stack, runnable: Runnable, addresses: Addresses) {
  const { mounts, ...common } = surroundingsOf(stack, runnable, addresses, limitsFor(stack, runnable));
  return {
    ...common,
    mounts: [...mounts, { volume: logsVolume, below: runnable.name, at: logsFolder, writable: false }],
    ...(runnable.firewall && { outbound: runnable.firewall.outbound }),
  };
}

/** What an app, a worker or a task finds around it: its files, its mounts, and all that it is told. */
export function surroundingsOf(stack: Stack, container: Recipient, addresses: Addresses, limits: Limits) {
  const built = 'app' in container ? stack.model.applications[container.app] : container;
  const slug = built && stack.slugs[built.name];
  if (!slug) throw new Error(`${container.name} was not built`);
  const own = Object.entries(container.mounts);
  const folder = folderOf(container);
  const relationships = relationshipsOf(stack, container, addresses);
  const { PATH, ...told } = runtimeVariables(stack, container, relationships);
  return {
    ...imageOf(container, slug, built, PATH, told),
    user: appUser,
    writable: ['/tmp', '/run', ...own.flatMap(([path, { source }]) => (isTemporary(source) ? `${folder}${path}` : []))],
    mounts: [
      ...(slug.image ? [] : [{ volume: slug.volume, at: appRoot, writable: false }]),
      ...own.flatMap(([path, mount]) => storageMount(stack, container.name, `${folder}${path}`, mount)),
    ],
    files: runtimeFiles(stack, container, relationships, limits),
    limits,
    network: stack.id,
    ...(Object.keys(container.additional_hosts).length > 0 && { hosts: container.additional_hosts }),
    stop,
  };
}

const isTemporary = (source: Mount['source']) => source === 'instance' || source === 'tmp';

function storageMount(stack: Stack, owner: string, at: string, mount: Mount): WantedMount[] {
  const volume = volumeOfMount(stack, owner, mount);
  const below = mount.source_path === '' ? {} : { below: mount.source_path };
  return volume === undefined ? [] : [{ volume, ...below, at, writable: true }];
}

/** The volume of a mount: that of an app or worker, or that of a service. Undefined: the mount's files go with the container. */
export function volumeOfMount({ id, model }: Stack, owner: string, { source, service }: Mount): string | undefined {
  if (isTemporary(source)) return undefined;
  if (source === 'storage') return storageVolume(id, service ?? owner);
  const { name, type } = model.services[service ?? ''] ?? {};
  if (name === undefined || type === undefined) throw new Error(`${owner} mounts ${service}, which is no service`);
  return dataVolume(id, name, type);
}

function limitsFor(stack: Stack, runnable: Runnable): Limits {
  const size = sizeOf(stack, runnable);
  if (!size) throw new Error(`${runnable.name} has no size`);
  return withinBounds(limitsOf(profileOf(runnable.type, runnable.container_profile), size));
}

/** Adds the limits that no size says: they are the same for all containers, or follow from the memory. */
export const withinBounds = ({ cpu, memoryBytes }: Pick<Limits, 'cpu' | 'memoryBytes'>): Limits => ({
  cpu,
  memoryBytes,
  pids: processesMax,
  diskBytes: temporaryBytesOf(memoryBytes),
});

/** The most that the kernel passes to a program in one argument, or in one variable with its name. */
const toldBytesMax = 128 * 1024 - 1;

export function checkLengths(owner: string, told: Readonly<Record<string, string>>) {
  const long = Object.entries(told).find(([name, value]) => Buffer.byteLength(`${name}=${value}`) > toldBytesMax);
  if (!long) return;
  throw new Problem(
    'invalid-request',
    `Invalid deployment: ${long[0]} of '${owner}' is too long: a variable or an argument can have at most ${toldBytesMax} bytes. Shorten what it is made from.`,
  );
}

export interface WantedService {
  name: string;
  type: string;
  service: Service;
  container: WantedContainer;
  /** The container in which only the `initialise` commands of the service run. */
  setup: WantedContainer;
  /** Undefined: the service keeps nothing. */
  volume: string | undefined;
}

/** The services that run, as opposed to those that only hold files. */
export const servicesOf = (stack: Stack): WantedService[] =>
  Object.values(stack.model.services).flatMap(({ name, type }) => (isStorage(type) ? [] : serviceOf(stack, name)));

const storagesOf = ({ model }: Stack) => Object.values(model.services).filter(({ type }) => isStorage(type));

export function serviceOf(stack: Stack, name: string): WantedService {
  const configured = stack.model.services[name];
  const service = configured && serviceOfType(configured.type);
  const size = stack.sizes.services[name];
  if (!configured || !service || !size) throw new Error(`${name} is not a service that can run`);
  const { type, configuration } = configured;
  const limits = withinBounds(limitsOf(profileOf(type, configured.container_profile), size));
  const volume = service.keepsData ? dataVolume(stack.id, name, type) : undefined;
  const common = {
    image: type,
    env: service.env,
    user: appUser,
    workingFolder: '/',
    writable: service.writable,
    mounts: volume === undefined ? [] : [{ volume, at: service.dataAt ?? dataFolder, writable: true }],
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
      argv: service.start({ limits, configuration, host: ownHostOf(name), apps: appsOfService(configured) }),
      names: internalNamesOf(stack, name),
      probe: service.probe,
      restart: 'always',
    },
    setup: { ...common, name: setupContainer(stack.id, name), argv: ['sleep', 'infinity'], names: [], restart: 'never' },
  };
}

/** The volumes of the stack itself; slugs belong to builds. */
export function volumesOf(stack: Stack): WantedVolume[] {
  const sizes = { ...stack.sizes.webapps, ...stack.sizes.workers, ...stack.sizes.tasks };
  return [
    ...servicesOf(stack).flatMap(({ name, volume }) =>
      volume === undefined ? [] : { name: volume, bytesMax: bytesOf(stack.sizes.services[name]), isData: true },
    ),
    ...storagesOf(stack).map(({ name, type }) => ({
      name: dataVolume(stack.id, name, type),
      bytesMax: bytesOf(stack.sizes.services[name]),
      isData: true,
    })),
    ...[...storageOwners(stack.model)].map((owner) => ({
      name: storageVolume(stack.id, owner),
      bytesMax: bytesOf(sizes[owner]),
      isData: true,
    })),
  ];
}

const bytesOf = (size: Size | undefined) => (size && diskBytes(size)) ?? volumeBytesUsual;
