/**
 * `!include` and `!archive`: what they bring in is read before the file that names it is made into nodes. Paths lead from the app's source
 * root, or from the folder of the configuration, and never out of the repository.
 */
import { isMap, isScalar, isSeq, type Node as YamlNode } from 'yaml';
import { quoted, type Report } from './message.ts';
import { type Entry, mapAt, type Node, scalarAt, type SourceFile, type Spot } from './node.ts';
import { follow, type SourceTree } from './source-tree.ts';
import { nodeOf, parseFile } from './yaml-file.ts';

/** The most that all YAML of a configuration may have; the parser takes about a second for half of it. */
const yamlBytesMax = 2 * 2 ** 20;
/** The most that all files that are included as they are may have together. */
const includedBytesMax = 8 * 2 ** 20;
const includesMax = 500;
const includeDepthMax = 8;
const archiveFilesMax = 500;
/** Deeper than any configuration goes; `nodeOf` complains about those that do. */
const scanDepthMax = 60;

export interface Reading {
  tree: SourceTree;
  report: Report;
  /** What may still be read, over all files. */
  left: { yamlBytes: number; includedBytes: number; includes: number };
  /** Files that others include: parts, which need not be a configuration by themselves. */
  included: Set<string>;
}

export const openReading = (tree: SourceTree, report: Report): Reading => ({
  tree,
  report,
  left: { yamlBytes: yamlBytesMax, includedBytes: includedBytesMax, includes: includesMax },
  included: new Set(),
});

/** The folder that includes are relative to, for a value at a path of keys; undefined: the folder that counts for what surrounds the value. */
export type FolderOf = (path: readonly string[], node: YamlNode) => string | undefined;

interface Surroundings {
  /** The path of keys that leads to the included value in the whole configuration. */
  path: readonly string[];
  folder: string;
  folderOf: FolderOf;
  /** The files that include each other down to this one, to recognise circles. */
  via: readonly string[];
}

/** Undefined where the file cannot be read; that is reported, at the place that names the file if there is one. */
export async function readYaml(reading: Reading, file: string, around: Surroundings, namedAt?: Spot): Promise<Node | undefined> {
  const { tree, report, left } = reading;
  const bytes = await tree.read(file);
  const at = namedAt ?? { file: { path: file, lines: noLines }, offset: 0 };
  if (!bytes) {
    report.error(at, around.path.join('.'), `There is no file ${quoted(file)} in the repository.`);
    return undefined;
  }
  left.yamlBytes -= bytes.length;
  if (left.yamlBytes < 0) {
    report.error(at, around.path.join('.'), `Found more than ${yamlBytesMax} bytes of YAML in all files, expected fewer.`);
    return undefined;
  }
  const parsed = parseFile(file, bytes, report);
  if (!parsed) return undefined;
  const replacements = new Map<YamlNode, Node>();
  for (const tagged of taggedIn(parsed.contents, { ...around, via: [...around.via, file] }, 1)) {
    replacements.set(tagged.node, await fetched(reading, parsed.source, tagged));
  }
  return nodeOf(parsed, replacements, report);
}

const noLines = { linePos: () => ({ line: 1, col: 1 }) };

interface Tagged {
  node: YamlNode;
  around: Surroundings;
}

function* taggedIn(node: unknown, around: Surroundings, level: number): Generator<Tagged> {
  if (level > scanDepthMax || !(isMap(node) || isSeq(node) || isScalar(node))) return;
  if (node.tag === '!include' || node.tag === '!archive') {
    yield { node, around };
    return;
  }
  const here = { ...around, folder: around.folderOf(around.path, node) ?? around.folder };
  if (isMap(node)) {
    for (const { key, value } of node.items) {
      yield* taggedIn(value, { ...here, path: [...here.path, isScalar(key) ? String(key.value) : ''] }, level + 1);
    }
  } else if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) yield* taggedIn(item, { ...here, path: [...here.path, String(index)] }, level + 1);
  }
}

