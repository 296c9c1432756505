/**
 * What one place lost comes back from another that has it whole: restic copies the pieces that are missing, and looks at the hash of each. It is done backup by
 * backup, as places cut what they keep into different pieces; and all of a place that got something is read once more.
 *
 * It bears being interrupted: what was not copied to its end is no backup, and is copied by the next call.
 */
import type { BroughtBack, Copy, Stored } from './blobs.ts';
import { problemOf } from './failures.ts';
import { surveyAt } from './inspect.ts';
import { haveSameWayIn, type Place } from './places.ts';
import { repairAt } from './repair.ts';
import type { Repositories } from './repositories.ts';
import { readSnapshots, snapshotAmong } from './snapshots.ts';

interface Healing {
  repositories: Repositories;
  places: readonly Place[];
  repository: string;
  signal: AbortSignal | undefined;
}

export async function bringBack(healing: Healing, backups: readonly Stored[]): Promise<BroughtBack[]> {
  const { places, repositories, repository, signal } = healing;
  const surveyOf = (place: Place, list: readonly Stored[]) => surveyAt({ repositories, place, repository, signal }, list);
  const surveys = new Map<Place, Map<string, Copy>>();
  for (const place of places) surveys.set(place, await surveyOf(place, backups));
  const isAt = (place: Place, { backup }: Stored, state: Copy['state']) => surveys.get(place)?.get(backup)?.state === state;
  const results: BroughtBack[] = [];
  for (const to of places) {
    let lacking = backups.filter((stored) => isAt(to, stored, 'damaged'));
    const copied: Stored[] = [];
    for (const from of places) {
      const found = lacking.filter((stored) => isAt(from, stored, 'whole'));
      if (found.length === 0) continue;
      await copyTo(healing, from, to, found);
      copied.push(...found);
      lacking = lacking.filter((stored) => !found.includes(stored));
    }
    if (copied.length === 0) continue;
    await repairAt({ repositories, place: to, repository, signal });
    const whole = [...(await surveyOf(to, copied))].filter(([, { state }]) => state === 'whole');
    results.push({ place: to.name, backups: whole.map(([backup]) => backup) });
  }
  return results;
}

async function copyTo(healing: Healing, from: Place, to: Place, backups: readonly Stored[]): Promise<void> {
  const { repositories, repository, signal } = healing;
  try {
    await repositories.claim(to);
    await repositories.together(repository, signal, () =>
      haveSameWayIn(from, to) ? copyBeside(healing, from, to, backups) : copyByWayOf(healing, from, to, backups),
    );
  } catch (error) {
    throw problemOf(error, 'repair', to);
  }
}

async function copyBeside({ repositories, repository, signal }: Healing, from: Place, to: Place, backups: readonly Stored[]) {
  const there = await readSnapshots(repositories, from, repository, signal);
  const here = await readSnapshots(repositories, to, repository, signal);
  // Some of the backups may have been removed meanwhile.
  const found = backups.flatMap((stored) => snapshotAmong(there, from, stored) ?? []);
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return;
  // restic does not copy what it takes for the same snapshot, even if that lacks something.
  const replaced = new Set(found.flatMap(({ tags }) => tags));
  for (const { id, tags } of here) if (tags.some((tag) => replaced.has(tag))) await to.setAside(repository, `snapshots/${id}`);
  await repositories.run({ place: to, from, repository, args: ['copy', '--no-lock', '--', ...ids], withoutCache: true, signal });
}

/** Copies by way of a folder of ours, which has to have room for it. */
const copyByWayOf = (healing: Healing, from: Place, to: Place, backups: readonly Stored[]): Promise<void> =>
  healing.repositories.inPassing(healing.repository, from, healing.signal, async (between) => {
    await copyBeside(healing, from, between, backups);
    await copyBeside(healing, between, to, backups);
  });

export async function beginAgain({ repositories, places, repository, signal }: Healing): Promise<string[]> {
  const begun: string[] = [];
  const isThere = (place: Place) => repositories.exists(place, repository);
  for (const place of places) {
    if (await isThere(place)) continue;
    for (const other of places) {
      if (other === place || !(await isThere(other))) continue;
      // A place that cannot be read has nothing to give.
      await repositories.together(repository, signal, () => readSnapshots(repositories, other, repository, signal));
      await repositories.beginLike(place, repository, other, signal);
      begun.push(place.name);
      break;
    }
  }
  return begun;
}
