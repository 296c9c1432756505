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

/** Where the service's volume is mounted. */
export const dataFolder = '/mnt';

export interface Service {
  ports: readonly [number, ...number[]];
  /** Whether it has a volume; what it keeps is gone with the container otherwise. */
  keepsData: boolean;
  /** MB of the smallest volume it can start with, where that is more than what is usual. */
  diskMin?: number;
  /** Folders for what is gone with the container. */
  writable: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Commands that run before the first start, one after the other, each in a container with the volume, as long as `initialised` is no file of the volume. */
  initialise: readonly ServiceCommand[];
  /** A file of the volume that is there once it is set up; undefined where there is nothing to set up. */
  initialised?: string;
  start: (settings: ServiceSettings) => readonly [string, ...string[]];
  probe: Probe;
  /** Commands that let in exactly these accounts and keep exactly these databases: others are removed. Undefined: the service has no accounts. */
  access?: (access: Access) => readonly ServiceCommand[];
  /** Commands right before a snapshot of the volume, so that a clone starts quickly and misses nothing that was acknowledged. */
  quiesce: readonly ServiceCommand[];
  /** Commands right after the snapshot. */
  resume: readonly ServiceCommand[];
  stop: { signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT'; secondsMax: number };
  relationship: RelationshipShape;
  /** Undefined: there is nothing to configure. */
  configuration?: ServiceConfiguration;
}

export interface ServiceCommand {
  argv: readonly [string, ...string[]];
  stdin?: string;
}

export interface ServiceSettings {
  /** What the service divides its memory by. */
  limits: Pick<Limits, 'cpu' | 'memoryBytes'>;
  /** As people wrote it. Values are checked where they are used. */
  configuration: Readonly<Record<string, unknown>>;
}

export type Privilege = 'ro' | 'rw' | 'admin';

export interface Access {
  /** Databases, schemas or virtual hosts: whatever the type calls them. */
  databases: readonly string[];
  accounts: readonly Account[];
  /** In every database. */
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
  /** Also the name of the default endpoint. */
  rel: string;
  scheme: string;
  port: number;
  /** What the default endpoint gets; undefined where there are no accounts. */
  defaultAccount?: { name: string; database: string };
  /** Names of its own, which no account gets. */
  reservedAccounts?: RegExp;
  /** Undefined: there is nothing to sign in to and nothing to choose, so that apps are told its address alone. */
  query?: Readonly<Record<string, unknown>>;
}

/** `path`: the database of the endpoint, null where it has none. */
export function relationshipOf(shape: RelationshipShape, account?: Pick<Account, 'name' | 'password'>, path: string | null = null) {
  const { rel, scheme, port, query } = shape;
  if (!query) return { rel, scheme, port, fragment: null };
  return { rel, username: account?.name ?? null, password: account?.password ?? null, scheme, port, path, query, fragment: null };
}

/** `/` is the first virtual host of a message broker. */
const nameShape = /^(?:[A-Za-z0-9_][A-Za-z0-9_-]{0,47}|\/)$/;

/** Names come from people's files; they end up in statements. */
export function checkNames({ databases, accounts, extensions = [] }: Access) {
  const names = [...databases, ...extensions, ...accounts.flatMap(({ name, privileges }) => [name, ...Object.keys(privileges)])];
  const bad = names.find((name) => !nameShape.test(name));
  if (bad !== undefined) throw new TypeError(`${JSON.stringify(bad)} cannot be the name of a database or an account.`);
}

export const mebibytes = (bytes: number) => Math.max(1, Math.floor(bytes / 2 ** 20));
