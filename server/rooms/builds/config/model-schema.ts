/**
 * The model (model.ts) as a schema, for one that was written down elsewhere: by another installation, or by another version of the platform. It asks for no
 * more than all else relies on: names that become folders and hosts, paths that stay inside, and that everything is there and of its kind. What it does not
 * know it lets be. Whoever adds a field to the model leaves it optional here, as there are backups from before.
 */
import { Type } from 'typebox';
import { mapBy, mapOf, oneOf, orNull } from '../../../kernel/stored-json.ts';
import { containerProfiles, roles, sizes, type Json } from './model.ts';

/** Names as the language has them (language/values.ts), and those of workers: `<app>--<worker>`. */
export const namePattern = '^[a-z0-9](?:[a-z0-9_-]{0,126}[a-z0-9])?$';
const Name = Type.String({ pattern: namePattern });
const staysInside = String.raw`(?![\s\S]*(?:^|/)\.\.(?:/|$))`;
const PathInside = Type.String({ pattern: `^${staysInside}(?!/)` });
const pathPattern = `^${staysInside}/`;
const ImageType = Type.String({ pattern: '^[a-z][a-z0-9-]*(?::[A-Za-z0-9._-]+)?$' });

const Text = Type.String();
const Words = Type.Array(Text);
const Flag = Type.Boolean();
const Count = Type.Integer({ minimum: 0 });
const Switch = Type.Object({ enabled: Flag });
const Anything = Type.Unsafe<Json>({});
const MaybeText = orNull(Text);
const Memory = orNull(Type.Object({ base_memory: Type.Number({ minimum: 0 }), memory_ratio: Type.Number({ minimum: 0 }) }));

const Mount = Type.Object({
  source: oneOf('storage', 'instance', 'tmp', 'service'),
  source_path: PathInside,
  service: orNull(Name),
});

const container = {
  relationships: mapOf(Type.Object({ service: Name, endpoint: Text })),
  mounts: mapBy(pathPattern, Mount),
  variables: mapOf(mapOf(Anything)),
  additional_hosts: mapOf(Text),
  container_profile: orNull(oneOf(...containerProfiles)),
};

const FirewallRule = Type.Object({
  protocol: Type.Literal('tcp'),
  ips: Words,
  domains: Words,
  ports: Type.Array(Type.Integer({ minimum: 1, maximum: 65_535 })),
});

const instance = {
  ...container,
  access: Type.Object({ ssh: oneOf(...roles) }),
  firewall: orNull(Type.Object({ outbound: Type.Array(FirewallRule) })),
  size: oneOf(...sizes),
  disk: orNull(Type.Number({ minimum: 0 })),
  resources: Memory,
};

const rule = { expires: Text, passthru: Type.Union([Flag, Text]), scripts: Flag, allow: Flag, headers: mapOf(Text) };
const Location = Type.Object({
  ...rule,
  root: orNull(PathInside),
  index: orNull(Words),
  rules: mapOf(Type.Partial(Type.Object(rule))),
  request_buffering: Type.Object({ enabled: Flag, max_request_size: Text }),
});

const Web = Type.Object({
  commands: Type.Object({ pre_start: MaybeText, start: MaybeText, post_start: MaybeText }),
  upstream: Type.Object({
    socket_family: oneOf('tcp', 'unix'),
    protocol: oneOf('http', 'fastcgi'),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  }),
  locations: mapOf(Location),
  move_to_root: Type.Literal(false),
});

const Worker = Type.Object({
  ...instance,
  worker: Type.Object({
    commands: Type.Object({ pre_start: MaybeText, start: Text, post_start: MaybeText }),
    disk: orNull(Type.Number({ minimum: 0 })),
  }),
});

const commands = Type.Object({ start: Text, stop: MaybeText });
const Cron = Type.Object({ spec: Text, commands, shutdown_timeout: Count, timeout: Count });
const Operation = Type.Object({ role: oneOf(...roles), commands, timeout: orNull(Count) });

const Build = Type.Object({
  flavor: oneOf('composer', 'default', 'none'),
  caches: mapOf(Type.Object({ directory: MaybeText, watch: Words, allow_stale: Flag, share_between_apps: Flag })),
});

/** The settings of PHP; empty for all other runtimes. */
const Runtime = Type.Union([
  Type.Object({
    extensions: Type.Array(Type.Object({ name: Text, configuration: mapOf(Anything) })),
    disabled_extensions: Words,
    request_terminate_timeout: orNull(Type.Number()),
    sizing_hints: Type.Object({ request_memory: Type.Number(), reserved_memory: Type.Number() }),
  }),
  Type.Record(Text, Type.Never()),
]);

