/** A configuration from a Procfile and, where there is one, an app.json. */
import { Problem } from '../../server/kernel/problem.ts';
import type { SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import { appOfSource, guessFrom } from './app-of-source.ts';
import { commandToSet, nameFor } from './compose-parts.ts';
import { emptyDraft, lose, remark, type Draft } from './draft.ts';
import { offeredType } from './offered.ts';

interface Addon {
  /** The type here. */
  name: string;
  relationship: string;
  /** The variable that held its address, and what it holds here. */
  variable: string;
}

const addons: Readonly<Record<string, Addon>> = {
  'heroku-postgresql': { name: 'postgresql', relationship: 'database', variable: 'DATABASE_URL' },
  'heroku-redis': { name: 'redis', relationship: 'cache', variable: 'REDIS_URL' },
  rediscloud: { name: 'redis', relationship: 'cache', variable: 'REDISCLOUD_URL' },
  jawsdb: { name: 'mysql', relationship: 'database', variable: 'JAWSDB_URL' },
  'jawsdb-maria': { name: 'mariadb', relationship: 'database', variable: 'JAWSDB_MARIA_URL' },
  cleardb: { name: 'mysql', relationship: 'database', variable: 'CLEARDB_DATABASE_URL' },
  cloudamqp: { name: 'rabbitmq', relationship: 'queue', variable: 'CLOUDAMQP_URL' },
  memcachier: { name: 'memcached', relationship: 'memcached', variable: 'MEMCACHIER_SERVERS' },
  memcachedcloud: { name: 'memcached', relationship: 'memcached', variable: 'MEMCACHEDCLOUD_SERVERS' },
};

export async function fromProcfile(tree: SourceTree): Promise<Draft> {
  const draft = emptyDraft();
  const processes = processesOf((await tree.read('Procfile'))?.toString() ?? '');
  const given = appJson((await tree.read('app.json'))?.toString());
  const name = nameFor(typeof given['name'] === 'string' ? given['name'] : 'app');
  const at = ['applications', name];
  const { web, release, ...workers } = processes;
  const found = await appOfSource(tree, undefined, web);
  if (!found)
    throw new Problem(
      'invalid-request',
      'Nothing in this folder says which of the languages here the app is written in. ./offshoot image list shows what there is.',
    );
  const { app } = found;
  const guess = await guessFrom(tree);
  const isPython = guess?.name === 'python';
  const inside = (command: string) => (isPython ? `. .venv/bin/activate && ${command}` : command);
  for (const text of found.remarks) remark(draft, at, text);
  for (const text of found.losses) lose(draft, at, text);
  if (release !== undefined) app.hooks = { ...app.hooks, deploy: `${inside(release)}\n` };
  if (Object.keys(workers).length > 0)
    app.workers = Object.fromEntries(
      Object.entries(workers).map(([worker, command]) => [nameFor(worker), { commands: { start: inside(command) } }]),
    );
  if (web === undefined) remark(draft, at, 'The Procfile has no web process, so nothing is reached from outside.');
  draft.applications[name] = app;
  if (web !== undefined) draft.routes['https://{default}/'] = { type: 'upstream', upstream: `${name}:http` };
  addAddons(draft, name, given['addons']);
  addEnvironment(draft, name, mapOf(given['env']));
  losesOfAppJson(draft, at, given);
  return draft;
}

const processesOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const [, name = '', command = ''] = /^([\w-]+)\s*:\s*(.+?)\s*$/.exec(line) ?? [];
      return name === '' ? [] : [[name, command]];
    }),
  );

function appJson(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  try {
    return mapOf(JSON.parse(text));
  } catch (error) {
    throw new Problem('invalid-request', `app.json is no JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

const mapOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};

function addAddons(draft: Draft, appName: string, value: unknown) {
  const app = draft.applications[appName];
  const plans = (Array.isArray(value) ? value : []).map((one) => String(typeof one === 'string' ? one : mapOf(one)['plan']));
  for (const plan of plans) {
    const known = addons[plan.split(':', 1)[0] ?? ''];
    const offered = known && offeredType(known.name, undefined);
    if (!app || !known || !offered) {
      lose(draft, ['applications', appName], `carried over: the add-on ${plan}, for which there is no type here.`);
      continue;
    }
    const service = known.relationship === 'database' ? 'db' : known.relationship;
    draft.services[service] = { type: offered.type };
    if (offered.instead !== undefined) remark(draft, ['services', service], offered.instead);
    app.relationships = { ...app.relationships, [known.relationship]: { service } };
    const prefix = known.relationship.toUpperCase();
    const address = known.name === 'memcached' ? `$${prefix}_HOST:$${prefix}_PORT` : `$${prefix}_URL`;
    if (known.variable !== `${prefix}_URL`)
      draft.environmentFiles[''] = [...(draft.environmentFiles[''] ?? []), `export ${known.variable}="${address}"`];
    else remark(draft, ['applications', appName], `${known.variable} is told by the platform.`);
  }
}

function addEnvironment(draft: Draft, appName: string, env: Record<string, unknown>) {
  const app = draft.applications[appName];
  const at = ['applications', appName];
  for (const [name, written] of Object.entries(env)) {
    const value = typeof written === 'string' ? written : mapOf(written)['value'];
    if (name === 'PORT' || !app) continue;
    if (typeof value === 'string' && value !== '') app.variables = { env: { ...app.variables?.env, [name]: value } };
    else
      lose(
        draft,
        at,
        `carried over: ${name}, which has no value there${mapOf(written)['generator'] === 'secret' ? ' (it is generated)' : ''}. Set it: ${commandToSet(name)}`,
      );
  }
}

const reasons: Readonly<Record<string, string>> = {
  formation: 'sizes and instances are set with `upsun resources:set`',
  buildpacks: 'the type of the app says what builds it',
  stack: 'the type of the app says what it runs on',
  environments: 'every branch is an environment here, with the same configuration',
  scripts: 'what runs once for a new app is a runtime operation or a task here; what runs with each deployment is hooks.deploy',
};
const told = new Set([
  'name',
  'description',
  'keywords',
  'website',
  'repository',
  'logo',
  'success_url',
  'env',
  'addons',
  '$schema',
  'image',
]);

function losesOfAppJson(draft: Draft, at: readonly string[], given: Record<string, unknown>) {
  for (const [key, value] of Object.entries(given)) {
    if (told.has(key)) continue;
    lose(
      draft,
      at,
      `carried over: ${key} of app.json (${JSON.stringify(value).slice(0, 100)}); ${reasons[key] ?? 'it has no counterpart here'}.`,
    );
  }
}
