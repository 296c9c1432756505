/**
 * Blobs with restic: a repository per project and place, one snapshot of it per backup, tagged with the backup's name.
 *
 * Several places are stored in one after the other, each from the folders themselves, so that none can hand its mistakes on. Reading back goes past
 * restic's cache, through the hash of every piece.
 */
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import { type Blobs, type Copy, Damage, type Part, type PlaceState, type Repaired, type Stored } from './blobs.ts';
import { beginAgain, bringBack } from './bring-back.ts';
import { problemOf } from './failures.ts';
import { inspectAt, surveyAt } from './inspect.ts';
import { openOwnership, type Ownership } from './ownership.ts';
import { openPlace, type BackupPlace, type Place } from './places.ts';
import { recentChanges } from './recent-changes.ts';
import { repairAt } from './repair.ts';
import { openRepositories, type Repositories } from './repositories.ts';
import { ResticFailure } from './restic.ts';
import { readSnapshots, readStoring, snapshotAmong, snapshotOf, type Snapshot } from './snapshots.ts';

export interface BlobsOptions {
  /** For locks, caches and scratch files. */
  folder: string;
  places: readonly BackupPlace[];
  secrets: Pick<Secrets, 'derived'>;
  attemptsMax?: number;
}

const attemptsMaxUsual = 9;
/** How many snapshots one command is given. */
const snapshotsAtOnce = 200;
const host = 'offshoot';

export function openBlobs({ folder, places: list, secrets, attemptsMax = attemptsMaxUsual }: BlobsOptions): Blobs {
  const places = list.map(openPlace);
  const repositories = openRepositories({ folder, attemptsMax }, secrets);
  const ownership = openOwnership(folder, secrets);
  const inspect: Blobs['inspect'] = async (repository, stored, signal) => {
    const copies: Copy[] = [];
    for (const place of places) copies.push(await inspectAt({ repositories, place, repository, signal }, stored));
    return copies;
  };
  return {
    async store(repository, backup, parts, { after, takenAt, progress, signal }) {
      refuseNames([repository, backup, ...parts.map(({ name }) => name)]);
      const { doubtfulFrom, staysDoubtful } = await recentChanges(parts, { takenAt, earlier: after?.doubtfulFrom, signal });
      const names = parts.map(({ name }) => name).toSorted();
      const stored: Stored = {
        backup,
        parts: names,
        places: {},
        bytes: 0,
        bytesAdded: 0,
        ...(doubtfulFrom !== undefined && { doubtfulFrom }),
      };
      const comparable = staysDoubtful ? undefined : after;
      // Where one place cannot be reached, nothing is begun in the others.
      for (const place of places) await repositories.ensure(place, repository, signal);
      for (const [index, place] of places.entries()) {
        const share = (done: number) => progress?.((index + done) / places.length);
        const result = await storeAt(repositories, place, repository, { backup, parts, after: comparable, progress: share, signal });
        stored.places[place.name] = result.id;
        stored.bytes = result.bytes;
        if (index === 0) stored.bytesAdded = result.bytesAdded;
      }
      return stored;
    },
    async verify(repository, stored, signal) {
      const copies = await inspect(repository, stored, signal);
      const failed = copies.find(({ state }) => state === 'damaged') ?? copies.find(({ state }) => state === 'unknown');
      if (failed) throw failed.problem;
    },
    inspect,
    async survey(repository, backups, signal) {
      const surveys: Map<string, Copy>[] = [];
      for (const place of places) surveys.push(await surveyAt({ repositories, place, repository, signal }, backups));
      return new Map(backups.map(({ backup }) => [backup, surveys.flatMap((copies) => copies.get(backup) ?? [])]));
    },
    async repair(repository, signal) {
      refuseNames([repository]);
      const repaired: Repaired[] = [];
      // A place that cannot be repaired is no reason to leave the others as they are.
      const failures: unknown[] = [];
      for (const place of places)
        await repairAt({ repositories, place, repository, signal }).then(
          (result) => void repaired.push(result),
          (error: unknown) => void failures.push(error),
        );
      if (failures.length > 0) throw failures[0];
      return repaired;
    },
    bringBack: (repository, backups, signal) => bringBack({ repositories, places, repository, signal }, backups),
    beginAgain: (repository, signal) => {
      refuseNames([repository]);
      return beginAgain({ repositories, places, repository, signal });
    },
    async restore(repository, stored, parts, signal) {
      refuseNames(parts.map(({ name }) => name));
      const missing = parts.find(({ name }) => !stored.parts.includes(name));
      if (missing) throw new Problem('conflict', `The backup ${stored.backup} has no ${missing.name}.`);
      const failures: Problem[] = [];
      for (const place of places) {
        try {
          return await restoreFrom(repositories, place, repository, stored, parts, signal);
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
          failures.push(error);
        }
      }
      // A place that could not be looked at may have it whole.
      throw failures.find((failure) => !(failure instanceof Damage)) ?? failures[0];
    },
    async forget(repository, backups, signal) {
      for (const place of places) await forgetAt(repositories, place, repository, backups, signal);
    },
    async list(repository) {
      const lists = await Promise.all(places.map((place) => snapshotsAt(repositories, place, repository)));
      return [...new Set(lists.flat().flatMap(({ tags }) => tags))].toSorted();
    },
    async removeRepository(repository) {
      refuseNames([repository]);
      for (const place of places) await repositories.remove(place, repository);
    },
    places: () => Promise.all(places.map((place) => stateOf(place, ownership))),
  };
}

