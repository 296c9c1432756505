/**
 * Where a configuration is found. Two families of files say the same: one folder whose files are taken together (`.upsun`, or our own
 * `.offshoot`), and the legacy files, one for each app, one for services, one for routes. A repository has one of them.
 */
import { isMap, type Node as YamlNode } from 'yaml';
import { type FolderOf, openReading, type Reading, readYaml } from './include.ts';
import { quoted, type Report } from './message.ts';
import { type Entry, isNull, mapAt, type Node, type Spot } from './node.ts';
import { unknownKey } from './shape.ts';
import { follow, type SourceEntry, type SourceTree } from './source-tree.ts';
import { kindOf } from './yaml-file.ts';

const sectionNames = ['applications', 'services', 'routes', 'tasks'] as const;
export type SectionName = (typeof sectionNames)[number];

export interface Sections extends Record<SectionName, Map<string, Found>> {
  isLegacy: boolean;
  /** The place that messages about the whole configuration point at. */
  at: Spot;
}

export interface Found extends Entry {
  /** The default of `source.root`. */
  root: string;
}

const folders = ['.upsun', '.offshoot'] as const;
const legacyFolder = '.platform';
const legacyAppFile = '.platform.app.yaml';
/** How many folders are searched for the files of legacy apps. */
const foldersSearchedMax = 2000;

/** Whether there is any configuration, right or wrong. */
export const isConfigured = async (tree: SourceTree): Promise<boolean> => (await familiesIn(tree)).length > 0;

const familiesIn = async (tree: SourceTree) => {
  const entries = await tree.list('');
  const has = (name: string, kind: SourceEntry['kind']) => entries.some((entry) => entry.path === name && entry.kind === kind);
  return [
    ...folders.filter((folder) => has(folder, 'folder')),
    ...(has(legacyFolder, 'folder') || has(legacyAppFile, 'file') ? [legacyFolder] : []),
  ];
};

/** Undefined where no configuration can be read; the reason is reported. */
export async function readSections(tree: SourceTree, report: Report): Promise<Sections | undefined> {
  const [family, second] = await familiesIn(tree);
  if (family === undefined) {
    report.error(spotIn(folders[0]), '', `Configuration directory '${folders[0]}' not found.`);
    return undefined;
  }
  if (second !== undefined) {
    report.error(spotIn(second), '', `Found configuration in both '${family}' and '${second}', expected it in one of them.`);
    return undefined;
  }
  const sections: Sections = {
    isLegacy: family === legacyFolder,
    at: spotIn(family),
    applications: new Map(),
    services: new Map(),
    routes: new Map(),
    tasks: new Map(),
  };
  await (sections.isLegacy ? readLegacy : readFolder)(openReading(tree, report), sections, family);
  return sections;
}

export const spotIn = (path: string): Spot => ({ file: { path, lines: { linePos: () => ({ line: 1, col: 1 }) } }, offset: 0 });

const yamlName = /\.ya?ml$/;
const byPath = (a: SourceEntry, b: SourceEntry) => (a.path < b.path ? -1 : 1);

async function readFolder(reading: Reading, sections: Sections, folder: string) {
  const { tree, report } = reading;
  const files = (await tree.list(folder)).filter(({ path, kind }) => kind === 'file' && yamlName.test(path)).toSorted(byPath);
  if (files[0]) sections.at = spotIn(files[0].path);
  const read: Node[] = [];
  for (const { path } of files) {
    const folderOf: FolderOf = ([section, name, ...deeper], node) =>
      (section === 'applications' || section === 'tasks') && name !== undefined && deeper.length === 0 ? rootOf(node, '') : undefined;
    const node = await readYaml(reading, path, { path: [], folder, folderOf, via: [] });
    if (node && !isNull(node)) read.push(node);
  }
  // Only now is it known which files are included by others.
  for (const node of read.filter((one) => !isOnlyPart(reading, one))) {
    if (node.kind === 'map') for (const [key, entry] of node.entries) addSection(sections, report, key, entry);
    else report.error(node.at, '', `Found ${kindOf(node)}, expected a map with ${sectionNames.join(', ')}.`);
  }
}

/** Whether a file is only a part of another one that includes it, and no configuration by itself. */
const isOnlyPart = ({ included }: Reading, node: Node) =>
  included.has(node.at.file.path) && !(node.kind === 'map' && sectionNames.some((name) => node.entries.has(name)));

