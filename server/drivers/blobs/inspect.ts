/**
 * Whether a backup is whole where it is stored. What is said to be damaged is: a place that does not answer, does not let us in, or is not the one that it was
 * (a disk that is not mounted) is told apart, and what a bad connection looks like, too, is looked at twice.
 */
import { Problem } from '../../kernel/problem.ts';
import { type Copy, Damage, type Stored } from './blobs.ts';
import { problemOf } from './failures.ts';
import type { Place } from './places.ts';
import type { Repositories } from './repositories.ts';
import { lookAtKeys } from './restic-key.ts';
import { type FailureKind, ResticFailure } from './restic.ts';
import { idAmong, readSnapshots, snapshotOf } from './snapshots.ts';

interface Inspecting {
  repositories: Repositories;
  place: Place;
  repository: string;
  signal: AbortSignal | undefined;
}

/** Reads all of the backup, past restic's cache. */
export async function inspectAt(inspecting: Inspecting, stored: Stored): Promise<Copy> {
  const { place } = inspecting;
  const once = () => copyOf(inspecting, stored, () => readAll(inspecting, stored));
  const copy = await once();
  // A file that a lost connection cut short looks like one that the store cut short.
  const isDoubtful = copy.state === 'damaged' && place.isFar && /EOF|timeout/i.test(copy.problem?.internal ?? '');
  return isDoubtful ? once() : copy;
}

async function readAll({ repositories, place, repository, signal }: Inspecting, stored: Stored): Promise<Pick<Copy, 'id'>> {
  const id = await snapshotOf(repositories, place, repository, stored, signal);
  const read = (...args: readonly string[]) => repositories.run({ place, repository, args, withoutCache: true, signal });
  // A folder whose list of files is damaged would be left out by `dump`, which then ends well.
  await read('ls', '--no-lock', '--', id);
  await read('dump', '--no-lock', '--archive', 'tar', '--', id, '/');
  return { id };
}

async function copyOf(
  { repositories, place, repository, signal }: Inspecting,
  stored: Stored,
  work: () => Promise<Pick<Copy, 'id'>>,
): Promise<Copy> {
  try {
    return { place: place.name, state: 'whole', ...(await repositories.together(repository, signal, work)) };
  } catch (error) {
    const problem = problemOf(await unopened(error, place, repository), 'verify', place, stored.backup);
    if (!(problem instanceof Problem)) throw problem;
    return { place: place.name, state: problem instanceof Damage ? 'damaged' : 'unknown', problem };
  }
}

/** What restic says of a key that is no key any more depends on where it is damaged. */
const unopenedKinds: ReadonlySet<FailureKind> = new Set(['not-open', 'wrong-password', 'other']);

/**
 * A repository without the files that open it cannot be read any more. Where there is neither of them it may be on a disk that is not there, and where the keys are
 * sound it may be our password that is not.
 */
async function unopened(failure: unknown, place: Place, repository: string): Promise<unknown> {
  if (!(failure instanceof ResticFailure) || !unopenedKinds.has(failure.kind)) return failure;
  const keys = await lookAtKeys(place, repository).catch(() => undefined);
  const isDamaged = keys && (failure.kind === 'not-open' ? keys.names.length > 0 : keys.sound.length === 0);
  return isDamaged ? new ResticFailure('damaged', failure.message) : failure;
}

/** Takes one command, where nothing is missing. */
export async function surveyAt(inspecting: Inspecting, backups: readonly Stored[]): Promise<Map<string, Copy>> {
  const { repositories, place, repository, signal } = inspecting;
  const countPieces = async (list: readonly Stored[]) => {
    const there = await readSnapshots(repositories, place, repository, signal);
    const ids = list.map((stored) => idAmong(there, place, stored));
    // `restic stats` looks each piece up in the index, and fails where one is not there.
    const args = ['stats', '--no-lock', '--mode', 'raw-data', '--', ...ids];
    await repositories.run({ place, repository, args, withoutCache: true, signal });
    return {};
  };
  const [first, ...others] = backups;
  if (!first) return new Map();
  const together = await copyOf(inspecting, first, () => countPieces(backups));
  if (together.state !== 'damaged' || others.length === 0) return new Map(backups.map(({ backup }) => [backup, together]));
  const copies = new Map<string, Copy>();
  for (const stored of backups) copies.set(stored.backup, await copyOf(inspecting, stored, () => countPieces([stored])));
  return copies;
}
