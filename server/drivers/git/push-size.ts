/**
 * Whether what somebody pushes is small enough, asked while it is still apart from the repository: each object for itself, also in commits that are
 * not the last, and the files of each branch together. Only sizes and folders are read; the limit of a push counts its bytes as they came, which
 * says little: six gigabytes of nothing are six megabytes.
 */
import { Problem } from '../../kernel/problem.ts';
import { runGit, TooMuchOutput } from './command.ts';
import { largeObject, objectBytesMax } from './bounded-pack.ts';
import type { RefUpdate } from './git.ts';
import { quarantineAlone, withQuarantine, type Repository } from './pushed-objects.ts';
import { refuseLarge } from './tree-size.ts';

const checkSecondsMax = 120;

/** `quarantine` undefined: nothing came that the repository did not have. Throws a Problem. */
export async function refuseLargePush(
  repository: Repository,
  quarantine: string | undefined,
  updates: readonly RefUpdate[],
): Promise<void> {
  const { gitDir, parties } = repository;
  if (quarantine !== undefined) await refuseLargeObjects(repository, quarantine);
  const env = quarantine === undefined ? {} : withQuarantine(gitDir, quarantine);
  for (const { ref, to } of updates) if (to !== undefined) await refuseLarge(titleOf(ref), gitDir, to, { env, parties });
}

const titleOf = (ref: string) => ref.replace(/^refs\/heads\//, 'The branch ').replace(/^refs\/tags\//, 'The tag ');

export async function refuseLargeObjects({ gitDir, parties }: Repository, quarantine: string): Promise<void> {
  const args = ['cat-file', '--batch-all-objects', '--unordered', '--buffer', '--batch-check=%(objectsize)'];
  const listed = await runGit(gitDir, args, { env: quarantineAlone(quarantine), secondsMax: checkSecondsMax, parties }).catch(
    (error: unknown) => {
      throw error instanceof TooMuchOutput
        ? new Problem('too-large', 'There are too many objects in this push; push fewer commits at once.')
        : error;
    },
  );
  const isLarge = listed
    .toString('latin1')
    .split('\n')
    .some((size) => Number(size) > objectBytesMax);
  if (isLarge) throw new Problem('too-large', largeObject);
}