function addSection(sections: Sections, report: Report, key: string, { at, node }: Entry) {
  const section = sectionNames.find((name) => name === key);
  if (!section) report.error(at, key, unknownKey(key, sectionNames));
  else if (node.kind === 'map') {
    for (const [name, entry] of node.entries) add(sections, report, section, name, { ...entry, root: '/' });
  } else if (!isNull(node)) report.error(node.at, key, `Found ${kindOf(node)}, expected a map of ${section} by name.`);
}

function add(sections: Sections, report: Report, section: SectionName, name: string, found: Found) {
  const earlier = sections[section].get(name);
  if (earlier) report.warn(found.at, `${section}.${name}`, `This replaces the whole of ${quoted(name)} in ${earlier.at.file.path}.`);
  sections[section].set(name, found);
}

/** The folder that an app's includes are relative to. It is taken from the YAML, because includes are read before the app is. */
function rootOf(node: YamlNode, otherwise: string): string {
  const source = isMap(node) ? node.get('source') : undefined;
  const root = isMap(source) ? source.get('root') : undefined;
  return (typeof root === 'string' ? follow('', root) : undefined) ?? otherwise;
}

async function readLegacy(reading: Reading, sections: Sections, folder: string) {
  const { report } = reading;
  for (const file of await legacyAppFiles(reading)) {
    const dir = file.split('/').slice(0, -1).join('/');
    const folderOf: FolderOf = (path, node) => (path.length === 0 ? rootOf(node, dir) : undefined);
    const node = await readYaml(reading, file, { path: [], folder: dir, folderOf, via: [] });
    if (node) addLegacyApp(sections, report, node, `/${dir}`);
  }
  await readLegacyApplications(reading, sections, folder);
  for (const section of ['services', 'routes'] as const) {
    const file = `${folder}/${section}.yaml`;
    if (!(await reading.tree.read(file))) continue;
    const node = await readYaml(reading, file, { path: [section], folder, folderOf: () => undefined, via: [] });
    if (node) addSection(sections, report, section, { at: node.at, node });
  }
}

async function readLegacyApplications(reading: Reading, sections: Sections, folder: string) {
  const { tree, report } = reading;
  const file = `${folder}/applications.yaml`;
  if (!(await tree.read(file))) return;
  const folderOf: FolderOf = (path, node) => (path.length === 1 ? rootOf(node, '') : undefined);
  const node = await readYaml(reading, file, { path: [], folder, folderOf, via: [] });
  if (node?.kind === 'map') addSection(sections, report, 'applications', { at: node.at, node });
  else if (node?.kind === 'list') for (const item of node.items) addLegacyApp(sections, report, item, '/');
  else if (node && !isNull(node)) report.error(node.at, '', `Found ${kindOf(node)}, expected a list or a map of applications.`);
}

/** Adds a legacy app, whose name is one of its keys. */
function addLegacyApp(sections: Sections, report: Report, node: Node, root: string) {
  if (node.kind !== 'map') {
    report.error(node.at, '', `Found ${kindOf(node)}, expected a map with the keys of an application.`);
    return;
  }
  const name = node.entries.get('name');
  if (name?.node.kind !== 'scalar' || name.node.value === null) {
    report.error(name?.node.at ?? node.at, 'name', `Found ${name ? kindOf(name.node) : 'no name'}, expected the name of the application.`);
    return;
  }
  const others = new Map(node.entries);
  others.delete('name');
  add(sections, report, 'applications', name.node.text, { at: name.at, node: mapAt(node.at, others, node.dotted), root });
}

async function legacyAppFiles({ tree, report }: Reading): Promise<string[]> {
  const files: string[] = [];
  const waiting = [''];
  let searched = 0;
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    searched += 1;
    if (searched > foldersSearchedMax) {
      report.warn(spotIn(legacyAppFile), '', `Looked for ${legacyAppFile} in ${foldersSearchedMax} folders only; there are more.`);
      break;
    }
    for (const { path, kind } of (await tree.list(folder)).toSorted(byPath)) {
      const name = path.slice(path.lastIndexOf('/') + 1);
      if (kind === 'folder' && name !== 'node_modules') waiting.push(path);
      if (kind === 'file' && name === legacyAppFile) files.push(path);
    }
  }
  return files;
}
