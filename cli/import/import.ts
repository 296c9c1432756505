/** `./offshoot import`: a configuration out of what a project was described by before. Nothing that it said gets lost without a word. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { catalogue } from '../../server/catalogue/catalogue.ts';
import { Problem } from '../../server/kernel/problem.ts';
import { imagesOf } from '../../server/rooms/builds/config/images.ts';
import { printMessages } from '../../server/rooms/builds/config/message.ts';
import { readConfiguration } from '../../server/rooms/builds/config/read-configuration.ts';
import type { SourceEntry, SourceTree } from '../../server/rooms/builds/config/source-tree.ts';
import { say } from '../say.ts';
import { composeFiles, fromCompose } from './compose.ts';
import { writtenDraft, type Draft, type Remark } from './draft.ts';
import { fromOlder, olderApp, olderFolder } from './older.ts';
import { fromProcfile } from './procfile.ts';

const configurationFile = '.upsun/config.yaml';
const environmentFile = '.environment';

export interface Imported {
  /** The file that it was made from. */
  origin: string;
  /** Files to write, by their path in the folder. */
  files: Record<string, string>;
  remarks: readonly Remark[];
  /** Files of the older form, which have to go. */
  replaces: readonly string[];
  /** What is still wrong with the result, and what is doubtful, as a push would say it; empty where nothing is. */
  mistakes: string;
  warnings: string;
}

export async function importHere([folder = '.']: string[]) {
  const root = resolve(folder);
  if (!existsSync(root) || !statSync(root).isDirectory()) throw new Problem('not-found', `There is no folder ${folder}.`);
  for (const name of ['.upsun', '.offshoot'])
    if (existsSync(join(root, name)))
      throw new Problem('conflict', `${folder} has a configuration, in ${name}. Move that away to make another one.`);
  const imported = await importConfiguration(treeOnDisk(root));
  const existing = Object.keys(imported.files).filter((path) => existsSync(join(root, path)));
  for (const path of existing) say(`${path} is there and stays as it is; add these lines to it:\n\n${imported.files[path]}`);
  for (const [path, text] of Object.entries(imported.files)) {
    if (existing.includes(path)) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { flag: 'wx' });
  }
  for (const line of report(imported, existing)) say(line);
}

/** Of the first form that is found. */
export async function importConfiguration(tree: SourceTree): Promise<Imported> {
  const names = new Set((await tree.list('')).map(({ path }) => path));
  const compose = composeFiles.find((name) => names.has(name));
  if (names.has(olderFolder) || names.has(olderApp)) {
    const { yaml, remarks, replaces } = await fromOlder(tree);
    return finished(tree, { origin: replaces.join(', '), files: { [configurationFile]: yaml }, remarks, replaces });
  }
  if (compose !== undefined) return ofDraft(tree, compose, await fromCompose(tree, compose));
  if (names.has('Procfile')) return ofDraft(tree, names.has('app.json') ? 'Procfile and app.json' : 'Procfile', await fromProcfile(tree));
  throw new Problem(
    'not-found',
    `Found none of ${[...composeFiles, 'Procfile', olderApp].join(', ')}. A repository without any of them may need nothing: push it, and the log says what was recognised.`,
  );
}

const ofDraft = (tree: SourceTree, origin: string, draft: Draft) =>
  finished(tree, {
    origin,
    files: {
      [configurationFile]: writtenDraft(draft, origin),
      ...Object.fromEntries(
        Object.entries(draft.environmentFiles).map(([folder, lines]) => [
          join(folder, environmentFile),
          ['# Read before each process of the app; the platform tells where services are.', ...lines, ''].join('\n'),
        ]),
      ),
    },
    remarks: draft.remarks,
    replaces: [],
  });

/** The result is read as a push would read it. */
async function finished(tree: SourceTree, made: Omit<Imported, 'mistakes' | 'warnings'>): Promise<Imported> {
  const options = { images: imagesOf(catalogue), scriptsByDefault: true, cronMinutesMin: 1 };
  const { errors, warnings } = await readConfiguration(withFiles(tree, made), options);
  return { ...made, mistakes: printMessages({ errors, warnings: [] }), warnings: printMessages({ warnings }) };
}

const withFiles = (tree: SourceTree, { files, replaces }: Pick<Imported, 'files' | 'replaces'>): SourceTree => ({
  list: async (folder) => {
    if (folder === dirname(configurationFile)) return [{ path: configurationFile, kind: 'file' }];
    const there = (await tree.list(folder)).filter(({ path }) => !replaces.includes(path) && path !== olderFolder);
    return folder === '' ? [...there, { path: dirname(configurationFile), kind: 'folder' }] : there;
  },
  read: (path) => {
    const made = files[path];
    return made === undefined ? tree.read(path) : Promise.resolve(Buffer.from(made));
  },
});

function report({ origin, files, remarks, replaces, mistakes, warnings }: Imported, existing: readonly string[]): string[] {
  const losses = remarks.filter(({ isLoss }) => isLoss);
  const written = Object.keys(files).filter((path) => !existing.includes(path));
  return [
    `Made ${written.join(' and ')} from ${origin}.`,
    ...(losses.length === 0
      ? ['Everything was carried over.']
      : [
          'Not carried over, and in the file as comments:',
          ...losses.map(({ at, text }) => `  ${[...at.slice(1, 2), text.replace(/^carried over:? ?/, '')].join(': ')}`),
        ]),
    ...(replaces.length === 0 ? [] : [`A repository has one form of configuration; remove the older one: git rm ${replaces.join(' ')}`]),
    ...(warnings === '' ? [] : [warnings.trimEnd()]),
    ...(mistakes === ''
      ? ['It is a valid configuration. Read it, commit it and push.']
      : [`Before it can be pushed:\n${mistakes.trimEnd()}`]),
    'Then bring the data: docs/using/import.md tells how.',
  ];
}

const fileBytesMax = 1024 * 1024;

function treeOnDisk(root: string): SourceTree {
  const kindOf = (entry: { isFile(): boolean; isDirectory(): boolean }): SourceEntry['kind'] =>
    entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other';
  return {
    list: (folder) => {
      const path = join(root, folder);
      if (!existsSync(path) || !statSync(path).isDirectory()) return Promise.resolve([]);
      const entries = readdirSync(path, { withFileTypes: true });
      return Promise.resolve(entries.map((entry) => ({ path: relative(root, join(path, entry.name)), kind: kindOf(entry) })));
    },
    read: (file) => {
      const path = join(root, file);
      if (!existsSync(path)) return Promise.resolve(undefined);
      const { size } = statSync(path);
      return Promise.resolve(statSync(path).isFile() && size <= fileBytesMax ? readFileSync(path) : undefined);
    },
  };
}
