/**
 * How apps and workers find services, and each other: what PLATFORM_RELATIONSHIPS tells of each relationship, and the names that containers
 * answer to.
 *
 * Names hold in the whole network of an environment. `<relationship>.internal` is used where it means one thing to everybody; where two apps call
 * different things by one name, or call a thing by the name of another, they are told `<service>.internal`, which is never ambiguous.
 */
import { serviceOfType } from '../../../catalogue/catalogue.ts';
import { relationshipOf, type RelationshipShape, type ServiceSettings } from '../../../catalogue/service.ts';
import type { App, Relationship, Service, WorkerDocument } from '../../builds/public.ts';
import type { Stack } from './stack.ts';
import { workersIn } from './workers.ts';

/** Containers may not listen on ports below 1024, so apps are reached where they listen themselves, also by other apps. */
export const appPort = 8888;

/** Where an app listens: as its configuration says, else where its own image does, unless another command is started in that. */
export const portOf = ({ slugs }: Pick<Stack, 'slugs'>, { name, web }: Pick<App, 'name' | 'web'>): number =>
  web.upstream.port ?? (web.commands.start === null ? slugs[name]?.image?.ports[0] : undefined) ?? appPort;

/** One endpoint of a relationship, as in PLATFORM_RELATIONSHIPS. */
export interface Endpoint {
  username?: string | null;
  password?: string | null;
  scheme: string;
  /** The name of the service or the app. */
  service: string;
  fragment: string | null;
  ip: string | null;
  hostname: string;
  instance_ips: string[];
  port: number;
  cluster: string;
  host: string;
  /** The name of the endpoint. */
  rel: string;
  /** The database; null: the endpoint has no default database. */
  path?: string | null;
  query?: Readonly<Record<string, unknown>>;
  type: string;
  public: boolean;
  host_mapped: boolean;
  epoch: number;
}

export type Endpoints = Record<string, [Endpoint, ...Endpoint[]]>;

/** The addresses of the containers of each service, app and worker. */
export type Addresses = Record<string, readonly string[]>;

/** The name of the environment at the edge and in the deployment document: `<project>-<machine name>`. */
export const clusterOf = ({ project, environment }: Pick<Stack, 'project' | 'environment'>) => `${project.id}-${environment.machine_name}`;

export function relationshipsOf(stack: Stack, container: Pick<App, 'relationships'>, addresses: Addresses): Endpoints {
  return Object.fromEntries(
    Object.entries(container.relationships).map(([relationship, target]) => [
      relationship,
      [endpointOf(stack, relationship, target, addresses[target.service] ?? [])],
    ]),
  );
}

function endpointOf(stack: Stack, relationship: string, target: Relationship, addresses: readonly string[]): Endpoint {
  const { type, described } = descriptionOf(stack, target);
  return {
    ...described,
    rel: target.endpoint,
    service: target.service,
    type,
    host: hostOf(stack, relationship, target.service),
    hostname: hostnameOf(stack, target.service),
    ip: addresses[0] ?? null,
    instance_ips: [...addresses],
    cluster: clusterOf(stack),
    public: false,
    host_mapped: false,
    epoch: 0,
  };
}

/** What follows from the type of the service and from its accounts. */
function descriptionOf(stack: Stack, { service: name, endpoint }: Relationship) {
  const { model, secrets } = stack;
  const service = Object.hasOwn(model.services, name) ? model.services[name] : undefined;
  const shape = service && serviceOfType(service.type)?.relationship;
  if (service && shape)
    return { type: service.type, described: serviceDescription(service, endpoint, shape, secrets.accounts[name]?.[endpoint]) };
  const app = model.applications[name];
  return { type: app?.type ?? '', described: { scheme: 'http', port: app ? portOf(stack, app) : appPort, fragment: null } };
}

function serviceDescription(service: Service, endpoint: string, shape: RelationshipShape, account?: { name: string; password: string }) {
  const { rel: _, ...described } = relationshipOf(shape, account, service.endpoints[endpoint]?.default_database ?? null);
  return described;
}

const hostnameOf = ({ id }: Stack, service: string) => `${id}.${service}.service.internal`;

const consumersOf = ({ model }: Stack): (App | WorkerDocument)[] => [
  ...Object.values(model.applications),
  ...Object.values(workersIn(model)),
];

function hostOf(stack: Stack, relationship: string, service: string): string {
  return isUnambiguous(stack, relationship, service) ? `${relationship}.internal` : ownHostOf(service);
}

function isUnambiguous(stack: Stack, relationship: string, service: string): boolean {
  const { services, applications } = stack.model;
  const isOthersName = relationship !== service && (Object.hasOwn(services, relationship) || Object.hasOwn(applications, relationship));
  const isSharedWithOthers = consumersOf(stack).some(({ relationships }) => {
    const target = Object.hasOwn(relationships, relationship) ? relationships[relationship] : undefined;
    return target !== undefined && target.service !== service;
  });
  return !isOthersName && !isSharedWithOthers && isUsed(stack, relationship, service);
}

/** Whether an app or worker has such a relationship. Tasks do not count, because what runs must not change with them; they use the names that are there. */
const isUsed = (stack: Stack, relationship: string, service: string) =>
  consumersOf(stack).some(
    ({ relationships }) => Object.hasOwn(relationships, relationship) && relationships[relationship]?.service === service,
  );

/** The name of a service or an app that means one thing to everybody. */
export const ownHostOf = (name: string) => `${name}.internal`;

/** All names that the containers of a service or an app answer to in their network. */
export function internalNamesOf(stack: Stack, service: string): string[] {
  const hosts = consumersOf(stack).flatMap(({ relationships }) =>
    Object.entries(relationships)
      .filter(([, target]) => target.service === service)
      .map(([relationship]) => hostOf(stack, relationship, service)),
  );
  return [...new Set([ownHostOf(service), hostnameOf(stack, service), ...hosts])];
}

/** Where a service finds the apps that it talks to, by the name of the relationship. */
export const appsOfService = ({ type, relationships }: Pick<Service, 'type' | 'relationships'>): ServiceSettings['apps'] =>
  serviceOfType(type)?.reachesApps
    ? Object.fromEntries(
        Object.entries(relationships).map(([name, target]) => [name, { host: ownHostOf(target.split(':', 1)[0] ?? ''), port: appPort }]),
      )
    : {};
