/** A configuration in one file from the older form with several: `.platform.app.yaml` for each app, `.platform/services.yaml`, `.platform/routes.yaml`. Comments stay where they are. */
import { Document, isMap, isScalar, isSeq, parseDocument, Scalar, YAMLMap } from 'yaml';
import { Problem } from '../../server/kernel/problem.ts';
import type { SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import { nameOfType, versionOfType } from '../../server/catalogue/catalogue.ts';
import type { Remark } from './draft.ts';
import { offeredType } from './offered.ts';

export const olderApp = '.platform.app.yaml';
export const olderFolder = '.platform';

export interface Translated {
  yaml: string;
  remarks: Remark[];
  /** What the new file stands for, and has to go: a repository has one form of configuration. */
  replaces: string[];
}

export async function fromOlder(tree: SourceTree): Promise<Translated> {
  const remarks: Remark[] = [];
  const replaces: string[] = [];
  const sections: Record<string, YAMLMap> = { applications: new YAMLMap(), services: new YAMLMap(), routes: new YAMLMap() };
  const take = async (path: string) => {
    const text = (await tree.read(path))?.toString();
    if (text === undefined) return undefined;
    replaces.push(path);
    return contentsOf(path, text);
  };
  for (const path of await appFiles(tree, '')) {
    const app = await take(path);
    if (isMap(app)) addApp(sections, remarks, app, path.split('/').slice(0, -1).join('/'));
  }
  const apps = await take(`${olderFolder}/applications.yaml`);
  if (isSeq(apps)) for (const app of apps.items) if (isMap(app)) addApp(sections, remarks, app, '');
  if (isMap(apps)) for (const { key, value } of apps.items) if (isMap(value)) addNamed(sections, remarks, String(key), value, '');
  for (const name of ['services', 'routes'] as const) {
    const found = await take(`${olderFolder}/${name}.yaml`);
    if (isMap(found)) sections[name] = found;
  }
  for (const { key, value } of sections['services']?.items ?? []) if (isMap(value)) changeService(remarks, String(key), value);
  if ((sections['applications']?.items.length ?? 0) === 0)
    throw new Problem('invalid-request', `Neither ${olderApp} nor ${olderFolder}/applications.yaml names an app.`);
  const document = new Document();
  const whole = new YAMLMap();
  for (const [name, entries] of Object.entries(sections)) if (entries.items.length > 0) whole.add(document.createPair(name, entries));
  document.contents = whole as never;
  document.commentBefore = [
    ' Made from the older form of configuration, with several files.',
    ...remarks.map(({ at, text, isLoss }) => ` ${at.join('.')}: ${isLoss ? 'NOT ' : ''}${text}`),
  ].join('\n');
  return { yaml: document.toString({ lineWidth: 0 }), remarks, replaces };
}

function contentsOf(path: string, text: string): unknown {
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error) throw new Problem('invalid-request', `${path} is no YAML: ${error.message}`);
  return document.contents;
}

const foldersMax = 2000;

async function appFiles(tree: SourceTree, folder: string, left = { folders: foldersMax }): Promise<string[]> {
  left.folders -= 1;
  if (left.folders < 0) return [];
  const found: string[] = [];
  for (const { path, kind } of await tree.list(folder)) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (kind === 'file' && name === olderApp) found.push(path);
    if (kind === 'folder' && name !== 'node_modules' && name !== '.git') found.push(...(await appFiles(tree, path, left)));
  }
  return found;
}

function addApp(sections: Record<string, YAMLMap>, remarks: Remark[], app: YAMLMap, folder: string) {
  const name = app.get('name');
  if (typeof name !== 'string') throw new Problem('invalid-request', `An app in /${folder} has no name.`);
  app.delete('name');
  addNamed(sections, remarks, name, app, folder);
}