function refuseNames(names: readonly string[]) {
  const wrong = names.find((name) => !/^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/.test(name));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a name for blobs`);
}

async function stateOf(place: Place, { look }: Ownership): Promise<PlaceState> {
  const usable = async () => {
    await place.tryOut();
    await look(place);
  };
  const problem = await usable().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return { name: place.name, address: place.name, problem };
}

interface Storing {
  backup: string;
  parts: readonly Part[];
  after: Stored | undefined;
  progress: (share: number) => void;
  signal: AbortSignal | undefined;
}

async function storeAt(repositories: Repositories, place: Place, repository: string, storing: Storing) {
  try {
    return await repositories.together(repository, storing.signal, () => storeBeside(repositories, place, repository, storing));
  } catch (error) {
    throw problemOf(error, 'store', place, storing.backup);
  }
}

async function storeBeside(repositories: Repositories, place: Place, repository: string, storing: Storing) {
  const { backup, parts, after, progress, signal } = storing;
  const there = await readSnapshots(repositories, place, repository, signal);
  const interrupted = there.findLast(({ tags }) => tags.includes(backup));
  const earlier = after && snapshotAmong(there, place, after);
  const parent = interrupted ?? earlier;
  const names = parts.map(({ name }) => name);
  const storeComparing = async (compared: readonly string[]) => {
    const args = ['backup', '--json', '--verbose=2', '--host', host, '--tag', backup, ...compared, '--', ...names];
    const result = readStoring(progress);
    await repositories.run({ place, repository, args, parts: { list: parts, access: 'ro' }, line: result.line, signal });
    return result.summary();
  };
  // Without this, restic would compare with any backup that has parts of the same names.
  const alone = ['--force'];
  const { shortId, bytes, bytesAdded } = await (parent
    ? storeComparing(['--parent', parent.id]).catch((error: unknown) => {
        // restic reports an earlier backup that lacks something in the same words as files that it cannot read.
        if (error instanceof ResticFailure && (error.kind === 'unread' || error.kind === 'damaged')) return storeComparing(alone);
        throw error;
      })
    : storeComparing(alone));
  const [file] = await place.names(repository, `snapshots/${shortId}`);
  if (file === undefined) throw new ResticFailure('damaged', `snapshot ${shortId} is not there`);
  const earlierBytes = interrupted ? await bytesOnlyOf(repositories, place, repository, backup, signal).catch(unlessDamaged) : 0;
  return { id: file.slice(file.lastIndexOf('/') + 1), bytes, bytesAdded: Math.max(bytesAdded, earlierBytes) };
}

/** Where another backup is damaged, this cannot be told; then only what this call added counts. */
function unlessDamaged(error: unknown): number {
  if (error instanceof ResticFailure && error.kind === 'damaged') return 0;
  throw error;
}

/** What would be freed without the backup: how much its first, interrupted call added. */
async function bytesOnlyOf(repositories: Repositories, place: Place, repository: string, backup: string, signal: AbortSignal | undefined) {
  const sizeOf = async (snapshots: readonly Snapshot[]) => {
    if (snapshots.length === 0) return 0;
    let bytes = 0;
    const line = (text: string) => {
      bytes = Number(/"total_size":(\d+)/.exec(text)?.[1] ?? 0);
    };
    const ids = snapshots.map(({ id }) => id);
    await repositories.run({ place, repository, args: ['stats', '--json', '--no-lock', '--mode', 'raw-data', '--', ...ids], line, signal });
    return bytes;
  };
  const all = await readSnapshots(repositories, place, repository, signal);
  return (await sizeOf(all)) - (await sizeOf(all.filter(({ tags }) => !tags.includes(backup))));
}

async function restoreFrom(
  repositories: Repositories,
  place: Place,
  repository: string,
  stored: Stored,
  parts: readonly Part[],
  signal: AbortSignal | undefined,
) {
  try {
    await repositories.ahead(repository, signal, async () => {
      const id = await snapshotOf(repositories, place, repository, stored, signal);
      const included = parts.flatMap(({ name }) => ['--include', `/${name}`]);
      const args = ['restore', '--no-lock', '--target', '.', ...included, '--', id];
      await repositories.run({ place, repository, args, parts: { list: parts, access: 'rw' }, isUrgent: true, signal });
    });
  } catch (error) {
    throw problemOf(error, 'restore', place, stored.backup);
  }
}

async function snapshotsAt(repositories: Repositories, place: Place, repository: string): Promise<Snapshot[]> {
  refuseNames([repository]);
  if (!(await repositories.exists(place, repository))) return repositories.refuseLost(place, repository).then(() => []);
  try {
    return await repositories.together(repository, undefined, () => readSnapshots(repositories, place, repository, undefined));
  } catch (error) {
    throw problemOf(error, 'list', place);
  }
}

async function forgetAt(
  repositories: Repositories,
  place: Place,
  repository: string,
  backups: readonly string[],
  signal: AbortSignal | undefined,
) {
  refuseNames([repository, ...backups]);
  if (!(await repositories.exists(place, repository))) return repositories.refuseLost(place, repository);
  try {
    await repositories.alone(repository, signal, async () => {
      await repositories.claim(place);
      const run = (args: readonly string[]) => repositories.run({ place, repository, args, signal });
      await run(['unlock', '--remove-all']);
      const there = await readSnapshots(repositories, place, repository, signal);
      const ids = there.filter(({ tags }) => tags.some((tag) => backups.includes(tag))).map(({ id }) => id);
      for (let from = 0; from < ids.length; from += snapshotsAtOnce)
        await run(['forget', '--', ...ids.slice(from, from + snapshotsAtOnce)]);
      await removeScratch(place, repository);
      // Pruned even where nothing was left to forget: an earlier call may have been interrupted here.
      await run(['prune', '--max-unused', '10%']).catch((error: unknown) => {
        if (!lacksSomething(error)) throw error;
      });
    });
  } catch (error) {
    throw problemOf(error, 'forget', place);
  }
}

/** Whether a backup that is kept lacks something: until that backup is forgotten, restic does not say what is unused. */
const lacksSomething = (error: unknown) =>
  error instanceof ResticFailure && /not found in (?:the )?(?:index|repository)|index is not complete/i.test(error.message);

/** What restic was writing when it was killed, and never looks at again; and what was damaged. */
async function removeScratch(place: Place, repository: string) {
  if (place.isFar) return;
  const names = await place.names(repository);
  const unfinished = names.filter((name) => /-tmp-\d+$/.test(name));
  await place.remove(repository, [...unfinished, ...(await place.asideNoLonger(repository))]);
}

export const blobsFolder = (data: string) => join(data, 'blobs');
