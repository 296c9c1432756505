/**
 * What all refs of all repositories name, at one moment, for whoever copies repositories while people push: a copy has the objects of everything that was pushed
 * before it began, and perhaps names of what came later, without the objects. Put back, the names are those of the moment.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { gitText } from './command.ts';

/** By the repository's folder, as lines of `packed-refs`. */
export const KeptRefs = Type.Record(Type.String(), Type.Array(Type.String()));
export type KeptRefs = Static<typeof KeptRefs>;

export async function refsIn(repositories: string): Promise<KeptRefs> {
  const kept: KeptRefs = {};
  for (const name of await readdir(repositories)) {
    if (!existsSync(join(repositories, name, 'HEAD'))) continue;
    const text = await gitText(join(repositories, name), ['for-each-ref', '--sort=refname', '--format=%(objectname) %(refname)']);
    kept[name] = text === '' ? [] : text.split('\n');
  }
  return kept;
}

/** Refs of repositories that came later stay as they are. It can be done again. */
export async function putBackRefs(repositories: string, kept: KeptRefs): Promise<void> {
  for (const name of await readdir(repositories)) {
    const lines = Object.hasOwn(kept, name) ? kept[name] : undefined;
    if (!lines) continue;
    const packed = join(repositories, name, 'packed-refs');
    await writeFile(`${packed}.new`, lines.map((line) => `${line}\n`).join(''), { mode: 0o600, flush: true });
    await rename(`${packed}.new`, packed);
    await rm(join(repositories, name, 'refs'), { recursive: true, force: true });
    for (const kind of ['heads', 'tags']) await mkdir(join(repositories, name, 'refs', kind), { recursive: true, mode: 0o700 });
  }
}
