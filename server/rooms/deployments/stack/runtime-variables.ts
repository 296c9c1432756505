/**
 * What a running app, worker or task is told in its environment. From the strongest: what the platform provides, variables of the environment and the
 * project, variables of the configuration. (`.environment` of the app comes after all of them, in the container.)
 */
import { hasOwnImage } from '../../../catalogue/catalogue.ts';
import { machineHost } from '../../../drivers/runtime/runtime.ts';
import { Problem } from '../../../kernel/problem.ts';
import type { App, Json, ResolvedRoute, Task, WorkerDocument } from '../../builds/public.ts';
import { isForRegistries, type EffectiveVariable } from '../../variables/public.ts';
import { portOf, type Endpoint, type Endpoints } from './relationships.ts';
import type { Stack } from './stack.ts';

export const appRoot = '/app';
/** The folder that paths of an app, such as those of its mounts, are in: of one with an image of its own, the image's root. */
export const folderOf = ({ type }: Pick<Recipient, 'type'>) => (hasOwnImage(type) ? '' : appRoot);
export const appDirOf = (container: Pick<Recipient, 'type'>) => folderOf(container) || '/';

/** Where apps with `socket_family: unix` listen. */
export const appSocket = '/run/app.sock';

type Told = Record<string, string>;

/** What gets the variables. */
export type Recipient = App | WorkerDocument | Task;

export function runtimeVariables(stack: Stack, container: Recipient, relationships: Endpoints): Told {
  const chosen = chosenVariables(stack, container);
  const told = {
    ...environmentVariables(chosen),
    ...serviceVariables(relationships),
    ...provided(stack, container, relationships),
    PLATFORM_VARIABLES: base64(otherVariables(chosen)),
  };
  refuseTooLong(told, container.name);
  return told;
}

/** The kernel's own limit, less the NUL at the end: a program with a longer variable cannot be started, and nobody would know why. */
const variableBytesMax = 128 * 1024 - 1;

function refuseTooLong(told: Told, container: string) {
  const names = Object.entries(told).flatMap(([name, value]) => (Buffer.byteLength(`${name}=${value}`) > variableBytesMax ? [name] : []));
  if (names.length === 0) return;
  throw new Problem(
    'invalid-request',
    `Invalid deployment: '${container}' cannot be told ${names.join(', ')}, because a variable holds 128 KiB at most; shorten what it is made from.`,
  );
}

/** The variables whose names begin with the prefix, by the rest of their names. */
export const variablesNamed = (prefix: string, stack: Stack, container: Recipient): Told =>
  Object.fromEntries(
    [...chosenVariables(stack, container)].flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), asText(value)]] : [],
    ),
  );

/** The content of PLATFORM_VARIABLES. */
export const toldVariables = (stack: Stack, container: Recipient) => otherVariables(chosenVariables(stack, container));

/** The content of PLATFORM_APPLICATION. */
export const appDocument = ({ slugs }: Stack, container: Recipient) => ({
  ...container,
  tree_id: slugs[appNameOf(container)]?.tree_id ?? '',
  app_dir: appDirOf(container),
});

/** The content of PLATFORM_ROUTES. */
export const toldRoutes = ({ routes, told_routes = routes }: Pick<Stack, 'routes' | 'told_routes'>) =>
  Object.fromEntries(Object.entries(told_routes).map(([url, route]) => [url, toldRoute(route)]));

const appNameOf = (container: Recipient) => ('app' in container ? container.app : container.name);

function provided(stack: Stack, container: Recipient, relationships: Endpoints): Told {
  const { project, environment, settings } = stack;
  const application = appDocument(stack, container);
  return {
    PLATFORM_APP_DIR: appDirOf(container),
    PLATFORM_APPLICATION: base64(application),
    PLATFORM_APPLICATION_NAME: appNameOf(container),
    PLATFORM_BRANCH: environment.id,
    PLATFORM_ENVIRONMENT: environment.machine_name,
    PLATFORM_ENVIRONMENT_TYPE: environment.type,
    PLATFORM_PROJECT: project.id,
    PLATFORM_PROJECT_ENTROPY: project.entropy,
    PLATFORM_RELATIONSHIPS: base64(relationships),
    PLATFORM_ROUTES: base64(toldRoutes(stack)),
    PLATFORM_SMTP_HOST: settings.enable_smtp ? machineHost : '',
    PLATFORM_TREE_ID: application.tree_id,
    ...commandsOf(container),
    ...('web' in container && webVariables(stack, container)),
  };
}

function commandsOf(container: Recipient): Told {
  if ('run' in container) return { PLATFORM_APP_COMMAND: container.run.command };
  const { pre_start, start, post_start } = 'web' in container ? container.web.commands : container.worker.commands;
  return {
    ...(pre_start !== null && { PLATFORM_PRE_APP_COMMAND: pre_start }),
    ...(start !== null && { PLATFORM_APP_COMMAND: start }),
    ...(post_start !== null && { PLATFORM_POST_APP_COMMAND: post_start }),
  };
}

function webVariables(stack: Stack, app: App): Told {
  const { web } = app;
  const root = web.locations['/']?.root ?? Object.values(web.locations).find((location) => location.root !== null)?.root ?? null;
  return {
    ...(root !== null && { PLATFORM_DOCUMENT_ROOT: root === '' ? appRoot : `${appRoot}/${root}` }),
    ...(web.upstream.socket_family === 'tcp' ? { PORT: String(portOf(stack, app)) } : { SOCKET: appSocket }),
  };
}

