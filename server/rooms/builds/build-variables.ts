/** What a build is told: what is visible to builds, and nothing of what only runs. */
import { Problem } from '../../kernel/problem.ts';
import { titleOf, type Buildable } from './buildable.ts';
import { appFolder, cacheFolder, cacheVariables, toolVariables, wordBytesMax } from './build-commands.ts';
import { buildView } from './config/identity.ts';
import type { Json } from './config/model.ts';
import { isForRegistries, type EffectiveVariable } from '../variables/public.ts';

export interface Told {
  project: { id: string; entropy: string };
  app: Buildable;
  treeId: string;
  vendor: string;
  /** All variables of the environment, whether builds see them or not. */
  variables: readonly EffectiveVariable[];
}

export interface BuildVariables {
  /** The variables of the environment that this build sees. */
  visible: EffectiveVariable[];
  env: Record<string, string>;
  /** Values that must not be seen in a log. */
  secrets: string[];
}

export function buildVariables({ project, app, treeId, vendor, variables }: Told): BuildVariables {
  const visible = variables.filter(
    ({ name, visible_build, application_scope }) =>
      visible_build && !isForRegistries(name) && (application_scope.length === 0 || application_scope.includes(app.name)),
  );
  const given = { ...ofApp(app), ...Object.fromEntries(visible.map((variable) => [variable.name, valueOf(variable)])) };
  const [own, others] = partition(given);
  const provided = {
    CI: 'true',
    PLATFORM_APP_DIR: appFolder,
    PLATFORM_APPLICATION: encoded({ ...buildView(app), tree_id: treeId, app_dir: appFolder }),
    PLATFORM_APPLICATION_NAME: app.name,
    PLATFORM_CACHE_DIR: cacheFolder,
    PLATFORM_OUTPUT_DIR: appFolder,
    PLATFORM_PROJECT: project.id,
    PLATFORM_PROJECT_ENTROPY: project.entropy,
    PLATFORM_TREE_ID: treeId,
    PLATFORM_VARIABLES: encoded(others),
    PLATFORM_VENDOR: vendor,
  };
  const { PATH: path, ...rest } = own;
  const env = { LANG: 'C.UTF-8', HOME: appFolder, ...cacheVariables, ...toolVariables(app, path), ...rest, ...provided };
  const long = Object.entries(env).find(([name, value]) => Buffer.byteLength(`${name}=${value}`) >= wordBytesMax);
  if (long)
    throw new Problem(
      'too-large',
      `Unable to build ${titleOf(app)}: ${long[0]} is longer than ${wordBytesMax / 1024} KiB, which is the most that a variable can hold; shorten it.`,
    );
  const sensitive = visible.filter(({ is_sensitive }) => is_sensitive);
  const secrets = sensitive.flatMap((variable) => [variable.value, ...textsIn(valueOf(variable))]);
  if (sensitive.length > 0) secrets.push(provided.PLATFORM_VARIABLES);
  return { visible, env, secrets: [...secrets, project.entropy] };
}

const ofApp = ({ variables }: Buildable): Record<string, Json> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([prefix, values]) => Object.entries(values).map(([name, value]) => [`${prefix}:${name}`, value])),
  );

/** A value that is marked as JSON and is not, because somebody changed only the flag, is taken as text. */
function valueOf({ value, is_json }: EffectiveVariable): Json {
  if (!is_json) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value;
  }
}

const environmentPrefix = 'env:';

/** Divides variables into environment variables, by their names without the prefix, and all others, as they are. */
function partition(given: Record<string, Json>): [env: Record<string, string>, others: Record<string, Json>] {
  const [env, others]: [Record<string, string>, Record<string, Json>] = [{}, {}];
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith(environmentPrefix)) env[name.slice(environmentPrefix.length).toUpperCase()] = textOf(value);
    else others[name] = value;
  }
  return [env, others];
}

/** NULs are left out, because no variable of a program can contain one. */
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('\0', '');

const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

function textsIn(value: Json): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
