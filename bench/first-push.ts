/**
 * What the first push of a type costs on a machine without its image: the seconds until the image is there, and how much is fetched for all of its layers. Each type
 * is brought into an empty folder, one after the other, so nothing is shared. Types are arguments (`node bench/first-push.ts kafka:4.3`), those of the examples
 * without any. Needs root and the network; of a noisy machine or a slow mirror it tells more than of the program.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { catalogue, recipesOf } from '../server/catalogue/catalogue.ts';
import { exampleTypes } from '../server/catalogue/example-types.ts';
import { openImages } from '../server/drivers/images/cached-images.ts';
import { records } from '../server/drivers/images/layer-cache.ts';

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);

/** The sizes of packages as Debian's lists tell them, by name and version. */
function packageSizes(folder: string): Map<string, number> {
  const lists = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('_Packages'));
  const paragraphs = lists.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n\n'));
  const field = (paragraph: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1] ?? '';
  return new Map(
    paragraphs.map((paragraph) => [`${field(paragraph, 'Package')} ${field(paragraph, 'Version')}`, Number(field(paragraph, 'Size'))]),
  );
}

async function measure(type: string) {
  const folder = mkdtempSync(join(tmpdir(), 'first-push-'));
  try {
    const since = performance.now();
    const image = await openImages(folder, catalogue).ensure(type);
    const seconds = (performance.now() - since) / 1000;
    const sizes = packageSizes(join(folder, 'apt'));
    const wanted = records(folder).flatMap(({ packages = {} }) => Object.entries(packages).map(([name, version]) => `${name} ${version}`));
    const fetched = wanted.reduce((sum, each) => sum + (sizes.get(each) ?? 0), 0);
    const others = recipesOf(catalogue, type).some(
      ({ kind }) => kind === 'npm-packages' || kind === 'maven-jars' || kind === 'debian-apart',
    );
    console.log(
      `| \`${type}\` | ${seconds.toFixed(0)} | ${megabytes(fetched)}${others ? ' and others' : ''} | ${megabytes(image.bytes)} |`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

console.log('| Type | Seconds | MB of packages of Debian fetched | MB on disk |\n| --- | --- | --- | --- |');
const named = process.argv.slice(2);
for (const type of named.length > 0 ? named : exampleTypes) await measure(type);