const built = {
  name: Name,
  type: ImageType,
  timezone: MaybeText,
  dependencies: mapOf(mapOf(Anything)),
  build: Build,
  runtime: Runtime,
};
const root = Type.String({ pattern: pathPattern });

const App = Type.Object({
  ...instance,
  ...built,
  source: Type.Object({ root, operations: mapOf(Type.Object({ command: Text })) }),
  web: Web,
  workers: mapBy(namePattern, Worker),
  crons: mapOf(Cron),
  hooks: Type.Object({ build: MaybeText, deploy: MaybeText, post_deploy: MaybeText, sanitize: MaybeText }),
  operations: mapOf(Operation),
  preflight: Type.Object({ enabled: Flag, ignored_rules: Words }),
  image: Type.Optional(Type.Object({ name: Text, signed_by: MaybeText })),
  dockerfile: Type.Optional(Type.Object({ path: PathInside, target: MaybeText, args: mapOf(Text) })),
});

const Task = Type.Object({
  ...container,
  ...built,
  source: Type.Object({ root }),
  hooks: Type.Object({ build: MaybeText, deploy: MaybeText }),
  run: Type.Object({ command: Text, timeout: Count }),
  resources: Memory,
  authorizations: Type.Array(Type.Object({ type: oneOf('env', 'task'), action: Text, resource: MaybeText })),
});

const Endpoint = Type.Object({ default_database: MaybeText, privileges: mapOf(oneOf('ro', 'rw', 'admin')) });
const Service = Type.Object({
  name: Name,
  type: ImageType,
  configuration: mapOf(Anything),
  relationships: mapOf(Text),
  container_profile: orNull(oneOf(...containerProfiles)),
  size: oneOf(...sizes),
  disk: orNull(Type.Number({ minimum: 0 })),
  databases: Words,
  endpoints: mapOf(Endpoint),
  extensions: Words,
});

const redirects = Type.Object({
  expires: Text,
  paths: mapOf(
    Type.Object({
      to: Text,
      regexp: Flag,
      prefix: orNull(Flag),
      append_suffix: orNull(Flag),
      code: Type.Union([Type.Literal(301), Type.Literal(302), Type.Literal(307), Type.Literal(308)]),
      expires: MaybeText,
    }),
  ),
});

const routeBase = {
  id: MaybeText,
  attributes: mapOf(Text),
  tls: Type.Object({
    min_version: orNull(oneOf('TLSv1.0', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3')),
    client_authentication: orNull(oneOf('request', 'require')),
    client_certificate_authorities: Words,
    strict_transport_security: Type.Object({ enabled: orNull(Flag), include_subdomains: orNull(Flag), preload: orNull(Flag) }),
  }),
};
const upstream = {
  ...routeBase,
  type: Type.Literal('upstream'),
  upstream: Text,
  cache: Type.Object({ enabled: Flag, default_ttl: Type.Number(), cookies: Words, headers: Words }),
  ssi: Switch,
  sticky: Switch,
  redirects,
};
const redirect = { ...routeBase, type: Type.Literal('redirect'), to: Text, redirects };
const proxy = { ...routeBase, type: Type.Literal('proxy'), to: Text };

export const HttpAccessSchema = Type.Object({
  is_enabled: Flag,
  addresses: Type.Array(Type.Object({ permission: oneOf('allow', 'deny'), address: Text })),
  basic_auth: mapOf(Text),
});

const configured = { primary: orNull(Flag) };
const resolved = {
  primary: Flag,
  production_url: MaybeText,
  original_url: Text,
  restrict_robots: Flag,
  http_access: HttpAccessSchema,
};

export const ResolvedRouteSchema = Type.Union([
  Type.Object({ ...upstream, ...resolved }),
  Type.Object({ ...redirect, ...resolved }),
  Type.Object({ ...proxy, ...resolved }),
]);

export const ProjectModelSchema = Type.Object({
  applications: mapBy(namePattern, App),
  services: mapBy(namePattern, Service),
  routes: mapOf(
    Type.Union([
      Type.Object({ ...upstream, ...configured }),
      Type.Object({ ...redirect, ...configured }),
      Type.Object({ ...proxy, ...configured }),
    ]),
  ),
  tasks: mapBy(namePattern, Task),
});
