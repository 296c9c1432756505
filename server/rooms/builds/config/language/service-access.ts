/** What services let apps do, from `configuration`: one table of how each kind of service is written, one form of what comes out. */
import type { Image } from '../images.ts';
import { quoted } from '../message.ts';
import type { Privilege, Service, ServiceEndpoint } from '../model.ts';
import { childOf, type Node } from '../node.ts';
import { choice, flag, json, list, mapOf, maybe, object, optional, orNull, type Place, type Shape, text, refined } from '../shape.ts';

/** What comes out. */
export type Offer = Pick<Service, 'databases' | 'endpoints' | 'extensions'>;

/** They end up in statements: what drivers take, and nothing else. */
const accountShape = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,47}$/;
const ofMysql = /^(?:mysql|information_schema|performance_schema|sys|root)$/i;
const ofPostgresql = /^(?:postgres|template[01]|pg_.*)$/i;
const nothing = /^$/;

const databaseName = (reserved: RegExp) =>
  text(
    'letters, digits, _ and -, 48 at most, and no name that the service has itself',
    (name) => accountShape.test(name) && !reserved.test(name),
  );

const everyPrivilege = choice('ro', 'rw', 'admin', 'replication', 'replication-admin');
const isOffered = (privilege: string): privilege is Privilege => ['ro', 'rw', 'admin'].includes(privilege);

const privileges: Shape<Record<string, Privilege>> = refined(
  mapOf(everyPrivilege, 'a map of privileges by database'),
  (found, { path, report }, node) => {
    const kept = Object.entries(found).filter((pair): pair is [string, Privilege] => {
      if (!isOffered(pair[1]))
        report.warn(childOf(node, pair[0]).at, `${path}.${pair[0]}`, `"${pair[1]}" is ignored: replication is not offered here.`);
      return isOffered(pair[1]);
    });
    return Object.fromEntries(kept);
  },
);

const endpointsOf = (defaultKey: 'default_schema' | 'default_database', reserved: RegExp): Shape<Record<string, ServiceEndpoint>> =>
  refined(
    mapOf(
      object({ [defaultKey]: orNull(text('the name of a database')), privileges: optional(privileges, {}) }),
      `a map of endpoints by name, each with ${defaultKey} and privileges`,
      { wrongKey: (name) => (accountShape.test(name) && !reserved.test(name) ? undefined : 'letters, digits, _ and -, 48 at most') },
    ),
    (found) =>
      Object.fromEntries(
        Object.entries(found).map(([name, one]) => [name, { default_database: textOf(one[defaultKey]), privileges: one.privileges }]),
      ),
  );

const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
const adminOf = (databases: readonly string[]) => Object.fromEntries(databases.map((database) => [database, 'admin' as const]));

type Reader = (node: Node | undefined, place: Place, image: Image) => Offer | undefined;

const read = <T>(shape: Shape<T>, node: Node | undefined, place: Place, otherwise: T): T | undefined =>
  node ? shape.read(node, place) : otherwise;

/** Either key does away with all defaults. */
const mysql: Reader = (node, place) => {
  const shape = object({
    schemas: maybe(list(databaseName(ofMysql))),
    endpoints: maybe(endpointsOf('default_schema', /^root$/i)),
    properties: maybe(mapOf(json, 'a map of properties')),
    rotate_passwords: maybe(flag),
  });
  const found = read(shape, node, place, { schemas: undefined, endpoints: undefined, properties: undefined, rotate_passwords: undefined });
  if (!found) return undefined;
  if (!found.schemas && !found.endpoints) {
    return { databases: ['main'], endpoints: { mysql: { default_database: 'main', privileges: adminOf(['main']) } }, extensions: [] };
  }
  return declared({ databases: found.schemas ?? [], endpoints: found.endpoints ?? {}, extensions: [] }, 'schemas', node, place);
};

/** Databases alone get one endpoint for all of them; endpoints alone get the database `main`. */
const postgresql: Reader = (node, place, { extensions: offered }) => {
  const shape = object({
    databases: maybe(list(databaseName(ofPostgresql))),
    endpoints: maybe(endpointsOf('default_database', ofPostgresql)),
    extensions: optional(list(extensionOf(offered)), []),
  });
  const found = read(shape, node, place, { databases: undefined, endpoints: undefined, extensions: [] });
  if (!found) return undefined;
  const { databases = ['main'], extensions } = found;
  const implied: Offer['endpoints'] = {
    [found.databases ? 'main' : 'postgresql']: { default_database: databases[0] ?? null, privileges: adminOf(databases) },
  };
  return declared({ databases, endpoints: found.endpoints ?? implied, extensions }, 'databases', node, place);
};

const extensionOf = (offered: readonly string[] | undefined) =>
  text(
    offered ? `one of ${offered.join(', ')}` : 'the name of an extension',
    (name) => accountShape.test(name) && (offered?.includes(name) ?? true),
  );

/** Beside its first virtual host, which has always been there. */
const rabbitmq: Reader = (node, place) => {
  const found = read(object({ vhosts: optional(list(databaseName(nothing)), []) }), node, place, { vhosts: [] });
  const databases = ['/', ...new Set(found?.vhosts)];
  return found && { databases, endpoints: { rabbitmq: { default_database: '/', privileges: adminOf(databases) } }, extensions: [] };
};

const policies = [
  'allkeys-lru',
  'allkeys-lfu',
  'allkeys-random',
  'volatile-lru',
  'volatile-lfu',
  'volatile-random',
  'volatile-ttl',
  'noeviction',
] as const;

const redis: Reader = (node, place, image) => {
  const found = read(object({ maxmemory_policy: maybe(choice(...policies)) }), node, place, { maxmemory_policy: undefined });
  return found && open(image);
};

const unconfigured: Reader = (node, place, image) => {
  for (const [key, { at }] of node?.kind === 'map' ? node.entries : []) {
    place.report.error(at, `${place.path}.${key}`, `Found the key ${quoted(key)}, expected none: ${image.type} has nothing to configure.`);
  }
  return open(image);
};

/** Without accounts: its own endpoint lets everybody in. */
const open = ({ endpoint }: Image): Offer => ({
  databases: [],
  endpoints: endpoint === undefined ? {} : { [endpoint]: { default_database: null, privileges: {} } },
  extensions: [],
});

/** By the endpoint of the type, which those that are alike have in common. */
const readers: Readonly<Record<string, Reader>> = { mysql, postgresql, rabbitmq, redis, valkey: redis };

export const offerOf: (image: Image, node: Node | undefined, place: Place) => Offer | undefined = (image, node, place) =>
  (readers[image.endpoint ?? ''] ?? unconfigured)(node, place, image);

/** What endpoints mention is among the databases. */
function declared(offer: Offer, key: string, node: Node | undefined, { path, report }: Place): Offer {
  for (const [name, { default_database, privileges: wanted }] of Object.entries(offer.endpoints)) {
    const unknown = [...Object.keys(wanted), ...(default_database === null ? [] : [default_database])].find(
      (one) => !offer.databases.includes(one),
    );
    if (unknown === undefined || !node) continue;
    const { at } = childOf(childOf(node, 'endpoints'), name);
    report.error(
      at,
      `${path}.endpoints.${name}`,
      `Found ${quoted(unknown)}, expected one of ${key}: ${offer.databases.join(', ') || 'there are none'}.`,
    );
  }
  return { ...offer, databases: [...new Set(offer.databases)] };
}
