/** A second disk with what a machine would fetch otherwise: the packages of npm with Node itself, and the images of apps and services. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { layersFolder } from '../../server/drivers/images/layer-cache.ts';
import type { Image } from '../../server/drivers/images/images.ts';
import { openTestImages } from '../../server/testing/images.ts';
import { repository } from '../installation.ts';
import { formatDisk } from './format-disk.ts';
import { keptFolder } from './kept-folder.ts';

export const suppliesLabel = 'supplies';
/** Where machines have it. */
export const suppliesAt = '/srv/offshoot';
export const programAt = `${suppliesAt}/program`;
export const imagesAt = `${suppliesAt}/images`;

const run = promisify(execFile);
const copyMillisecondsMax = 600_000;
const diskBytes = 8 * 2 ** 30;
const keyCharacters = 12;
/** Of the guestbook. */
const imageTypes = ['php:8.4', 'postgresql:17'];

export async function suppliesDisk(): Promise<string> {
  const images = openTestImages();
  const built: Image[] = [];
  for (const type of imageTypes) built.push(await images.ensure(type));
  const essence = [readFileSync(join(repository, 'package-lock.json'), 'utf8'), built.map(({ hash }) => hash), diskBytes];
  const key = createHash('sha256').update(JSON.stringify(essence)).digest('hex').slice(0, keyCharacters);
  const folder = await keptFolder(`supplies-${key}`, async (scratch) => {
    const root = join(scratch, 'root');
    const layers = new Set(built.flatMap((image) => image.layers.map((layer) => dirname(layer))));
    await copy(join(repository, 'node_modules'), join(root, 'program', 'node_modules'));
    for (const layer of layers) await copy(layer, join(layersFolder(join(root, 'images')), basename(layer)));
    await formatDisk(root, join(scratch, 'disk'), { label: suppliesLabel, bytes: diskBytes });
    rmSync(root, { recursive: true });
  });
  return join(folder, 'disk');
}

/** With owners and all else that there is to a file, but without caches. */
async function copy(from: string, to: string) {
  mkdirSync(to, { recursive: true });
  const script =
    'tar -C "$1" --exclude=./.cache --exclude=./.vitest-cache --xattrs --xattrs-include="*" -cf - . | tar -C "$2" --xattrs --xattrs-include="*" -xpf -';
  await run('bash', ['-euo', 'pipefail', '-c', script, 'copy', from, to], { timeout: copyMillisecondsMax });
}
