/**
 * The first fetch into a repository that has nothing yet, as a clone beside it whose objects are then moved in. A clone knows that nothing was there before, so one
 * walk over what came proves that it is whole; an ordinary fetch walks over all of it a second time. Killed half way, it leaves objects that nothing leads to.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
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
    const refs = await gitText(clone, ['for-each-ref', '--format=%(objectname) %(refname)']);
    await movePacks(clone, visit.gitDir);
    const updates = refs
      .split('\n')
      .filter(Boolean)
      .flatMap((line) => updatesOf(line, visit.what));
    await runGit(visit.gitDir, ['update-ref', '--stdin', '-z'], { input: updates.join('') });
    return outcome;
  } finally {
    await rm(clone, { recursive: true, force: true, maxRetries: 3 });
  }
}

function updatesOf(line: string, what: readonly string[]): string[] {
  const [sha, name] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)];
  return what.flatMap((refspec) => {
    const [from = '', to = ''] = refspec.replace(/^\+/, '').split(':', 2);
    const [source, target] = [from.slice(0, -1), to.slice(0, -1)];
    return name.startsWith(source) ? [`update ${target}${name.slice(source.length)}\0${sha}\0\0`] : [];
  });
}

/** Git sees a pack once its index is there, which therefore comes last. */
const partsOfPack = ['.pack', '.rev', '.idx'];

async function movePacks(from: string, to: string): Promise<void> {
  const [source, target] = [join(from, 'objects/pack'), join(to, 'objects/pack')];
  const names = await readdir(source);
  for (const part of partsOfPack)
    for (const name of names.filter((each) => each.endsWith(part))) await rename(join(source, name), join(target, name));
}
