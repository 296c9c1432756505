/**
 * Folders in which backups are put together and taken apart, on the disk of the data folder, which has room for what environments keep. Each is named by the
 * process that works in it: what was killed is known by that, and is cleared away by whoever comes next, together with what it had already put into the store.
 */
import { sql } from 'kysely';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { Blobs } from '../../drivers/blobs/blobs.ts';
import { isAlive, processMark } from '../../drivers/volumes/process-mark.ts';
import type { Db } from '../../kernel/sql.ts';

export interface ScratchNeeds {
  db: Db;
  blobs: Pick<Blobs, 'forget'>;
  /** The data folder. */
  data: string;
  signal?: AbortSignal | undefined;
}

export const scratchFolder = (data: string) => join(data, 'recovery');
let begun = 0;

export async function inScratch<T>(needs: ScratchNeeds, work: (folder: string) => Promise<T>): Promise<T> {
  begun += 1;
  const folder = join(scratchFolder(needs.data), `${await processMark()}-${begun}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    // Where the store does not answer, the next process to come removes the folder.
    await removeScratch(needs, folder).catch(() => {});
  }
}

/** A backup that is about to be in the store, and belongs to nobody until it has a row. */
const Storing = Type.Object({ project: Type.String(), backup: Type.String() });
const storingFile = 'storing.json';

export async function noteStoring(folder: string, storing: Static<typeof Storing>): Promise<void> {
  const file = join(folder, storingFile);
  await writeFile(`${file}.new`, JSON.stringify(storing), { flush: true });
  await rename(`${file}.new`, file);
}

/** To be called once the backup has an owner, or is not in the store. */
export const noteStored = (folder: string): Promise<void> => rm(join(folder, storingFile), { force: true });

/** Removes the folders of processes that have ended. */
export async function removeLeftScratch(needs: ScratchNeeds): Promise<void> {
  const folder = scratchFolder(needs.data);
  if (!existsSync(folder)) return;
  for (const name of await readdir(folder)) if (!(await isAlive(name, 'nobody'))) await removeScratch(needs, join(folder, name));
}

async function removeScratch({ db, blobs, signal }: ScratchNeeds, folder: string) {
  const file = join(folder, storingFile);
  // The files go first, because they take up room even where the note cannot be dealt with.
  for (const name of await readdir(folder).catch(() => []))
    if (name !== storingFile) await rm(join(folder, name), { recursive: true, force: true });
  if (existsSync(file)) {
    const { project, backup } = Value.Parse(Storing, JSON.parse(await readFile(file, 'utf8')));
    const { rows } = await sql`select from backups where id = ${backup}`.execute(db);
    if (rows.length === 0) await blobs.forget(project, [backup], signal);
  }
  await rm(folder, { recursive: true, force: true });
}
