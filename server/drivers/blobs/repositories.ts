/**
 * restic's repositories: who may use one at the same time, with which key, and how one comes to be.
 *
 * Our own locks decide who uses a repository, among all processes of the installation. They end with their process; restic's, which do not, can be
 * removed by whoever is alone.
 */
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import { withFileLock, withSharedFileLock } from '../file-lock.ts';
import { problemOf } from './failures.ts';
import { openKnownRepositories } from './known-repositories.ts';
import type { Place } from './places.ts';
import { type Call, type Restic, ResticFailure, runRestic } from './restic.ts';

export interface Repositories {
  /** Beside others who use it. */
  together<T>(repository: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** When nobody else uses it. */
  alone<T>(repository: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T>;
  /** Throws a Problem where the place cannot be reached. */
  exists(place: Place, repository: string): Promise<boolean>;
  /** Makes it where there is none. */
  ensure(place: Place, repository: string, signal?: AbortSignal): Promise<void>;
  /** With all that is in it. */
  remove(place: Place, repository: string): Promise<void>;
  /** One command of restic, with the key that opens the repository. */
  run(call: Omit<Call, 'password'>): Promise<void>;
}

export function openRepositories(restic: Restic, secrets: Pick<Secrets, 'derived'>): Repositories {
  const passwordsOf = (repository: string) => secrets.derived(`blobs ${repository}`);
  const { together, alone } = openLocks(join(restic.folder, 'locks'));
  const exists = async (place: Place, repository: string) => (await place.names(repository, 'config')).length > 0;

  const run: Repositories['run'] = async (call) => {
    const [newest, ...older] = passwordsOf(call.repository);
    try {
      await runRestic(restic, { ...call, password: newest });
    } catch (error) {
      if (!isOfKind(error, 'wrong-password') || !(await addKey(restic, call, newest, older))) throw error;
      await runRestic(restic, { ...call, password: newest });
    }
  };
  const known = openKnownRepositories(join(restic.folder, 'known'));
  const ensure: Repositories['ensure'] = async (place, repository, signal) => {
    if (await exists(place, repository)) return known.note(place, repository);
    await known.refuseLost(place, repository, (other) => exists(place, other));
    await alone(repository, signal, async () => {
      const left = await place.names(repository);
      if (left.includes('config')) return;
      const data = left.find((name) => /^(?:data|snapshots|index)\//.test(name));
      if (data !== undefined)
        throw new Problem(
          'unavailable',
          `The backups at ${place.name} lost the file that describes them; restore ${repository}/config there.`,
        );
      // A key without the rest is what an interrupted beginning left, and would be tried later instead of the right one.
      await place.remove(repository, left);
      const [newest] = passwordsOf(repository);
      try {
        await runRestic(restic, { place, repository, password: newest, args: ['init', '--repository-version', '2'], signal });
      } catch (error) {
        throw problemOf(error, 'store', place);
      }
    });
    await known.note(place, repository);
  };
  const remove: Repositories['remove'] = (place, repository) =>
    alone(repository, undefined, async () => {
      await place.removeAll(repository);
      await known.forget(place, repository);
    });
  return { together, alone, exists, ensure, remove, run };
}

const isOfKind = (error: unknown, kind: ResticFailure['kind']) => error instanceof ResticFailure && error.kind === kind;

/** After the installation got a new key: what an older one opens, the newest opens from now on. */
async function addKey(restic: Restic, { place, repository, signal }: Omit<Call, 'password'>, newest: string, older: readonly string[]) {
  for (const password of older) {
    const file = await unnamedFile(join(restic.folder, 'scratch'), newest);
    try {
      const args = ['key', '--new-password-file', '/dev/fd/3', 'add'];
      await runRestic(restic, { place, repository, password, args, input: file.fd, signal });
      return true;
    } catch (error) {
      if (!isOfKind(error, 'wrong-password')) throw error;
    } finally {
      await file.close();
    }
  }
  return false;
}

/** Nobody can find it; it is gone when it is closed. */
async function unnamedFile(folder: string, text: string) {
  const path = join(folder, `key-${process.pid}`);
  await writeFile(path, '', { mode: 0o600 });
  const file = await open(path, 'r+');
  await rm(path);
  await file.writeFile(text);
  return file;
}

/** Whoever wants to be alone lets nobody in any more, and waits for those who are inside. */
function openLocks(folder: string): Pick<Repositories, 'together' | 'alone'> {
  const never = new AbortController().signal;
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
    alone: async (repository, signal = never, work) => {
      const [door, room] = await files(repository);
      return withFileLock(door, signal, () => withFileLock(room, signal, work));
    },
  };
}