function addNamed(sections: Record<string, YAMLMap>, remarks: Remark[], name: string, app: YAMLMap, folder: string) {
  const at = ['applications', name];
  changeType(remarks, at, app);
  dropSizes(remarks, at, app);
  if (folder !== '' && !app.hasIn(['source', 'root'])) app.setIn(['source', 'root'], `/${folder}`);
  changeMounts(app.get('mounts'));
  const workers = app.get('workers');
  if (isMap(workers))
    for (const { key, value } of workers.items) {
      if (!isMap(value)) continue;
      dropSizes(remarks, [...at, 'workers', String(key)], value);
      changeMounts(value.get('mounts'));
    }
  changeCrons(app.get('crons'));
  changeOldWeb(remarks, at, app);
  sections['applications']?.add({ key: new Scalar(name), value: app });
}

/** A version that is not offered is replaced by the nearest, which is said. */
function changeType(remarks: Remark[], at: readonly string[], entry: YAMLMap) {
  const type = entry.get('type');
  if (typeof type !== 'string') return;
  const offered = offeredType(nameOfType(type), versionOfType(type) || undefined);
  if (!offered) {
    const text = `carried over: the type ${type} is not offered here. ./offshoot image list shows what there is.`;
    remarks.push({ at, text, isLoss: true });
  } else if (offered.type !== type) {
    entry.set('type', offered.type);
    if (offered.instead !== undefined) remarks.push({ at, text: offered.instead, isLoss: false });
  }
}

const sizeKeys = ['size', 'disk', 'resources'];

function dropSizes(remarks: Remark[], at: readonly string[], entry: YAMLMap) {
  const given = sizeKeys.filter((key) => entry.has(key));
  if (given.length === 0) return;
  const said = given.map((key) => `${key}: ${JSON.stringify(entry.toJSON()[key])}`).join(', ');
  for (const key of given) entry.delete(key);
  remarks.push({ at, text: `carried over: ${said}; sizes are set for each environment with \`upsun resources:set\`.`, isLoss: true });
}

/** `shared:files/uploads` and `source: local` are both storage that stays. */
function changeMounts(mounts: unknown) {
  if (!isMap(mounts)) return;
  for (const pair of mounts.items) {
    const { value } = pair;
    const short = isScalar(value) && typeof value.value === 'string' ? /^shared:files(?:\/(.*))?$/.exec(value.value) : undefined;
    if (short) pair.value = new Document({ source: 'storage', ...(short[1] && { source_path: short[1] }) }).contents;
    else if (isMap(value) && value.get('source') === 'local') value.set('source', 'storage');
    else if (isMap(value) && value.get('source') === 'temporary') value.set('source', 'tmp');
  }
}

/** `cmd` is what `commands.start` is now. */
function changeCrons(crons: unknown) {
  if (!isMap(crons)) return;
  for (const { value } of crons.items) {
    if (!isMap(value) || !value.has('cmd')) continue;
    const command = value.get('cmd', true);
    value.delete('cmd');
    value.setIn(['commands', 'start'], command);
  }
}

/** What the very first form had in the place of `locations`. */
function changeOldWeb(remarks: Remark[], at: readonly string[], app: YAMLMap) {
  const web = app.get('web');
  if (!isMap(web) || !web.has('document_root') || web.has('locations')) return;
  const root = String(web.get('document_root')).replace(/^\/+/, '');
  const passthru = web.get('passthru');
  const index = web.get('index_files', true);
  for (const key of ['document_root', 'passthru', 'index_files', 'expires', 'whitelist', 'blacklist']) {
    if (!web.has(key)) continue;
    if (key === 'whitelist' || key === 'blacklist')
      remarks.push({ at, text: `carried over: web.${key}; rules of web.locations say what may be read.`, isLoss: true });
    web.delete(key);
  }
  web.setIn(['locations', '/'], { root, ...(passthru !== undefined && { passthru }), scripts: true });
  if (index !== undefined) web.setIn(['locations', '/', 'index'], index);
}

function changeService(remarks: Remark[], name: string, service: YAMLMap) {
  const at = ['services', name];
  changeType(remarks, at, service);
  dropSizes(remarks, at, service);
}
