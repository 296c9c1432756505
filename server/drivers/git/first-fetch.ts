/**
 * The first fetch into a repository that has nothing yet, as a clone beside it whose objects are then moved in. A clone knows that nothing was there before, so one
 * walk over what came proves that it is whole; an ordinary fetch walks over all of it a second time. Killed half way, it leaves objects that nothing leads to.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { gitText, runGit, type Outcome } from './command.ts';
import { cloneFromWeb, type Visit } from './fetch-remote.ts';

/** Takes refspecs that end in a star on both sides, with branches and tags on the left. Throws what `fetchFromWeb` does. */
export async function firstFetch(scratchFolder: string, visit: Visit): Promise<Outcome> {
  const clone = join(scratchFolder, `mirror-${randomBytes(8).toString('hex')}.git`);
  try {
    await mkdir(scratchFolder, { recursive: true, mode: 0o700 });
    const outcome = await cloneFromWeb({ ...visit, gitDir: clone });
    if (outcome.code !== 0) return outcome;
    const refs = (await refsOf(clone)).flatMap((ref) => targetsOf(ref, visit.what));
    await movePacks(clone, visit.gitDir);
    await setRefs(clone, visit.gitDir, refs);
    return outcome;
  } finally {
    await rm(clone, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface FetchedRef {
  sha: string;
  name: string;
}

/** A clone writes all its refs into one file, which is read in a moment; where it did otherwise, Git is asked. */
async function refsOf(clone: string): Promise<FetchedRef[]> {
  const packed = await readFile(join(clone, packedRefs), 'utf8').catch(() => undefined);
  const lines = (packed ?? (await gitText(clone, ['for-each-ref', '--format=%(objectname) %(refname)']))).split('\n');
  // Other lines are a heading, and what tags lead to.
  return lines
    .filter((line) => /^[0-9a-f]/.test(line))
    .map((line) => ({ sha: line.slice(0, line.indexOf(' ')), name: line.slice(line.indexOf(' ') + 1) }));
}

function targetsOf({ sha, name }: FetchedRef, what: readonly string[]): FetchedRef[] {
  return what.flatMap((refspec) => {
    const [from = '', to = ''] = refspec.replace(/^\+/, '').split(':', 2);
    const [source, target] = [from.slice(0, -1), to.slice(0, -1)];
    return name.startsWith(source) ? [{ sha, name: `${target}${name.slice(source.length)}` }] : [];
  });
}

const packedRefs = 'packed-refs';

/**
 * Git writes a file for each ref and waits for the disk each time, which takes longer than the clone where there are thousands. In a repository that has none, all go into the file for many
 * refs, as Git itself would pack them: with one wait for the disk, and under its lock, which is held for no longer than a file takes to get another name.
 */
async function setRefs(clone: string, gitDir: string, refs: readonly FetchedRef[]): Promise<void> {
  const written = join(clone, `${packedRefs}.new`);
  await writeRefs(written, refs);
  const [file, lock] = [join(gitDir, packedRefs), join(gitDir, packedRefsLock)];
  const claimed = await open(lock, 'wx', 0o600).catch(() => undefined);
  if (claimed) {
    try {
      await claimed.close();
      if (!existsSync(file)) return await rename(written, file);
    } finally {
      await rm(lock, { force: true });
    }
  }
  const updates = refs.map(({ sha, name }) => `update ${name}\0${sha}\0\0`);
  await runGit(gitDir, ['update-ref', '--stdin', '-z'], { input: updates.join('') });
}

async function writeRefs(path: string, refs: readonly FetchedRef[]): Promise<void> {
  const lines = refs.toSorted((one, other) => Buffer.compare(Buffer.from(one.name), Buffer.from(other.name)));
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(lines.map(({ sha, name }) => `${sha} ${name}\n`).join(''));
    await file.sync();
  } finally {
    await file.close();
  }
}

const packedRefsLock = `${packedRefs}.lock`;
/** Git has it for seconds, however many refs there are. */
const lockMinutesMax = 10;

/** Whoever was killed with the lock in hand leaves it behind, and Git would wait for them in vain for ever. */
export async function removeStaleLock(gitDir: string): Promise<void> {
  const lock = join(gitDir, packedRefsLock);
  const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }));
  if (mtimeMs < Date.now() - lockMinutesMax * 60_000) await rm(lock, { force: true });
}

/** Git sees a pack once its index is there, which therefore comes last. */
const partsOfPack = ['.pack', '.rev', '.idx'];

async function movePacks(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, 'objects/pack'), join(to, 'objects/pack')];
  const names = await readdir(source);
  for (const part of partsOfPack)
    for (const name of names.filter((each) => each.endsWith(part))) await rename(join(source, name), join(target, name));
}
