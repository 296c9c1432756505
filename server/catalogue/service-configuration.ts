/** What people may write at `configuration` of a service, as plain data, and what the service lets apps do then. */
import type { Privilege } from './service.ts';

export interface ServiceConfiguration {
  /** The key of a list of names: the databases there are to be. */
  databases?: { key: string; reserved?: RegExp };
  /** `endpoints`: a map of names, each with the database that it leads to at first, under this key, and privileges by database. */
  endpoints?: { defaultKey: string; reserved: RegExp };
  /** `extensions`: a list of names; `offered`: those there are, where that is known. */
  extensions?: { offered?: readonly string[] };
  /** Keys that change how the service itself works. */
  settings?: Readonly<Record<string, ServiceSetting>>;
  /** From what was said; undefined is what was not. Without it the service has no accounts, and its own endpoint lets everybody in. */
  offer?: (said: SaidOfService) => Offer;
}

export type ServiceSetting = { kind: 'choice'; values: readonly string[] } | { kind: 'map'; expected: string } | { kind: 'flag' };

export interface SaidOfService {
  databases?: string[];
  endpoints?: Record<string, ServiceEndpoint>;
}

export interface Offer {
  databases: string[];
  /** What relationships may name. */
  endpoints: Record<string, ServiceEndpoint>;
}

export interface ServiceEndpoint {
  /** The `path` of a relationship. */
  default_database: string | null;
  privileges: Record<string, Privilege>;
}

/** May do everything in all of them, and comes to the first. */
export const adminEndpoint = (databases: readonly string[]): ServiceEndpoint => ({
  default_database: databases[0] ?? null,
  privileges: Object.fromEntries(databases.map((database) => [database, 'admin' as const])),
});
