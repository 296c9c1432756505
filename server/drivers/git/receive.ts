/**
 * Commits that somebody made who is not trusted, taken into a project's repository. Only the bytes of a pack come from them: their repository, with its
 * settings, hooks and borrowed objects, is never looked at from here. What came is kept apart until it has been found to be whole, well-formed, on top
 * of what it should be on top of, and made of nothing that the repository has but did not give to them.
 */
import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, pipeline as connect, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../kernel/problem.ts';
import { refuseLargePack } from './bounded-pack.ts';
import { GitFailed, tryGit, type Outcome } from './command.ts';
import type { Received } from './git.ts';
import { refuseLargePush } from './push-size.ts';
import { isOwnOrShown, withQuarantine } from './pushed-objects.ts';

const indexSecondsMax = 600;

/** Moves no branch. It can be done again: what is there already stays. */
export async function receive(gitDir: string, scratchFolder: string, { from, to, pack, bytesMax, signal }: Received): Promise<void> {
  const quarantine = join(scratchFolder, `received-${randomBytes(8).toString('hex')}`);
  const name = join(quarantine, 'pack', 'received');
  const came = listen(pack);
  const run = (...args: string[]) => tryGit(gitDir, args, { env: withQuarantine(gitDir, quarantine), secondsMax: indexSecondsMax, signal });
  try {
    await mkdir(join(quarantine, 'pack'), { recursive: true, mode: 0o700 });
    const file = createWriteStream(`${name}.pack`, { flags: 'wx', mode: 0o400, flush: true });
    await pipeline(came, limited(bytesMax), file, { signal }).catch(inWords);
    await refuseLargePack(`${name}.pack`, signal);
    const indexed = await run('index-pack', '--strict', '--rev-index', `${name}.pack`);
    if (indexed.code !== 0) throw unfit(indexed);
    if ((await run('cat-file', '-t', to)).stdout.toString('latin1').trim() !== 'commit') throw unfit(undefined, `${to} is not a commit`);
    await refuseLargePush({ gitDir, parties: [gitDir] }, quarantine, [{ ref: 'The branch', from, to, isFastForward: true }]);
    const onTop = await run('merge-base', '--is-ancestor', from, to);
    if (onTop.code !== 0) throw onTop.code === 1 ? notOnTop() : unfit(onTop);
    if (!(await isOwn(gitDir, quarantine, to, from))) throw unfit(undefined, 'they are made of objects that did not come with them');
    await moveIn(name, join(gitDir, 'objects', 'pack', `pack-${packId(indexed)}`));
  } finally {
    came.destroy();
    await rm(quarantine, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Listens at once: what a process says while nobody listens is lost when it ends. */
function listen(pack: Readable): PassThrough {
  const came = new PassThrough();
  connect(pack, came, () => {});
  return came;
}

/** The stream broke off before its end. */
function inWords(error: unknown): never {
  const isCutOff = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
  throw isCutOff ? unfit(undefined, 'they were cut off') : error;
}

const limited = (bytesMax: number) =>
  async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > bytesMax)
        throw new Problem(
          'too-large',
          `The new commits are larger than ${bytesMax / 1024 ** 2} MiB, which is the most that can be pushed at once.`,
        );
      yield chunk;
    }
  };

const complaintCharactersMax = 300;

/** Whoever sent the objects reads the sentence in a terminal. */
function unfit(outcome: Outcome | undefined, why = outcome?.stderr ?? ''): Problem {
  const readable = why.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, complaintCharactersMax);
  return new Problem('invalid-request', `The new commits cannot be taken in: ${readable}.`, { internal: why });
}

const notOnTop = () =>
  new Problem(
    'conflict',
    'The branch was rewritten: its new commits are not on top of those that it had. Add commits, and leave those before them as they are.',
  );

/** Git fails where an object is missing everywhere. */
const isOwn = (gitDir: string, quarantine: string, to: string, from: string): Promise<boolean> =>
  isOwnOrShown({ gitDir, parties: [gitDir] }, quarantine, [to], [from]).catch((error: unknown) => {
    throw error instanceof GitFailed && !error.outcome.wasKilled ? unfit(error.outcome) : error;
  });

const packId = ({ stdout }: Outcome) => /[0-9a-f]{40}/.exec(stdout.toString('latin1'))?.[0] ?? randomBytes(20).toString('hex');

/** The index is moved last: with it, Git finds the rest. */
async function moveIn(from: string, to: string) {
  for (const ending of ['pack', 'rev', 'idx']) await rename(`${from}.${ending}`, `${to}.${ending}`);
}
