/** A configuration from a compose file: services of the catalogue become services, what is built becomes an app, published ports become routes. */
import type { SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import { follow } from '../../server/rooms/builds/config/source-tree.ts';
import { appOfSource } from './app-of-source.ts';
import { readCompose, readDotEnv, type ComposeService } from './compose-file.ts';
import { appFolder, commandToSet, foldersOfApp, losesKeys, nameFor, subtree } from './compose-parts.ts';
import { readDockerfile, type Dockerfile } from './dockerfile.ts';
import { emptyDraft, lose, remark, type AppDraft, type Draft } from './draft.ts';
import { readImage, unneededImages } from './known-images.ts';
import { offeredType } from './offered.ts';
import { withPort } from './shell.ts';
import { quotable, toldValue, type Peer } from './told-values.ts';

export const composeFiles = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml'];

interface Translation {
  tree: SourceTree;
  draft: Draft;
  services: readonly ComposeService[];
  /** By the name in the compose file. */
  peers: Map<string, Peer>;
  apps: Map<string, ComposeService>;
}

export async function fromCompose(tree: SourceTree, file: string): Promise<Draft> {
  const dotEnv = readDotEnv((await tree.read('.env'))?.toString() ?? '');
  const { services, others } = readCompose((await tree.read(file))?.toString() ?? '', dotEnv);
  const translation: Translation = { tree, draft: emptyDraft(), services, peers: new Map(), apps: new Map() };
  const { draft } = translation;
  for (const key of others) lose(draft, [], `carried over: ${key}, which has no counterpart here.`);
  for (const service of services) addService(translation, service);
  for (const [, service] of translation.apps) await addApp(translation, service);
  foldWorkers(translation);
  addRelationships(translation);
  addVariables(translation);
  addRoutes(translation);
  return draft;
}

/** How the account of a database was chosen. */
const accountVariables: Readonly<Record<string, Record<'user' | 'password' | 'database', string>>> = {
  postgresql: { user: 'POSTGRES_USER', password: 'POSTGRES_PASSWORD', database: 'POSTGRES_DB' },
  mariadb: { user: 'MARIADB_USER', password: 'MARIADB_PASSWORD', database: 'MARIADB_DATABASE' },
  mysql: { user: 'MYSQL_USER', password: 'MYSQL_PASSWORD', database: 'MYSQL_DATABASE' },
  rabbitmq: { user: 'RABBITMQ_DEFAULT_USER', password: 'RABBITMQ_DEFAULT_PASS', database: 'RABBITMQ_DEFAULT_VHOST' },
};
const usualPorts: Readonly<Record<string, string>> = {
  postgresql: '5432',
  mariadb: '3306',
  mysql: '3306',
  redis: '6379',
  'redis-persistent': '6379',
  valkey: '6379',
  memcached: '11211',
  rabbitmq: '5672',
};

/** Sorts out what each is; services are finished by that. */
function addService({ draft, peers, apps }: Translation, service: ComposeService) {
  const { image, build, command } = service;
  const name = nameFor(service.name);
  const read = image === undefined ? undefined : readImage(image);
  const unneeded = read && unneededImages[read.repository];
  if (!build && unneeded !== undefined) return lose(draft, [], `carried over: ${service.name} (${image}): ${unneeded}.`);
  if (build || read?.known?.kind === 'runtime') return void apps.set(service.name, service);
  if (!read?.known) {
    const what = image === undefined ? 'it has neither an image nor a build' : `there is no type for the image ${image}`;
    return lose(draft, [], `carried over: ${service.name}: ${what}. ./offshoot image list shows what there is.`);
  }
  const { known } = read;
  // Data of a cache that has a volume was meant to stay.
  const isKept = known.name === 'redis' && service.volumes.length > 0;
  const type = isKept ? 'redis-persistent' : known.name;
  const offered = offeredType(type, read.version);
  if (!offered) return lose(draft, [], `carried over: ${service.name}: the type ${type} (${image}) is not offered here.`);
  draft.services[name] = { type: offered.type, ...(known.extensions && { configuration: { extensions: [...known.extensions] } }) };
  const at = ['services', name];
  if (offered.instead !== undefined) remark(draft, at, offered.instead);
  const variables = accountVariables[type] ?? accountVariables[known.name];
  const own = Object.fromEntries(
    Object.entries(variables ?? {}).flatMap(([part, variable]) => {
      const value = service.environment.get(variable) ?? service.environment.get(variable.replace('MARIADB', 'MYSQL'));
      return value === undefined ? [] : [[part, value]];
    }),
  );
  const has = variables ? (type === 'rabbitmq' ? 'accounts' : 'databases') : 'nothing';
  const port = usualPorts[type];
  peers.set(service.name, { name: service.name, prefix: prefixOf(name), has, own, ...(port !== undefined && { port }) });
  if (variables)
    remark(
      draft,
      at,
      'Its user, password and database are made by the platform, which tells them to the apps that have a relationship to it.',
    );
  const settings = [...service.environment.keys()].filter(
    (key) => !Object.values(variables ?? {}).includes(key) && !/ROOT_PASSWORD|_PASSWORD$/.test(key),
  );
  if (settings.length > 0) lose(draft, at, `carried over: ${settings.join(', ')}: settings of its image.`);
  if (command !== undefined) lose(draft, at, `carried over: its command "${command}".`);
  if (service.volumes.length > 0) remark(draft, at, volumeRemark(service));
  losesKeys(draft, at, service);
}

const volumeRemark = ({ volumes }: ComposeService) => {
  const files = volumes.filter(({ from }) => from !== undefined && /^[./~]/.test(from)).map(({ from, to }) => `${from} (${to})`);
  const data = 'Its data is kept by the platform; bring what you have with a dump.';
  return files.length === 0 ? data : `${data} Files that it was given are not carried over: ${files.join(', ')}.`;
};

const prefixOf = (name: string) => name.toUpperCase().replaceAll(/[^0-9A-Z_]/g, '_');

async function addApp({ tree, draft, peers, apps }: Translation, service: ComposeService) {
  const name = nameFor(service.name);
  const at = ['applications', name];
  const folder = appFolder(service);
  const root = folder === undefined ? undefined : follow('', folder);
  if (root === undefined) {
    apps.delete(service.name);
    return lose(draft, [], `carried over: ${service.name}: its sources, ${folder}, are outside of this folder.`);
  }
  const sources = subtree(tree, root);
  const dockerfile = await dockerfileOf(sources, service);
  const found = await appOfSource(sources, dockerfile, service.command);
  if (!found) {
    apps.delete(service.name);
    return lose(draft, [], `carried over: ${service.name}: nothing in ${folder} says which of the languages here it is written in.`);
  }
  const port = service.port ?? dockerfile?.port;
  peers.set(service.name, { name: service.name, prefix: prefixOf(name), has: 'nothing', own: {}, ...(port !== undefined && { port }) });
  const app: AppDraft = { ...found.app, ...(root !== '' && { source: { root: `/${root}` } }) };
  const start = app.web?.commands?.start;
  const told = withPort(start ?? '', port);
  if (app.web && start !== undefined) app.web.commands = { start: told };
  for (const text of found.remarks) remark(draft, at, text);
  for (const text of found.losses) lose(draft, at, text);
  if (start !== undefined && told === start && !/\$\{?PORT\b/.test(start))
    remark(draft, at, `It has to listen on the port in the variable PORT${port === undefined ? '' : ` (it was ${port})`}.`);
  foldersOfApp(draft, at, app, service, dockerfile);
  if (dockerfile) losesOfDockerfile(draft, at, app, dockerfile);
  losesKeys(draft, at, service);
  draft.applications[name] = app;
}

async function dockerfileOf(sources: SourceTree, { build, image }: ComposeService): Promise<Dockerfile | undefined> {
  const text = build ? await sources.read(follow('', build.dockerfile) ?? 'Dockerfile') : undefined;
  if (text) return readDockerfile(text.toString(), build?.target);
  return image === undefined || build ? undefined : readDockerfile(`FROM ${image}`);
}

function losesOfDockerfile(draft: Draft, at: readonly string[], app: AppDraft, { system, others, env, lateEnv, language }: Dockerfile) {
  const extensions = system.flatMap((step) => (step.startsWith('docker-php-ext-install') ? step.split(/\s+/).slice(1) : []));
  const wanted = extensions.filter((word) => /^[a-z]\w*$/.test(word));
  if (wanted.length > 0 && language?.known?.name === 'php') app.runtime = { extensions: wanted };
  const left = system.filter((step) => !step.startsWith('docker-php-ext-'));
  if (left.length > 0)
    lose(
      draft,
      at,
      `carried over: ${left.map((step) => `"${step}"`).join(', ')}: images of apps are the platform's and cannot be changed by a build.`,
    );
  if (others.length > 0) lose(draft, at, `carried over from its Dockerfile: ${[...new Set(others)].join(', ')}.`);
  const ofApp = (variables: Record<string, string>) => Object.entries(variables).filter(([key]) => key !== 'PORT' && key !== 'PATH');
  if (ofApp(env).length > 0) app.variables = { env: Object.fromEntries(ofApp(env)) };
  addTold(
    draft,
    app,
    ofApp(lateEnv).map(([key, value]) => `export ${key}="${quotable(value)}"`),
  );
}

/** Into the file `.environment` of the app, which its processes read when they start, and its build does not. */
function addTold(draft: Draft, app: AppDraft, lines: readonly string[]) {
  const root = app.source?.root.slice(1) ?? '';
  if (lines.length > 0) draft.environmentFiles[root] = [...new Set([...(draft.environmentFiles[root] ?? []), ...lines])];
}

/** What has the sources of another app, and no port, is a worker of that app. */
function foldWorkers({ draft, apps }: Translation) {
  for (const [own, service] of apps) {
    if (service.isPublished || service.port !== undefined) continue;
    const folder = appFolder(service);
    const [, main] =
      [...apps].find(([other, one]) => other !== own && appFolder(one) === folder && (one.isPublished || one.port !== undefined)) ?? [];
    const app = main && draft.applications[nameFor(main.name)];
    const name = nameFor(service.name);
    const start = draft.applications[name]?.web?.commands?.start;
    if (!main || !app || start === undefined) continue;
    app.workers = { ...app.workers, [name]: { commands: { start } } };
    const said = new Set(draft.remarks.filter(({ at }) => at[1] === nameFor(main.name)).map(({ text }) => text));
    const worker = ['applications', nameFor(main.name), 'workers', name];
    draft.remarks = draft.remarks.flatMap((one) => {
      if (one.at[0] !== 'applications' || one.at[1] !== name) return [one];
      return one.isLoss && !said.has(one.text) ? [{ ...one, at: worker }] : [];
    });
    delete draft.applications[name];
    for (const needed of service.needs) if (needed !== main.name && !main.needs.includes(needed)) main.needs.push(needed);
    for (const [key, value] of service.environment) if (!main.environment.has(key)) main.environment.set(key, value);
    apps.delete(own);
  }
}

/** Who names another, in what it needs or in a value, has a relationship to it. */
function addRelationships({ draft, apps, peers }: Translation) {
  const reaches = new Map<string, Set<string>>();
  for (const [own, service] of apps) {
    const app = draft.applications[nameFor(own)];
    if (!app) continue;
    const values = [...service.environment.values()].filter((value) => value !== undefined);
    const wanted = [...peers.keys()].filter(
      (other) => other !== own && (service.needs.includes(other) || values.some((value) => mentions(value, other))),
    );
    for (const other of wanted) {
      const name = nameFor(other);
      if (!draft.services[name] && !draft.applications[name]) continue;
      if (leadsTo(reaches, other, own)) {
        lose(
          draft,
          ['applications', nameFor(own)],
          `carried over: its way to ${other}, which has one to it; apps cannot need each other in a circle.`,
        );
        continue;
      }
      reaches.set(own, (reaches.get(own) ?? new Set()).add(other));
      app.relationships = { ...app.relationships, [name]: draft.services[name] ? { service: name } : { service: name, endpoint: 'http' } };
    }
  }
}

const mentions = (value: string, name: string) =>
  new RegExp(`(?<![\\w.-])${name.replaceAll(/[^\w-]/g, String.raw`\$&`)}(?![\\w-])`).test(value);

const leadsTo = (reaches: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean =>
  from === to || [...(reaches.get(from) ?? [])].some((next) => leadsTo(reaches, next, to));

function addVariables({ draft, apps, peers }: Translation) {
  for (const [own, service] of apps) {
    const name = nameFor(own);
    const app = draft.applications[name];
    if (!app) continue;
    const at = ['applications', name];
    const reached = Object.keys(app.relationships ?? {}).flatMap(
      (to) => [...peers.values()].find((peer) => nameFor(peer.name) === to) ?? [],
    );
    const port = service.port ?? peers.get(own)?.port;
    const told: string[] = [];
    for (const [key, value] of service.environment) {
      const isOwnPort = value !== undefined && value === port && /PORT/i.test(key);
      if (key === 'PORT') remark(draft, at, 'PORT is given by the platform.');
      else if (value === undefined) lose(draft, at, `carried over: the value of ${key}. Set it: ${commandToSet(key)}`);
      else {
        const assembled = isOwnPort ? '$PORT' : toldValue(key, value, reached);
        if (assembled === `$${key}`) continue;
        if (assembled !== undefined) told.push(`export ${key}="${assembled}"`);
        else app.variables = { env: { ...app.variables?.env, [key]: value } };
      }
    }
    for (const file of service.environmentFiles)
      lose(draft, at, `carried over: the variables in ${file}, which may be secret. Set each: ${commandToSet('NAME')}`);
    const root = app.source?.root.slice(1) ?? '';
    if (told.length > 0) {
      addTold(draft, app, told);
      remark(
        draft,
        at,
        `${told.map((line) => line.slice('export '.length).split('=', 1)[0]).join(', ')}: put together in ${root === '' ? '' : `${root}/`}.environment from what the platform tells.`,
      );
    }
  }
}

/** The first that was published answers at the address of the environment, each other one below its own name. */
function addRoutes({ draft, apps }: Translation) {
  const published = [...apps.values()].filter(({ isPublished, name }) => isPublished && draft.applications[nameFor(name)]);
  const shown = published.length > 0 ? published : [...apps.values()].filter(({ name }) => draft.applications[nameFor(name)]).slice(0, 1);
  for (const [index, { name }] of shown.entries()) {
    const address = index === 0 ? 'https://{default}/' : `https://${nameFor(name).replaceAll('_', '-')}.{default}/`;
    draft.routes[address] = { type: 'upstream', upstream: `${nameFor(name)}:http` };
  }
  if (shown.length > 1) remark(draft, ['routes'], 'Published ports became addresses of their own; nothing is reached by a port here.');
}
