/** Templates, without running them: each has what whoever starts from it needs. `./offshoot test templates` runs them. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { catalogue, nameOfType } from '../server/catalogue/catalogue.ts';
import { imagesOf } from '../server/rooms/builds/config/images.ts';
import { readConfiguration } from '../server/rooms/builds/config/read-configuration.ts';
import { treeOf } from '../server/rooms/builds/config/test-trees.ts';
import { templates } from '../server/testing/templates.ts';

const folder = resolve(import.meta.dirname, '..', 'examples', 'templates');
const names = readdirSync(folder).toSorted();
const textOf = (name: string, file: string) => readFileSync(join(folder, name, file), 'utf8');

/** By type of app: the files of which one says what exactly is installed. */
const locks: Record<string, string[]> = {
  nodejs: ['package-lock.json'],
  python: ['requirements.txt', 'uv.lock'],
  golang: ['go.sum'],
  php: ['composer.lock'],
  ruby: ['Gemfile.lock'],
  // Maven has none; the parent names the version of everything.
  java: ['pom.xml'],
};

/** Where packages come from, as everybody reaches them. */
const registries = new Set(['registry.npmjs.org', 'pypi.org', 'files.pythonhosted.org', 'github.com', 'rubygems.org']);

test('the templates are those that are tried on real containers', () => {
  expect(names).toEqual(Object.keys(templates).toSorted());
  expect(names.length).toBeGreaterThanOrEqual(9);
});

test.for(names)('%s has a valid configuration without a warning, a README, and a lock that names public registries only', async (name) => {
  const options = { images: imagesOf(catalogue), scriptsByDefault: false, cronMinutesMin: 5 };
  const config = textOf(name, '.upsun/config.yaml');
  const { model, errors, warnings } = await readConfiguration(treeOf({ '.upsun/config.yaml': config }), options);
  expect({ errors, warnings }).toEqual({ errors: undefined, warnings: [] });
  expect(textOf(name, 'README.md')).toMatch(/^# \S/);
  const [app] = Object.values(model?.applications ?? {});
  const lock = locks[nameOfType(app?.type ?? '')]?.find((file) => existsSync(join(folder, name, file)));
  expect(lock).toBeDefined();
  const hosts = [
    ...textOf(name, lock ?? '').matchAll(/(?:"resolved": "|(?:url|registry) = "|registry\+|remote: )https?:\/\/([^/"]+)/g),
  ].map(([, host = '']) => host);
  expect(hosts.filter((host) => !registries.has(host))).toEqual([]);
});

test('nothing that a package manager or a compiler made is among them', () => {
  const made = globSync('**/{node_modules,vendor,target,.venv,__pycache__,_site,.next}', { cwd: folder });
  expect(made).toEqual([]);
});
