/**
 * What the catalogue says of a service beside its image: what people may configure, how it is set up, started, told who may do what, and made ready for a
 * snapshot, and what apps are told of it.
 *
 * Nothing here runs anything. Commands are for `Runtime.exec` or for a container of their own, as the image's user `app`; all can be run twice.
 * Passwords travel by standard input only: arguments can be seen by every process of the container.
 */
import type { Limits, Probe } from '../drivers/runtime/runtime.ts';
import type { ServiceConfiguration } from './service-configuration.ts';

/** The user of every image. Volumes belong to it. */
export const appUser = { uid: 1000, gid: 1000 } as const;

/** Where the service's volume is mounted, unless the service says otherwise. */
export const dataFolder = '/mnt';

export interface Service {
  ports: readonly [number, ...number[]];
  /** Whether the service has a volume; without one, its data is lost with the container. */
  keepsData: boolean;
  /** The folder that its volume is mounted at, where it is another than `dataFolder`. */
  dataAt?: string;
  /** Versions with the same format read each other's data; where nothing is said, those of one major version do. */
  dataFormat?: (version: string) => string;
  /** The smallest volume that the service can start with, in MB, where that is more than usual. */
  diskMin?: number;
  /** Folders that the service may write to; their content is lost with the container. */
  writable: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Commands that run before the first start, one after the other, each in a container with the volume, until the volume has the file `initialised`. */
  initialise: readonly ServiceCommand[];
  /** A file that the volume has once it is set up; undefined when there is nothing to set up. */
  initialised?: string;
  start: (settings: ServiceSettings) => readonly [string, ...string[]];
  probe: Probe;
  /** Commands that let in exactly these accounts and keep exactly these databases: others are removed. Undefined when the service has no accounts. */
  access?: (access: Access) => readonly ServiceCommand[];
  /** Commands that run right before a snapshot of the volume, so that a clone starts quickly and misses nothing that was acknowledged. */
  quiesce: readonly ServiceCommand[];
  /** Commands that run right after the snapshot. */
  resume: readonly ServiceCommand[];
  stop: { signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT'; secondsMax: number };
  relationship: RelationshipShape;
  /** What people may configure; undefined when there is nothing to configure. */
  configuration?: ServiceConfiguration;
  /** Routes may lead to the service: it answers HTTP at the port of its relationship, to whoever asks. */
  answersRoutes?: true;
  /** The service talks to apps itself: those that its `relationships` name. Other services have no use for relationships. */
  reachesApps?: true;
}

export interface ServiceCommand {
  argv: readonly [string, ...string[]];
  stdin?: string;
}

/** For commands that are known to have at least one word. */
export const argvOf = ([program = '', ...rest]: readonly string[]): ServiceCommand['argv'] => [program, ...rest];

export interface ServiceSettings {
  /** The limits of the container, by which the service divides its memory. */
  limits: Pick<Limits, 'cpu' | 'memoryBytes'>;
  /** The configuration as people wrote it. Values are checked where they are used. */
  configuration: Readonly<Record<string, unknown>>;
  /** The name at which everything in the environment finds the service, for those that have to tell it to their clients. */
  host: string;
  /** Where the apps are that the service talks to, by the name of the relationship. A name leads to all instances that run at the moment. */
  apps: Readonly<Record<string, { host: string; port: number }>>;
}

export type Privilege = 'ro' | 'rw' | 'admin';

export interface Access {
  /** Databases, schemas or virtual hosts: whatever the type calls them. */
  databases: readonly string[];
  accounts: readonly Account[];
  /** The extensions that every database gets. */
  extensions?: readonly string[];
}

export interface Account {
  name: string;
  password: string;
  /** What the account may do in each database. */
  privileges: Readonly<Record<string, Privilege>>;
}

/** The parts of a relationship's document that come from the type; host, ip and the like come from where it runs. */
export interface RelationshipShape {
  /** The `rel` of the relationship, which is also the name of the default endpoint. */
  rel: string;
  scheme: string;
  port: number;
  /** The account of the default endpoint; undefined when the service has no accounts. */
  defaultAccount?: { name: string; database: string };
  /** Names that the service needs for itself, and that no account may have. */
  reservedAccounts?: RegExp;
  /** The path that apps are told, where it is the same for all of them and not the database of their endpoint. */
  path?: string;
  /** Undefined when there is nothing to sign in to and nothing to choose, so that apps are told the address alone. */
  query?: Readonly<Record<string, unknown>> | ((account: SignIn | undefined, database: string | null) => Readonly<Record<string, unknown>>);
}

export type SignIn = Pick<Account, 'name' | 'password'>;

/** What apps are told of a service. `database` is that of the endpoint, null when it has none. */
export function relationshipOf(shape: RelationshipShape, account?: SignIn, database: string | null = null) {
  const { rel, scheme, port, path = database } = shape;
  if (!shape.query) return { rel, scheme, port, fragment: null };
  const query = typeof shape.query === 'function' ? shape.query(account, database) : shape.query;
  return { rel, username: account?.name ?? null, password: account?.password ?? null, scheme, port, path, query, fragment: null };
}

/** A name may also be `/`, which is the first virtual host of a message broker. */
const nameShape = /^(?:[A-Za-z0-9_][A-Za-z0-9_-]{0,47}|\/)$/;

/** Names are checked here, because they come from people's files and become part of statements. */
export function checkNames({ databases, accounts, extensions = [] }: Access) {
  const names = [...databases, ...extensions, ...accounts.flatMap(({ name, privileges }) => [name, ...Object.keys(privileges)])];
  const bad = names.find((name) => !nameShape.test(name));
  if (bad !== undefined) throw new TypeError(`${JSON.stringify(bad)} cannot be the name of a database or an account.`);
}

export const mebibytes = (bytes: number) => Math.max(1, Math.floor(bytes / 2 ** 20));
