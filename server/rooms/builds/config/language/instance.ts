/** The keys that an app has as a whole, and that its web and its workers may each say in their own way. */
import { containerProfiles, type Firewall, type FirewallRule, type Instance, type Json, roles, sizes } from '../model.ts';
import { childOf } from '../node.ts';
import { choice, integer, json, list, mapOf, maybe, object, optional, orNull, type Shape, text, refined } from '../shape.ts';
import type { Context } from './context.ts';
import { mounts } from './mounts.ts';
import { relationships } from './relationships.ts';
import { address, addressRange, isHostName } from './values.ts';

const containerShapes = (context: Context) => ({
  relationships: relationships(context),
  mounts: mounts(context),
  variables,
  additional_hosts: mapOf(address, 'a map of IP addresses by host name', {
    wrongKey: (name) => (isHostName(name) ? undefined : 'the name of a host'),
  }),
  container_profile: choice(...containerProfiles),
});

const instanceShapes = (context: Context) => ({
  ...containerShapes(context),
  access: object({ ssh: optional(choice(...roles), 'contributor') }),
  firewall,
  size: hint(context, choice(...sizes)),
  disk: hint(context, integer(128, 16 * 2 ** 20, 'MB')),
  resources: hint(context, resources),
});

/** The keys of a container, with their defaults. */
export const containerFields = (context: Context) => {
  const shapes = containerShapes(context);
  return {
    relationships: optional(shapes.relationships, {}),
    mounts: optional(shapes.mounts, {}),
    variables: optional(shapes.variables, {}),
    additional_hosts: optional(shapes.additional_hosts, {}),
    container_profile: orNull(shapes.container_profile),
  };
};

export const instanceFields = (context: Context) => {
  const shapes = instanceShapes(context);
  return {
    ...containerFields(context),
    access: optional(shapes.access, { ssh: 'contributor' }),
    firewall: orNull(shapes.firewall),
    size: optional(shapes.size, 'AUTO'),
    disk: orNull(shapes.disk),
    resources: orNull(shapes.resources),
  };
};

/** The keys of an app that its web and its workers may override; undefined where they leave a key to the app. */
export const overrideFields = (context: Context) => {
  const shapes = instanceShapes(context);
  return {
    relationships: maybe(shapes.relationships),
    mounts: maybe(shapes.mounts),
    variables: maybe(shapes.variables),
    additional_hosts: maybe(shapes.additional_hosts),
    container_profile: maybe(shapes.container_profile),
    access: maybe(shapes.access),
    firewall: maybe(shapes.firewall),
    size: maybe(shapes.size),
    disk: maybe(shapes.disk),
    resources: maybe(shapes.resources),
  };
};

type Overrides = { [K in keyof Instance]: Instance[K] | undefined };

/** An override replaces the whole of what the app says. */
export const overridden = (app: Instance, own: Overrides): Instance => ({
  relationships: own.relationships ?? app.relationships,
  mounts: own.mounts ?? app.mounts,
  variables: own.variables ?? app.variables,
  additional_hosts: own.additional_hosts ?? app.additional_hosts,
  container_profile: own.container_profile ?? app.container_profile,
  access: own.access ?? app.access,
  firewall: own.firewall ?? app.firewall,
  size: own.size ?? app.size,
  disk: own.disk ?? app.disk,
  resources: own.resources ?? app.resources,
});

export const resources = object({
  base_memory: optional(integer(64, 1024, 'MB'), 64),
  memory_ratio: optional(integer(128, 1024, 'MB'), 128),
});

/** A value that counts only in legacy files; everywhere else it is ignored with a warning, because it is set for each environment. */
export const hint = <T>({ isLegacy }: Context, shape: Shape<T>): Shape<T> =>
  isLegacy
    ? shape
    : {
        expected: shape.expected,
        read: (node, { path, report }) => {
          report.warn(node.at, path, 'This is ignored: sizes and disks are set for each environment, not in files.');
          return undefined;
        },
      };

const variableNameShape = /^[A-Za-z_][A-Za-z0-9_]*$/;
const variableCharactersMax = 256;

export const variables: Shape<Record<string, Record<string, Json>>> = refined(
  mapOf(
    mapOf(json, 'a map of values by name', { wrongKey: (name) => (name.length <= variableCharactersMax ? undefined : 'a shorter name') }),
    'a map of variables by prefix, such as env, then by name',
    { wrongKey: (prefix) => (/^[\w-]{1,100}$/.test(prefix) ? undefined : 'letters, digits, _ and -') },
  ),
  (found, { path, report }, node) => {
    for (const name of Object.keys(found['env'] ?? {})) {
      if (!variableNameShape.test(name)) {
        const { at } = childOf(childOf(node, 'env'), name);
        report.error(
          at,
          `${path}.env.${name}`,
          `Found the name ${JSON.stringify(name)}, expected letters, digits and _, and no digit first.`,
        );
      }
    }
    return found;
  },
);

const portNumberMax = 65_535;
const mailPort = 25;

const firewallRule: Shape<FirewallRule> = refined(
  object({
    protocol: optional(choice('tcp'), 'tcp'),
    ips: maybe(list(addressRange)),
    domains: maybe(list(text('the name of a host', isHostName))),
    ports: optional(list(integer(1, portNumberMax)), []),
  }),
  ({ protocol, ips, domains, ports }, { path, report }, node) => {
    if (node.kind === 'map' && node.entries.size === 0) {
      report.error(node.at, path, 'Found an empty rule, expected protocol, ips, domains or ports.');
    }
    if (ips && domains) report.error(node.at, path, 'Found both ips and domains, expected one of them in each rule.');
    if (ports.includes(mailPort)) report.warn(node.at, `${path}.ports`, `Port ${mailPort} stays blocked whatever is said here.`);
    return { protocol, ips: ips ?? (domains ? [] : ['0.0.0.0/0']), domains: domains ?? [], ports };
  },
);

export const firewall: Shape<Firewall> = object({ outbound: optional(list(firewallRule), []) });
