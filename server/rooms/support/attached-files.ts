/**
 * The files of tickets, in a folder of the data folder that is part of the installation's own backups. A file is there, whole and on the disk, before the row that names it is; a
 * row can go at any time, with its ticket. So what no row names is removed, once it is too old to be on its way into one.
 */
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Problem } from '../../kernel/problem.ts';
import type { Reconciler } from '../../kernel/reconciler.ts';
import type { Db } from '../../kernel/sql.ts';
import { namedFiles } from './queries.ts';

const folderOf = (data: string) => join(data, 'attachments');

/** Returns the name that it is kept under. */
export async function keepFile(data: string, content: Uint8Array): Promise<string> {
  const [folder, name] = [folderOf(data), crypto.randomUUID()];
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `${name}.new`);
  const file = await open(unfinished, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, join(folder, name));
  await syncFolder(folder);
  return name;
}

async function syncFolder(folder: string) {
  const opened = await open(folder, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}

/** A row may come from a backup that was made while its ticket was removed. */
export async function readKept(data: string, name: string): Promise<Buffer> {
  try {
    return await readFile(join(folderOf(data), name));
  } catch (cause) {
    throw new Problem('not-found', 'This file is not there any more; ask for it again.', { cause });
  }
}

export const removeKept = (data: string, name: string): Promise<void> => rm(join(folderOf(data), name), { force: true });

const movedAtOnceMax = 20;
/** A request takes a minute at most. */
const unnamedMinutesMax = 60;

export const tidyAttachments: Reconciler = {
  name: 'tidy the files of tickets',
  everySeconds: 900,
  run: async ({ db, config: { data } }, signal) => {
    while (!signal.aborted && (await moveOut(db, data))) continue;
    await removeUnnamed(db, data, Date.now() - unnamedMinutesMax * 60_000);
  },
};

/** Moves files out of the database, where earlier versions kept them. Answers whether there may be more. */
async function moveOut(db: Db, data: string): Promise<boolean> {
  const rows = await db
    .selectFrom('ticket_attachments')
    .select(['id', 'content'])
    .where('content', 'is not', null)
    .orderBy('id')
    .limit(movedAtOnceMax)
    .execute();
  for (const { id, content } of rows) {
    const file = await keepFile(data, content ?? Buffer.alloc(0));
    await sql`update ticket_attachments set file = ${file}, content = null where id = ${id} and file is null`.execute(db);
  }
  return rows.length === movedAtOnceMax;
}

const isOwnName = (name: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);

export async function removeUnnamed(db: Db, data: string, olderThan: number): Promise<void> {
  const folder = folderOf(data);
  const names = await readdir(folder).catch(() => []);
  const named = await namedFiles(db, names.filter(isOwnName));
  for (const name of names.filter((each) => !named.has(each))) {
    const { mtimeMs } = await stat(join(folder, name)).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < olderThan) await removeKept(data, name);
  }
}
