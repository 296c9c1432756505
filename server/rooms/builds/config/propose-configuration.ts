/**
 * A configuration for a repository that has none, from what is in it. What comes out is written and read like any other, so that people can keep
 * the text and go on from there.
 */
import { stringify } from 'yaml';
import { nameOfType, versionOfType } from '../../../catalogue/catalogue.ts';
import { isForServices } from './images.ts';
import type { ProjectModel } from './model.ts';
import { type ConfigurationOptions, readConfiguration } from './read-configuration.ts';
import { recognisers } from './recognise.ts';
import type { SourceTree } from './source-tree.ts';

export interface Proposal {
  /** What was recognised, in words for the log: `Node.js`. */
  recognised: string;
  /** The file by which it was recognised: `package.json`. */
  because: string;
  model: ProjectModel;
  /** The path of the file that would hold the text. */
  file: string;
  yaml: string;
}

const file = '.upsun/config.yaml';

/** Undefined where nothing is recognised, or where there is no image for what is recognised. */
export async function proposeConfiguration(tree: SourceTree, options: ConfigurationOptions): Promise<Proposal | undefined> {
  const entries = await tree.list('');
  const names = new Set(entries.map(({ path }) => path));
  const versionsOf = (name: string) =>
    options.images
      .filter((image) => !isForServices(image) && !image.isDeprecated && nameOfType(image.type) === name)
      .map(({ type }) => versionOfType(type))
      .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  for (const { name, label, recognise } of recognisers) {
    const versions = versionsOf(name);
    const found = versions.length > 0 ? await recognise({ tree, names, versions }) : undefined;
    if (!found) continue;
    const { because, version = versions[0] ?? '', ...app } = found;
    const yaml = stringify({ applications: { app: { type: `${name}:${version}`, ...app } } }, { lineWidth: 0 });
    const { model } = await readConfiguration(withFile(tree, yaml), options);
    if (model) return { recognised: label, because, model, file, yaml };
  }
  return undefined;
}

const withFile = (tree: SourceTree, yaml: string): SourceTree => ({
  list: async (folder) => {
    if (folder === '.upsun') return [{ path: file, kind: 'file' }];
    const entries = await tree.list(folder);
    return folder === '' ? [...entries, { path: '.upsun', kind: 'folder' }] : entries;
  },
  read: (path) => (path === file ? Promise.resolve(Buffer.from(yaml)) : tree.read(path)),
});
