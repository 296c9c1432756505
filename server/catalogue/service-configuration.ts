/** What people may write under `configuration` of a service, as plain data, and what the service then offers to apps. */
import type { Privilege } from './service.ts';

export interface ServiceConfiguration {
  /** `key` is the key of a list with the names of the databases; `reserved` matches names that are refused. */
  databases?: { key: string; reserved?: RegExp };
  /** `endpoints` is a map by name. Each endpoint has its default database, under `defaultKey`, and its privileges by database. */
  endpoints?: { defaultKey: string; reserved: RegExp };
  /** `extensions` is a list of names; `offered` are the extensions that a version of the service has. */
  extensions?: { offered: (version: string) => readonly string[] };
  /** Keys that change how the service itself works. */
  settings?: Readonly<Record<string, ServiceSetting>>;
  /** Makes the offer from what people wrote, where undefined means not written. A service without `offer` has no accounts, and its endpoint lets everybody in. */
  offer?: (said: SaidOfService) => Offer;
}

export type ServiceSetting =
  | { kind: 'choice'; values: readonly string[] }
  | { kind: 'map'; expected: string }
  | { kind: 'flag' }
  | { kind: 'text'; expected: string; bytesMax: number };

export interface SaidOfService {
  databases?: string[];
  endpoints?: Record<string, ServiceEndpoint>;
}

export interface Offer {
  databases: string[];
  /** The endpoints that relationships may name. */
  endpoints: Record<string, ServiceEndpoint>;
}

export interface ServiceEndpoint {
  /** The database that apps are told as the `path` of a relationship. */
  default_database: string | null;
  privileges: Record<string, Privilege>;
}

/** An endpoint that may do everything in all of these databases; the first one is its default. */
export const adminEndpoint = (databases: readonly string[]): ServiceEndpoint => ({
  default_database: databases[0] ?? null,
  privileges: Object.fromEntries(databases.map((database) => [database, 'admin' as const])),
});