async function fetched(reading: Reading, source: SourceFile, { node, around }: Tagged): Promise<Node> {
  const { report, left } = reading;
  const at: Spot = { file: source, offset: node.range?.[0] ?? 0 };
  const nothing = (message?: string): Node => {
    if (message !== undefined) report.error(at, around.path.join('.'), message);
    return scalarAt(at, null, '');
  };
  const wish = wishOf(node);
  if (typeof wish === 'string') return nothing(wish);
  left.includes -= 1;
  if (left.includes < 0) return nothing(`Found more than ${includesMax} files that are included, expected fewer.`);
  const isArchive = node.tag === '!archive';
  const path = follow(isArchive ? source.path.split('/').slice(0, -1).join('/') : around.folder, wish.path);
  if (path === undefined) return nothing(`Found the path ${quoted(wish.path)}, expected one that stays in the repository.`);
  if (isArchive) return (await archived(reading, at, path)) ?? nothing(`There is no folder ${quoted(path)} in the repository.`);
  reading.included.add(path);
  if (wish.type === 'yaml') {
    if (around.via.includes(path)) return nothing(`Found a circle: ${[...around.via, path].join(' includes ')}.`);
    if (around.via.length > includeDepthMax)
      return nothing(`Found includes nested more than ${includeDepthMax} deep, expected fewer levels.`);
    return (await readYaml(reading, path, around, at)) ?? nothing();
  }
  const bytes = await reading.tree.read(path);
  if (!bytes) return nothing(`There is no file ${quoted(path)} in the repository.`);
  left.includedBytes -= bytes.length;
  if (left.includedBytes < 0) return nothing(tooMuch);
  return scalarAt(at, bytes.toString(wish.type === 'binary' ? 'base64' : 'utf8'));
}

const tooMuch = `Found more than ${includedBytesMax} bytes in files that are included, expected fewer.`;

const includeTypes = ['yaml', 'string', 'binary'] as const;

/** What an include asks for, or a sentence that says what is wrong with it. */
function wishOf(node: YamlNode): { path: string; type: (typeof includeTypes)[number] } | string {
  if (isScalar(node)) {
    return typeof node.value === 'string' && node.value !== ''
      ? { path: node.value, type: 'yaml' }
      : `Found ${node.tag} without a path, expected the path of a file.`;
  }
  const path = isMap(node) ? node.get('path') : undefined;
  const wanted = (isMap(node) ? node.get('type') : undefined) ?? 'yaml';
  const type = includeTypes.find((candidate) => candidate === wanted);
  if (node.tag === '!archive' || typeof path !== 'string' || path === '') {
    return `Found ${node.tag} without a path, expected ${node.tag === '!archive' ? 'the path of a folder' : 'a path, or a map with path and type'}.`;
  }
  return type ? { path, type } : `Found !include of the type ${quoted(JSON.stringify(wanted) ?? '')}, expected ${includeTypes.join(', ')}.`;
}

/** All files in a folder, in base64, by their paths in it. */
async function archived({ tree, report, left }: Reading, at: Spot, folder: string): Promise<Node | undefined> {
  const entries = new Map<string, Entry>();
  const folders = [folder];
  let entriesSeen = 0;
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const { path, kind } of await tree.list(next)) {
      entriesSeen += 1;
      if (kind === 'folder') folders.push(path);
      const bytes = (kind === 'file' ? await tree.read(path) : undefined) ?? Buffer.alloc(0);
      left.includedBytes -= bytes.length;
      if (left.includedBytes < 0 || entriesSeen > archiveFilesMax) {
        report.error(
          at,
          '',
          left.includedBytes < 0 ? tooMuch : `Found more than ${archiveFilesMax} files in ${quoted(folder)}, expected fewer.`,
        );
        return scalarAt(at, null, '');
      }
      const name = folder === '' ? path : path.slice(folder.length + 1);
      if (kind === 'file') entries.set(name, { at, node: scalarAt(at, bytes.toString('base64')) });
    }
  }
  return entriesSeen > 0 ? mapAt(at, entries) : undefined;
}
