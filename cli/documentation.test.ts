/** Documents are held to the program: what they name exists, what exists is in them, and what they show as an example works. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, settingNames } from '../server/config.ts';
import { catalogue, type CatalogueEntry, statusesOf } from '../server/catalogue/catalogue.ts';
import type { VersionStatus } from '../server/catalogue/entry.ts';
import { services } from '../server/catalogue/services.ts';
import { imagesOf } from '../server/rooms/builds/config/images.ts';
import { readConfiguration } from '../server/rooms/builds/config/read-configuration.ts';
import { treeOf } from '../server/rooms/builds/config/test-trees.ts';
import { usages } from './usage.ts';

const root = resolve(import.meta.dirname, '..');
/** Folders that are nobody's documents; `content` is what a template publishes. */
const others = new Set(['node_modules', 'data', 'content']);

interface Document {
  path: string;
  text: string;
}

const documents: Document[] = globSync('**/*.md', { cwd: root, exclude: (name) => others.has(name) })
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

const documentOf = (path: string) => documents.find((document) => document.path === path)?.text ?? '';

/** What fails is named with its document. */
const inEach = (find: (document: Document) => string[]) =>
  documents.flatMap((document) => find(document).map((found) => `${document.path}: ${found}`));

const blocksOf = ({ text }: Document, language: string) =>
  [...text.matchAll(new RegExp(`^ *\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms'))].map(([, block = '']) => block);

const withoutBlocks = (text: string) => text.replaceAll(/^ *```.*?^ *```$/gms, '');

/** As pages of Markdown name their headings. */
const anchorsOf = (text: string) =>
  new Set(
    [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );

describe('links', () => {
  const linksOf = ({ text }: Document) => [...withoutBlocks(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  const leadsNowhere = ({ path, text }: Document, link: string) => {
    const [target = '', anchor] = link.split('#');
    const file = target === '' ? join(root, path) : resolve(root, dirname(path), target);
    if (!existsSync(file)) return true;
    return anchor !== undefined && !anchorsOf(target === '' ? text : readFileSync(file, 'utf8')).has(anchor);
  };

  test('lead to what is there', () => {
    const inside = (document: Document) => linksOf(document).filter((link) => !/^[a-z]+:/.test(link));
    expect(documents.flatMap(inside).length).toBeGreaterThan(30);
    expect(inEach((document) => inside(document).filter((link) => leadsNowhere(document, link)))).toEqual([]);
  });

  test('from the list of documents reach every page of docs', () => {
    const list = { path: 'docs/README.md', text: documentOf('docs/README.md') };
    const listed = new Set(linksOf(list).map((link) => resolve(root, 'docs', link)));
    const pages = documents.filter(({ path }) => path.startsWith('docs/') && path !== list.path);
    expect(pages.filter(({ path }) => !listed.has(join(root, path))).map(({ path }) => path)).toEqual([]);
  });
});

describe('settings', () => {
  const page = documentOf('docs/operating/settings.md');
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (.+?) +\| (.+?) +\|$/gm)].map(([, name = '', byDefault = '']) => ({
    name,
    byDefault,
  }));

  test('that are named exist', () => {
    const named = ({ text }: Document) => [...text.matchAll(/OFFSHOOT_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    expect(inEach((document) => named(document).filter((name) => !settingNames.includes(name)))).toEqual([]);
  });

  test('are all in the page of settings, each once', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...settingNames].toSorted());
  });

  test('have the defaults that the page tells: to set one changes nothing', () => {
    // What stands for other settings, or for what is chosen at the start, cannot be set as it is written.
    const literal = rows.filter(({ byDefault }) => /^`[^`]+`$/.test(byDefault) && !/HOST|DOMAIN|DATA|\.\//.test(byDefault));
    expect(literal.length).toBeGreaterThan(10);
    const usual = readConfig({});
    for (const { name, byDefault } of literal)
      expect({ name, config: readConfig({ [name]: byDefault.slice(1, -1) }) }).toEqual({ name, config: usual });
  });
});