/**
 * A route as apps see it: with the app's name alone as its upstream, and without what only the edge follows, such as `redirects`. The latter can change
 * while apps run, and apps would have to be restarted to see the change.
 */
function toldRoute(route: ResolvedRoute) {
  const {
    redirects: _,
    http_access: _access,
    restrict_robots: _robots,
    ...told
  } = 'redirects' in route ? route : { ...route, redirects: undefined };
  return told.type === 'upstream' ? { ...told, upstream: told.upstream.split(':', 1)[0] } : told;
}

/** Variables by name with prefix (`env:DEBUG`, `theme`, `php:memory_limit`); stronger ones replace weaker ones. */
function chosenVariables({ secrets }: Stack, container: Recipient): Map<string, Json> {
  const names = 'app' in container ? [container.app, container.name] : [container.name];
  const isFor = ({ name, visible_runtime, application_scope }: EffectiveVariable) =>
    visible_runtime && !isForRegistries(name) && (application_scope.length === 0 || application_scope.some((name) => names.includes(name)));
  return new Map([
    ...configuredVariables(container),
    ...secrets.variables.filter(isFor).map((variable) => [sameCase(variable.name), valueOf(variable)] as const),
  ]);
}

const configuredVariables = ({ variables }: Recipient): [string, Json][] =>
  Object.entries(variables).flatMap(([prefix, values]) =>
    Object.entries(values).map(([name, value]): [string, Json] => [sameCase(`${prefix}:${name}`), value]),
  );

const environmentPrefix = 'env:';

/** `env:debug` and `env:DEBUG` are one variable, as both become DEBUG. */
const sameCase = (name: string) =>
  name.startsWith(environmentPrefix) ? environmentPrefix + name.slice(environmentPrefix.length).toUpperCase() : name;

/** A value that claims to be JSON was checked when it was stored; if it is not JSON after all, it is taken as text. */
function valueOf({ value, is_json }: EffectiveVariable): Json {
  if (!is_json) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}

const environmentVariables = (chosen: Map<string, Json>): Told =>
  Object.fromEntries(
    [...chosen].flatMap(([name, value]) =>
      name.startsWith(environmentPrefix) ? [[name.slice(environmentPrefix.length), asText(value)]] : [],
    ),
  );

const otherVariables = (chosen: Map<string, Json>) =>
  Object.fromEntries([...chosen].filter(([name]) => !name.startsWith(environmentPrefix)));

/** NULs are left out, because the first would end the value. */
const asText = (value: Json) => (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('\0', '');

const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

/** `DATABASE_HOST` and the like: the properties of each relationship's first endpoint. */
function serviceVariables(relationships: Endpoints): Told {
  const told: Told = {};
  for (const [relationship, [endpoint]] of Object.entries(relationships)) {
    const prefix = variableName(relationship);
    for (const [property, value] of Object.entries(endpoint)) told[`${prefix}_${variableName(property)}`] = rendered(value);
    if (endpoint.path !== undefined) told[`${prefix}_NAME`] = rendered(endpoint.path);
    told[`${prefix}_URL`] = urlOf(endpoint);
  }
  return told;
}

const variableName = (text: string) => text.toUpperCase().replaceAll(/[^0-9A-Z_]/g, '_');

function urlOf({ scheme, username, password, host, port, path }: Endpoint): string {
  const account = username ? `${encodeURIComponent(username)}:${encodeURIComponent(password ?? '')}@` : '';
  return `${scheme}://${account}${host}:${port}${path ? `/${path === '/' ? '%2F' : path}` : ''}`;
}

function rendered(value: Endpoint[keyof Endpoint]): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? pythonOf(value) : String(value);
}

/** Nested values are written as Python would write them, because existing scripts expect that. */
function pythonOf(value: unknown): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'string') return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(pythonOf).join(', ')}]`;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${pythonText(key)}: ${pythonOf(item)}`)
    .join(', ')}}`;
}

/** In single quotes, unless double ones save escaping. */
function pythonText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  return quote + escaped.replaceAll(quote, `\\${quote}`) + quote;
}

/** Shorter values occur in half of all texts; hiding them would hide the text and not the secret. */
const hiddenCharactersMin = 4;

/** What must not be seen in logs: passwords and sensitive values, their lines and the texts in them. The longest come first, so that hiding a shorter one does not leave a part of a longer one. */
export function sensitiveValues({ secrets, settings, project }: Stack): string[] {
  const values: Json[] = [
    project.entropy,
    ...secrets.variables.filter(({ is_sensitive }) => is_sensitive).flatMap((variable) => [variable.value, valueOf(variable)]),
    ...Object.values(secrets.accounts).flatMap((accounts) => Object.values(accounts).map(({ password }) => password)),
    ...Object.values(settings.http_access.basic_auth),
  ];
  const texts = values.flatMap(textsIn).flatMap((text) => [text, ...text.split('\n')].map((part) => part.trim()));
  return [...new Set(texts)].filter((text) => text.length >= hiddenCharactersMin).toSorted((a, b) => b.length - a.length);
}

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
