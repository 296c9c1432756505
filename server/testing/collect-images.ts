/** After all tests: the images that they share do not pile up, whoever's clone needed them; what a killed run left beside them goes, too. */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canRunContainers, isOwnImagesFolder, openTestImages, testImagesFolder } from './images.ts';

/** Twice what a run needs, so that two branches with different recipes do not take turns. */
const limits = { ageSecondsMax: 14 * 86_400, bytesMax: 12e9 };
const leftMilliseconds = 86_400_000;

export default function setup() {
  // A folder that somebody named may be that of an installation, which alone knows what it needs.
  if (!isOwnImagesFolder || !canRunContainers) return undefined;
  return async () => {
    await openTestImages().collect(limits);
    for (const folder of foldersLeft()) rmSync(folder, { recursive: true, force: true });
  };
}

/** Folders that tests make beside the images, to have layers as links. No test takes a day. */
const foldersLeft = () =>
  readdirSync(dirname(testImagesFolder))
    .filter((name) => name.startsWith(`${basename(testImagesFolder)}-test-`))
    .map((name) => join(dirname(testImagesFolder), name))
    .filter((folder) => Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > leftMilliseconds);
