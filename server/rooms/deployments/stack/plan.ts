/**
 * What a deployment changes, found by comparing the stack that is wanted with the one that runs. Nothing is looked up and nothing is done here: a
 * plan is a value. What is as it was keeps running untouched.
 */
import { dataFormatOf, nameOfType, serviceOfType } from '../../../catalogue/catalogue.ts';
import { Problem } from '../../../kernel/problem.ts';
import {
  allInstancesOf,
  essenceOf,
  runnablesOf,
  serviceOf,
  servicesOf,
  volumesOf,
  type WantedContainer,
  type WantedVolume,
} from './containers.ts';
import type { Deployed, Generations } from '../queries.ts';
import type { Stack } from './stack.ts';

export type Action = 'start' | 'replace' | 'keep' | 'remove';

export interface Change {
  /** The name of the service, the app, or the worker (`<app>--<worker>`). */
  name: string;
  action: Action;
}

export interface Plan {
  services: Change[];
  /** Apps and workers that run. */
  instances: Change[];
  /** The numbers in the names of instances: those that stay keep the number of the deployment that started them. */
  generations: Generations;
  containers: {
    /** Instances that are not there yet, and instances that are no longer wanted. */
    start: string[];
    stop: string[];
    /** Instances and services that stay but get other limits; a service that is replaced gets its new limits anyway. */
    resize: string[];
    /** Containers of services that are gone; they are removed only once the deployment is current. */
    drop: string[];
  };
  volumes: {
    make: WantedVolume[];
    /** Volumes that stay but get another limit. */
    resize: WantedVolume[];
    /** Volumes that are removed with all their data, only once the deployment is current. */
    drop: string[];
  };
  /** Whether something changes, as opposed to only being restarted: then deploy hooks run. */
  isChange: boolean;
  /** Whether something is away for a while, or is being changed by hooks. Old and new code, workers included, do not run side by side then. */
  interrupts: boolean;
  /** Whether new instances cannot stand beside the old ones, because a service is away for a while. */
  forbidsRolling: boolean;
}

export function planDeployment(wanted: Stack, current: Deployed | undefined, { restart }: { restart: boolean }): Plan {
  const before = current?.stack;
  const services = changesOf(
    serviceNames(wanted),
    before ? serviceNames(before) : [],
    (name) => before !== undefined && serviceEssence(wanted, name) === serviceEssence(before, name),
  );
  if (before) checkVersions(wanted, before);
  const instances = instanceChanges(wanted, before, restart);
  const generations = Object.fromEntries(
    instances
      .filter(({ action }) => action !== 'remove')
      .map(({ name, action }) => [name, (action === 'keep' ? current?.generations[name] : undefined) ?? wanted.deployment.number]),
  );
  const isChange = !before || partsOf(wanted) !== partsOf(before);
  const changesService = services.some(({ action }) => action === 'replace' || action === 'remove');
  return {
    services,
    instances,
    generations,
    containers: { ...containerChanges(wanted, generations, current), drop: droppedServices(wanted, before) },
    volumes: volumeChanges(wanted, before),
    isChange,
    interrupts: changesService || instances.some(({ action }) => action !== 'keep') || (isChange && hasDeployHook(wanted)),
    forbidsRolling: changesService || !before,
  };
}

/** The services that the plan starts, for the first time or again. */
export const changedServices = ({ services }: Plan): Set<string> =>
  new Set(services.filter(({ action }) => action === 'start' || action === 'replace').map(({ name }) => name));

/** The names of services that run; services that only hold files come and go with their volumes. */
const serviceNames = (stack: Stack) => servicesOf(stack).map(({ name }) => name);

function changesOf(wanted: readonly string[], before: readonly string[], isSame: (name: string) => boolean): Change[] {
  return [
    ...wanted.map((name): Change => ({ name, action: before.includes(name) ? (isSame(name) ? 'keep' : 'replace') : 'start' })),
    ...before.filter((name) => !wanted.includes(name)).map((name): Change => ({ name, action: 'remove' })),
  ];
}

