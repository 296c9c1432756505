/** What services let apps do, from `configuration`: the catalogue says which keys a type has and what follows from them; here they are read. */
import { nameOfType, versionOfType } from '../../../../catalogue/catalogue.ts';
import type { Offer, SaidOfService, ServiceConfiguration, ServiceSetting } from '../../../../catalogue/service-configuration.ts';
import { nearestFirst } from '../../../../kernel/nearest.ts';
import type { Image } from '../images.ts';
import { quoted } from '../message.ts';
import type { Privilege, Service, ServiceEndpoint } from '../model.ts';
import { childOf, type Node } from '../node.ts';
import {
  choice,
  type Field,
  flag,
  json,
  list,
  mapOf,
  maybe,
  object,
  optional,
  orNull,
  type ReportAt,
  refined,
  type Shape,
  text,
} from '../shape.ts';

/** The part of a service that follows from its `configuration`. */
type Access = Pick<Service, 'databases' | 'endpoints' | 'extensions'>;

/** Names of accounts and databases become part of statements, so only characters that services accept are allowed. */
const accountShape = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,47}$/;
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

const endpointsOf = (defaultKey: string, reserved: RegExp): Shape<Record<string, ServiceEndpoint>> =>
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

const extensionOf = ({ type }: Image, offered: Offered, others: readonly Image[]): Shape<string> =>
  refined(
    text('the name of an extension', (name) => accountShape.test(name)),
    (name, { path, report }, node) => {
      const names = offered(versionOfType(type));
      if (names.includes(name)) return name;
      const elsewhere = others.filter((other) => offered(versionOfType(other.type)).includes(name)).map((other) => other.type);
      const expected = elsewhere.length > 0 ? `${elsewhere.join(', ')} has it` : `expected one of ${nearestFirst(name, names).join(', ')}`;
      report.error(node.at, path, `Found the extension ${quoted(name)}, which ${type} does not have; ${expected}.`);
      return undefined;
    },
  );

type Offered = NonNullable<ServiceConfiguration['extensions']>['offered'];

function settingShape(setting: ServiceSetting): Shape<unknown> {
  switch (setting.kind) {
    case 'choice':
      return choice(...setting.values);
    case 'map':
      return mapOf(json, setting.expected);
    case 'flag':
      return flag;
    case 'text':
      return text(`${setting.expected}, ${setting.bytesMax} bytes at most`, (said) => Buffer.byteLength(said) <= setting.bytesMax);
  }
}

/** `images`: all that there are. Undefined where the configuration has mistakes, which are reported. */
export function accessOf(image: Image, images: readonly Image[], node: Node | undefined, reportAt: ReportAt): Access | undefined {
  const configuration = image.service?.configuration;
  if (!configuration) {
    refuseAll(image, node, reportAt);
    return { ...openTo(image), extensions: [] };
  }
  const versions = images.filter(({ type }) => nameOfType(type) === nameOfType(image.type));
  const said: SaidOfService & { extensions?: string[] } = {};
  const { databases, endpoints, extensions, settings = {}, offer } = configuration;
  const keys: Record<string, Field<unknown>> = {
    ...(databases && {
      [databases.key]: maybe(noted(list(databaseName(databases.reserved ?? nothing)), (names) => (said.databases = names))),
    }),
    ...(endpoints && {
      endpoints: maybe(noted(endpointsOf(endpoints.defaultKey, endpoints.reserved), (found) => (said.endpoints = found))),
    }),
    ...(extensions && {
      extensions: maybe(noted(list(extensionOf(image, extensions.offered, versions)), (names) => (said.extensions = names))),
    }),
    ...Object.fromEntries(Object.entries(settings).map(([key, setting]) => [key, maybe(settingShape(setting))])),
  };
  if (node && !object(keys).read(node, reportAt)) return undefined;
  const offered = offer?.(said) ?? openTo(image);
  refuseUndeclared(offered, databases?.key ?? '', node, reportAt);
  return { databases: [...new Set(offered.databases)], endpoints: offered.endpoints, extensions: said.extensions ?? [] };
}

const noted = <T>(shape: Shape<T>, note: (value: T) => void): Shape<T> =>
  refined(shape, (value) => {
    note(value);
    return value;
  });

function refuseAll({ type }: Image, node: Node | undefined, { path, report }: ReportAt) {
  for (const [key, { at }] of node?.kind === 'map' ? node.entries : []) {
    report.error(at, `${path}.${key}`, `Found the key ${quoted(key)}, expected none: ${type} has nothing to configure.`);
  }
}

/** The access to a service without accounts: its only endpoint lets everybody in. */
const openTo = ({ service }: Image): Offer => ({
  databases: [],
  endpoints: service ? { [service.relationship.rel]: { default_database: null, privileges: {} } } : {},
});

/** Refuses endpoints that mention a database that is not declared. */
function refuseUndeclared({ databases, endpoints }: Offer, key: string, node: Node | undefined, { path, report }: ReportAt) {
  for (const [name, { default_database, privileges: wanted }] of Object.entries(endpoints)) {
    const unknown = [...Object.keys(wanted), ...(default_database === null ? [] : [default_database])].find(
      (one) => !databases.includes(one),
    );
    if (unknown === undefined || !node) continue;
    const { at } = childOf(childOf(node, 'endpoints'), name);
    const expected = `expected one of ${key}: ${databases.join(', ') || 'there are none'}`;
    report.error(at, `${path}.endpoints.${name}`, `Found ${quoted(unknown)}, ${expected}.`);
  }
}