describe('commands', () => {
  /** What is written after ./offshoot up to the end of the code it stands in. */
  const commandsIn = ({ text }: Document) =>
    [...text.matchAll(/\.\/offshoot((?: [^\s`)#;&]+)*)/g)].map(([, words = '']) => words.trim().split(' ').filter(Boolean));
  const commandOf = ([first = '', second = '']: string[]) =>
    [`${first} ${second}`, first].find((name) => Object.hasOwn(usages, name)) ??
    families.find((family) => second === '' && family === first);
  /** `./offshoot backup` alone stands for all that begin with it. */
  const families = [...new Set(Object.keys(usages).map((name) => name.split(' ', 1)[0] ?? ''))];
  const isWrong = (words: string[]) => {
    const name = commandOf(words);
    if (name === undefined) return true;
    const flags = words.filter((word) => /^\[?--[a-z]/.test(word) && word !== name).map((word) => word.replaceAll(/[[\]]/g, ''));
    return flags.some((flag) => !(usages[name]?.[0] ?? '').includes(flag));
  };

  test('that are named exist, with the flags they are given', () => {
    const named = (document: Document) => commandsIn(document).filter((words) => words.length > 0);
    expect(documents.flatMap(named).length).toBeGreaterThan(50);
    expect(
      inEach((document) =>
        named(document)
          .filter(isWrong)
          .map((words) => words.join(' ')),
      ),
    ).toEqual([]);
  });

  test('are all in the page of commands', () => {
    const told = new Set(commandsIn({ path: '', text: documentOf('docs/operating/commands.md') }).map(commandOf));
    expect(Object.keys(usages).filter((name) => !told.has(name))).toEqual([]);
  });
});

describe('examples of configurations', () => {
  const options = { images: imagesOf(catalogue), scriptsByDefault: false, cronMinutesMin: 5 };
  const examples = documents
    .filter(({ path }) => path.startsWith('docs/'))
    .flatMap((document) => blocksOf(document, 'yaml').map((yaml) => ({ path: document.path, yaml })));

  test('are valid, without a warning', async () => {
    expect(examples.length).toBeGreaterThan(2);
    for (const { path, yaml } of examples) {
      const { errors, warnings } = await readConfiguration(treeOf({ '.upsun/config.yaml': yaml }), options);
      expect({ path, errors, warnings }).toEqual({ path, errors: undefined, warnings: [] });
    }
  });

  test('of every type of app and service are offered by the page of types, with what becomes of each version', () => {
    const rows = [...documentOf('docs/using/types.md').matchAll(/^\| (`.+) \|(.*)\|(.*)\|(.*)\|$/gm)].flatMap(
      ([, names = '', ...columns]) =>
        [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, columns.map((column) => column.trim())] as const),
    );
    const versions = (entry: CatalogueEntry, wanted: VersionStatus) =>
      statusesOf(entry).flatMap(([version, status]) => (status === wanted ? version : []));
    const offered = Object.entries(catalogue).map(
      ([name, entry]) =>
        [name, (['supported', 'deprecated', 'retired'] as const).map((status) => versions(entry, status).join(', '))] as const,
    );
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(offered));
    expect(Object.keys(services).filter((name) => !documentOf('docs/using/services.md').includes(`\`${name}\``))).toEqual([]);
  });
});

test('every page says what it is, and no line of it is left for later', () => {
  expect(inEach(({ text }) => (/^# \S/.test(text) ? [] : ['no title']))).toEqual([]);
  expect(inEach(({ text }) => [...text.matchAll(/\b(?:TODO|FIXME|TBD)\b/g)].map(([word]) => word))).toEqual([]);
});

test('the README fits on two screens', () => {
  expect(documentOf('README.md').split('\n').length).toBeLessThan(80);
});
