/**
 * restic's repositories: who may use one at the same time, with which key, and how one comes to be.
 *
 * Our own locks decide who uses a repository, among all processes of the installation. They end with their process; restic's, which do not, can be
 * removed by whoever is alone.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import { withFileLock, withSharedFileLock } from '../file-lock.ts';
import { beginRepository } from './begin-repository.ts';
import { problemOf } from './failures.ts';
import { openKnownRepositories } from './known-repositories.ts';
import { openOwnership, type Ownership } from './ownership.ts';
import { openPlace, type Place } from './places.ts';
import { writeKey } from './restic-key.ts';
import { type Call, type Restic, ResticFailure, runRestic } from './restic.ts';

export interface Repositories {
  /** Works with the repository beside others who use it. */
  together<T>(repository: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** Like `together`, but before those who want to be alone with it, because a person waits for it. */
  ahead<T>(repository: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** Works with the repository when nobody else uses it. */
  alone<T>(repository: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** Throws a Problem where the place cannot be reached. */
  exists(place: Place, repository: string): Promise<boolean>;
  /** For a repository that is not there: throws a Problem where it once was, or where nothing is left of what the place had. */
  refuseLost(place: Place, repository: string): Promise<void>;
  /** Makes sure that the place is ours, before something in it is changed. */
  claim: Ownership['claim'];
  /** Makes the repository where there is none, in a place that is ours. */
  ensure(place: Place, repository: string, signal?: AbortSignal): Promise<void>;
  /** Like `ensure`, but even where the repository once was; and files are cut into the same pieces as at another place, so that what is copied from there is not stored twice. */
  beginLike(place: Place, repository: string, other: Place, signal: AbortSignal | undefined): Promise<void>;
  /** Works with an empty repository of the same kind in a temporary place of our own. Only one works at a time, so that what a kill leaves is found by the next. */
  inPassing(repository: string, other: Place, signal: AbortSignal | undefined, work: (place: Place) => Promise<void>): Promise<void>;
  /** Removes the repository with all that is in it. */
  remove(place: Place, repository: string): Promise<void>;
  /** One command of restic, with the key that opens the repository. */
  run(call: Omit<Call, 'password'>): Promise<void>;
  /** The key that all of the repository is encrypted with. */
  masterKey(place: Place, repository: string, signal: AbortSignal | undefined): Promise<string>;
}

export function openRepositories(restic: Restic, secrets: Pick<Secrets, 'derived'>): Repositories {
  const passwordsOf = (repository: string) => secrets.derived(`blobs ${repository}`);
  const { together, ahead, alone } = openLocks(join(restic.folder, 'locks'));
  const exists = async (place: Place, repository: string) => (await place.names(repository, 'config')).length > 0;

  const { begin, letIn } = openKeys(restic, passwordsOf);
  const run: Repositories['run'] = async (call) => {
    const [password] = passwordsOf(call.repository);
    const where = { place: call.place, repository: call.repository, signal: call.signal };
    try {
      await runRestic(restic, { ...call, password });
    } catch (error) {
      // A process that is alive would hold our own lock: restic's lock was left by one that was killed.
      if (isOfKind(error, 'locked')) await runRestic(restic, { ...where, password, args: ['unlock'] });
      else if (!isOfKind(error, 'wrong-password') || !(await letIn(where))) throw error;
      await runRestic(restic, { ...call, password });
    }
  };
  const known = openKnownRepositories(join(restic.folder, 'known'));
  const refuseLost: Repositories['refuseLost'] = (place, repository) =>
    known.refuseLost(place, repository, (other) => exists(place, other));
  const { claim } = openOwnership(restic.folder, secrets);
  const beginAt = async (place: Place, repository: string, signal: AbortSignal | undefined, other?: Place) => {
    await alone(repository, signal, async () => {
      const left = await place.names(repository);
      if (left.includes('config')) return;
      const data = left.find((name) => /^(?:data|snapshots|index)\//.test(name));
      if (data !== undefined)
        throw new Problem(
          'unavailable',
          `The backups at ${place.name} lost the file that describes them; restore ${repository}/config there, or ${fillAgain(place, repository)}`,
        );
      // A key without the rest is what an interrupted beginning left, and would be tried later instead of the right one.
      await place.remove(repository, left);
      await begin({ place, repository, signal }, other).catch((error: unknown) => Promise.reject(problemOf(error, 'store', place)));
    });
    await known.note(place, repository);
  };
  const ensure: Repositories['ensure'] = async (place, repository, signal) => {
    const isThere = await exists(place, repository);
    if (!isThere) await refuseLost(place, repository);
    await claim(place);
    await (isThere ? known.note(place, repository) : beginAt(place, repository, signal));
  };
  const beginLike: Repositories['beginLike'] = async (place, repository, other, signal) => {
    await known.refuseWithoutDisk(place);
    await claim(place);
    await beginAt(place, repository, signal, other);
  };
  const inPassing: Repositories['inPassing'] = async (repository, other, signal = never, work) => {
    const folder = join(restic.folder, 'passing');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await withFileLock(join(folder, 'lock'), signal, async () => {
      const place = openPlace({ kind: 'folder', folder: join(folder, 'place') });
      await place.removeAll('');
      try {
        await begin({ place, repository, signal }, other);
        await work(place);
      } finally {
        await place.removeAll('');
      }
    });
  };
  const remove: Repositories['remove'] = (place, repository) =>
    alone(repository, undefined, async () => {
      if (!(await exists(place, repository))) await refuseLost(place, repository);
      await claim(place);
      await known.forget(place, repository);
      await place.removeAll(repository);
    });
  const masterKey: Repositories['masterKey'] = (place, repository, signal) => masterKeyBy(run, { place, repository, signal });
  return { together, ahead, alone, exists, refuseLost, claim, ensure, beginLike, inPassing, remove, run, masterKey };
}

/** What an operator can do where another place has the same backups. */
export const fillAgain = (place: Place, repository: string) =>
  `remove ${place.name}/${repository}: ./offshoot backup repair fills it again, where another place has the same.`;

type Where = Pick<Call, 'place' | 'repository' | 'signal'>;

function openKeys(restic: Restic, passwordsOf: (repository: string) => [string, ...string[]]) {
  const masterKeyWith = (password: string, where: Where) => masterKeyBy((call) => runRestic(restic, { ...call, password }), where);
  const polynomialOf = async (where: Where, password: string): Promise<string> => {
    const told = await toldBy((call) => runRestic(restic, { ...call, password }), where, 'config');
    return Value.Parse(Config, JSON.parse(told)).chunker_polynomial;
  };
  return {
    async begin(where: Where, from: Place | undefined) {
      const { place, repository } = where;
      const [password] = passwordsOf(repository);
      await beginRepository(place, repository, password, from && (await polynomialOf({ ...where, place: from }, password)));
    },
    /** After the installation got a new key: a repository that an older key opens can be opened by the newest from now on. */
    async letIn(where: Where): Promise<boolean> {
      const [newest, ...older] = passwordsOf(where.repository);
      for (const password of older)
        try {
          await writeKey(where.place, where.repository, await masterKeyWith(password, where), newest);
          return true;
        } catch (error) {
          if (!isOfKind(error, 'wrong-password')) throw error;
        }
      return false;
    },
  };
}

const Config = Type.Object({ chunker_polynomial: Type.String() });

const masterKeyBy = (run: Repositories['run'], where: Where) => toldBy(run, where, 'masterkey');

async function toldBy(run: Repositories['run'], where: Where, what: 'masterkey' | 'config'): Promise<string> {
  const lines: string[] = [];
  await run({ ...where, args: ['cat', '--no-lock', what], line: (line) => void lines.push(line), withoutCache: true });
  return lines.join('\n');
}

const isOfKind = (error: unknown, kind: ResticFailure['kind']) => error instanceof ResticFailure && error.kind === kind;

const never = new AbortController().signal;

/** Whoever wants to be alone lets in nobody but those who come `ahead`, and waits for those who are inside. */
function openLocks(folder: string): Pick<Repositories, 'together' | 'ahead' | 'alone'> {
  const files = async (repository: string) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return [join(folder, `${repository}.door`), join(folder, repository)] as const;
  };
  return {
    together: async (repository, signal = never, work) => {
      const [door, room] = await files(repository);
      await withSharedFileLock(door, signal, () => Promise.resolve());
      return withSharedFileLock(room, signal, work);
    },
    ahead: async (repository, signal = never, work) => {
      const [, room] = await files(repository);
      return withSharedFileLock(room, signal, work);
    },
    alone: async (repository, signal = never, work) => {
      const [door, room] = await files(repository);
      return withFileLock(door, signal, () => withFileLock(room, signal, work));
    },
  };
}