function instanceChanges(wanted: Stack, before: Stack | undefined, restart: boolean): Change[] {
  const [now, then] = [new Map(), new Map()] as [Map<string, string>, Map<string, string>];
  for (const runnable of runnablesOf(wanted)) now.set(runnable.name, essenceOf(wanted, runnable));
  if (before) for (const runnable of runnablesOf(before)) then.set(runnable.name, essenceOf(before, runnable));
  return changesOf([...now.keys()], [...then.keys()], (name) => !restart && now.get(name) === then.get(name));
}

/** What a service has to be replaced for when it changes. Limits change in place; but most services divide their memory when they start, so their command differs with it. */
function serviceEssence(stack: Stack, name: string): string {
  const { limits: _, ...rest } = serviceOf(stack, name).container;
  return JSON.stringify(rest);
}

/**
 * The parts of a stack that hooks may depend on, as opposed to when, under what name and how large it runs. Tasks are left out, because they are no part
 * of what runs. Who may visit, and whether robots may, is left out, because only the edge has to know.
 */
function partsOf({ model: { tasks, ...model }, slugs, routes, settings: { enable_smtp }, secrets }: Stack): string {
  const ofApps = Object.entries(slugs).filter(([name]) => !Object.hasOwn(tasks, name));
  const leading = Object.entries(routes).map(([url, { http_access: _access, restrict_robots: _robots, ...route }]) => [url, route]);
  return JSON.stringify([model, ofApps.sort(byName), leading, enable_smtp, secrets]);
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]) => (a < b ? -1 : 1);

const hasDeployHook = ({ model }: Stack) => Object.values(model.applications).some(({ hooks }) => hooks.deploy !== null);

function containerChanges(wanted: Stack, generations: Generations, current: Deployed | undefined) {
  const now = byContainer(allInstancesOf(wanted, generations));
  const then = byContainer(current ? allInstancesOf(current.stack, current.generations) : []);
  return {
    start: [...now.keys()].filter((name) => !then.has(name)),
    stop: [...then.keys()].filter((name) => !now.has(name)),
    resize: [...resized(now, then), ...resized(servicesBy(wanted), current ? servicesBy(current.stack) : new Map())],
  };
}

type Containers = ReadonlyMap<string, WantedContainer>;
const byContainer = (containers: readonly WantedContainer[]): Containers =>
  new Map(containers.map((container) => [container.name, container]));
const servicesBy = (stack: Stack) => byContainer(servicesOf(stack).map(({ container }) => container));
const resized = (now: Containers, then: Containers) =>
  [...now.keys()].filter((name) => then.has(name) && limitsText(now.get(name)) !== limitsText(then.get(name)));

const limitsText = (container: WantedContainer | undefined) => JSON.stringify(container?.limits);

const droppedServices = (wanted: Stack, before: Stack | undefined) =>
  before
    ? servicesOf(before)
        .filter(({ name }) => !serviceNames(wanted).includes(name))
        .map(({ container }) => container.name)
    : [];

function volumeChanges(wanted: Stack, before: Stack | undefined): Plan['volumes'] {
  const [now, then] = [volumesOf(wanted), before ? volumesOf(before) : []];
  const find = (volumes: readonly WantedVolume[], name: string) => volumes.find((volume) => volume.name === name);
  return {
    make: now.filter(({ name }) => !find(then, name)),
    resize: now.filter(({ name, bytesMax }) => (find(then, name)?.bytesMax ?? bytesMax) !== bytesMax),
    drop: then.filter(({ name }) => !find(now, name)).map(({ name }) => name),
  };
}

/** Refuses another version of a service that keeps data where it cannot read the files, in most cases another major version. */
export function checkVersions(wanted: Stack, before: Stack) {
  for (const [name, { type }] of Object.entries(wanted.model.services)) {
    const was = Object.hasOwn(before.model.services, name) ? before.model.services[name]?.type : undefined;
    if (was === undefined || nameOfType(was) !== nameOfType(type) || dataFormatOf(was) === dataFormatOf(type)) continue;
    if (!serviceOfType(type)?.keepsData) continue;
    throw new Problem(
      'conflict',
      `Invalid deployment: Service '${name}' has data of ${was} and cannot become ${type}. Keep type: ${was}, or add a service of ${type} under another name, copy the data over, and remove '${name}' afterwards.`,
    );
  }
}
