/** Repositories for tests: files by path. */
import { Value } from 'typebox/value';
import { flawOf } from '../../../kernel/stored-json.ts';
import { catalogue, entryOf } from '../../../catalogue/catalogue.ts';
import type { Image } from './images.ts';
import { ProjectModelSchema } from './model-schema.ts';
import { type ConfigurationOptions, readConfiguration } from './read-configuration.ts';
import type { SourceEntry, SourceTree } from './source-tree.ts';

export type Files = Readonly<Record<string, string>>;

export const treeOf = (files: Files): SourceTree => ({
  list: (folder) => {
    const found = new Map<string, SourceEntry>();
    const prefix = folder === '' ? '' : `${folder}/`;
    for (const path of Object.keys(files).filter((one) => one.startsWith(prefix))) {
      const [first = '', ...more] = path.slice(prefix.length).split('/');
      found.set(first, { path: `${prefix}${first}`, kind: more.length > 0 ? 'folder' : 'file' });
    }
    return Promise.resolve([...found.values()]);
  },
  read: (path) => Promise.resolve(Object.hasOwn(files, path) ? Buffer.from(files[path] ?? '') : undefined),
});

const runtimes = ['nodejs:26', 'nodejs:24', 'nodejs:22', 'php:8.2', 'python:3.11', 'ruby:3.1', 'golang:1.23', 'static:1'];
const services = [
  'postgresql:17',
  'postgresql:16',
  'mariadb:10.11',
  'mysql:10.11',
  'redis:7.0',
  'redis-persistent:7.0',
  'memcached:1.6',
  'rabbitmq:3.10',
];
const extensions = { builtIn: ['json'], usual: ['pdo', 'redis'], others: ['imagick', 'blackfire'], env: () => ({}) };
/** Not the whole catalogue, which grows, and messages name what there is. */
export const images: Image[] = [...runtimes, ...services].map((type) => {
  const { runtime, service } = entryOf(catalogue, type).entry;
  const chosen = runtime?.extensions ? { ...runtime, extensions: () => extensions } : runtime;
  return { type, ...(chosen && { runtime: chosen }), ...(service && { service }) };
});
export const options: ConfigurationOptions = { images, scriptsByDefault: true, cronMinutesMin: 5 };

/** Whatever the language makes of files, a backup of it is understood elsewhere. */
export async function read(files: Files) {
  const configuration = await readConfiguration(treeOf(files), options);
  const written: unknown = JSON.parse(JSON.stringify(configuration.model ?? null));
  if (written !== null && !Value.Check(ProjectModelSchema, written)) throw new Error(flawOf(ProjectModelSchema, written));
  return configuration;
}
export const readText = (yaml: string, files: Files = {}) => read({ '.upsun/config.yaml': yaml, ...files });

/** The model; what was wrong with it fails the test. */
export async function modelOf(files: Files) {
  const { model, errors } = await read(files);
  if (!model) throw new Error(JSON.stringify(errors, undefined, 2));
  return model;
}

/** `line:column path: message`, of files other than the usual one with their name in front. */
export const said = (messages: Awaited<ReturnType<typeof read>>['warnings'] = []) =>
  messages.map(
    ({ file, line, column, path, message }) => `${file === '.upsun/config.yaml' ? '' : `${file}:`}${line}:${column} ${path}: ${message}`,
  );

/** An application that is right. */
export const app = `applications:
  app:
    type: nodejs:22
    web: {commands: {start: node server.js}}
`;
/** The same with more lines in it, and more below it. */
export const inApp = (lines: string, more = '') => `${app}${lines.replaceAll(/^(?=.)/gm, '    ')}\n${more}`;
