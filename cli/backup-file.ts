/**
 * A backup as one file, for another installation: a repository of its own, compressed and encrypted as all of them are, with a key that is made for it and
 * shown once. It holds what the environment kept, what was built, and what ran, with its variables and passwords; so the key goes another way than the file.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import type { Blobs, Part, Stored } from '../server/drivers/blobs/blobs.ts';
import { openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import { markName } from '../server/drivers/blobs/places.ts';
import { ulid } from '../server/kernel/id.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import { flawOf } from '../server/kernel/stored-json.ts';
import {
  allBackups,
  backupContent,
  BackupPart,
  fitStack,
  manifestPart,
  sealedStack,
  UnreadableBackup,
  type BackupContent,
  type Manifest,
} from '../server/rooms/backups/public.ts';
import { backupLife } from '../server/rooms/backups/life-cycle.ts';
import { insertFound } from '../server/rooms/backups/work.ts';
import { environmentById, type Environment } from '../server/rooms/environments/public.ts';
import { inScratch, noteStoring, removeLeftScratch } from '../server/rooms/recovery/public.ts';
import { type Kept, withBackups } from './backup.ts';

const run = promisify(execFile);
const repository = 'backup';
const aboutPart = 'about';
const aboutFile = 'backup.json';
const keyBytes = 32;

const About = Type.Object({
  version: Type.Literal(1),
  backup: Type.String(),
  project: Type.String(),
  environment: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
  safe: Type.Boolean(),
  parts: Type.Array(BackupPart),
  /** Parsed separately, by `fitStack`. */
  stack: Type.Unknown(),
});
type About = Static<typeof About> & Pick<BackupContent, 'stack'>;

export const exportBackup = ([id = '', file = '']: string[]) =>
  withBackups(async (kept) => {
    const { db, secrets, blobs } = kept;
    if (file === '') throw new Problem('invalid-request', 'Give the backup and a file: ./offshoot backup export <backup> shop.backup');
    const target = freeFile(file);
    const row = (await allBackups(db)).find((backup) => backup.id === id);
    const content = await backupContent(db, secrets, id);
    if (!row || !backupLife.possible(row.state, 'export') || !content?.stored)
      throw new Problem('not-found', `There is no backup ${id} that could be restored; ./offshoot backup list shows what there is.`);
    const { environment_id: environment, project_id: project, created_at } = row;
    const { stored, parts: backedUp, stack } = content;
    const about: About = { version: 1, backup: id, project, environment, created_at, safe: row.safe, parts: backedUp, stack };
    const key = randomBytes(keyBytes);
    await inOwnScratch(kept, async (scratch) => {
      const parts = await emptyFolders(scratch, stored.parts);
      await blobs.restore(project, stored, parts);
      const [described] = await emptyFolders(scratch, [aboutPart]);
      if (!described) return;
      await writeFile(join(described.folder, aboutFile), JSON.stringify(about));
      const exported = fileBlobs(scratch, key);
      await exported.verify(repository, await exported.store(repository, id, [...parts, described], {}));
      await packInto(target, join(scratch, 'file'));
    });
    console.log(`${target} holds the backup, and this key opens it (shown this once): ${key.toString('base64')}`);
  });

function freeFile(file: string): string {
  const target = resolve(file);
  if (existsSync(target)) throw new Problem('conflict', `${target} is there already; choose another name.`);
  if (!existsSync(dirname(target))) throw new Problem('not-found', `There is no folder ${dirname(target)}; make it first.`);
  return target;
}

/** The file is whole, or not there. */
async function packInto(target: string, folder: string) {
  const scratch = `${target}.new`;
  try {
    // Which installation the repository belonged to is nobody's business where the file goes.
    await run('tar', ['--create', '--file', scratch, '--exclude', `./${markName}`, '--directory', folder, '.']);
    await rename(scratch, target);
  } catch (cause) {
    await rm(scratch, { force: true });
    throw new Problem('unavailable', `${target} could not be written; see that there is room, and that this user may write there.`, {
      cause,
    });
  }
}

/** `input` gives what is on standard input: the key. */
export const importBackup = ([file = '']: string[], wanted: { project?: string; environment?: string }, input: () => string) =>
  withBackups(async (kept) => {
    const { db, secrets, blobs } = kept;
    if (file === '')
      throw new Problem('invalid-request', 'Give the file: ./offshoot backup import shop.backup --project ID --environment NAME');
    if (!existsSync(file))
      throw new Problem('not-found', `There is no file ${file}; give the path of one that ./offshoot backup export made.`);
    const target = await targetOf(kept, wanted);
    const key = readKey(input());
    await inOwnScratch(kept, async (scratch) => {
      const { about, parts } = await unpack(file, key, scratch);
      const manifest = manifestFor(about, target, secrets);
      const [described] = await emptyFolders(scratch, [manifestPart.name]);
      if (!described) return;
      await writeFile(join(described.folder, manifestPart.file), JSON.stringify(manifest), { mode: 0o600 });
      const { backup: id, project } = manifest;
      await noteStoring(scratch, { project, backup: id });
      const stored = await blobs.store(project, id, [...parts, described], {});
      await blobs.verify(project, stored);
      await insertFound(db, manifest, stored);
      const made = `made of ${about.environment} of ${about.project} at ${about.created_at.slice(0, 19)}`;
      console.log(`${id} is a backup of ${target.id} now, ${made}; it can be restored.`);
    });
  });

/** What the file says, and all that is in it, as folders. */
async function unpack(file: string, key: Buffer, scratch: string): Promise<{ about: About; parts: Part[] }> {
  try {
    const packed = join(scratch, 'file');
    await mkdir(packed);
    await run('tar', ['--extract', '--no-same-owner', '--file', resolve(file), '--directory', packed]);
    const exported = fileBlobs(scratch, key);
    const { about, from } = await readAbout(exported, scratch);
    const names = about.parts.map(({ name }) => name);
    const parts = await emptyFolders(scratch, names);
    await exported.restore(repository, { ...from, parts: names }, parts);
    return { about, parts };
  } catch (cause) {
    if (cause instanceof UnreadableBackup) throw cause;
    if (isFull(cause))
      throw new Problem('unavailable', `There is no space left to unpack ${file} at ${scratch}; make room there.`, { cause });
    throw new Problem('invalid-request', `${file} is not a backup, is damaged, or has another key.`, { cause });
  }
}

/** Whether tar or restic says that the disk is full. */
const isFull = (error: unknown) =>
  error instanceof Error && /no space left|ENOSPC/i.test(`${error.message} ${error instanceof Problem ? (error.internal ?? '') : ''}`);

async function readAbout(exported: Blobs, scratch: string): Promise<{ about: About; from: Stored }> {
  const [backup = ''] = await exported.list(repository);
  const from: Stored = { backup, parts: [aboutPart], places: {}, bytes: 0, bytesAdded: 0 };
  const folders = await emptyFolders(scratch, [aboutPart]);
  await exported.restore(repository, from, folders);
  const text = await readFile(join(scratch, 'parts', aboutPart, aboutFile), 'utf8');
  const about: unknown = JSON.parse(text);
  if (!Value.Check(About, about)) throw new UnreadableBackup('What the file says of its backup', flawOf(About, about));
  return { about: { ...about, stack: fitStack('The backup in the file', about.stack) }, from };
}

/** The manifest of the backup as one of the environment that it belongs to from now on. */
function manifestFor(about: About, target: Environment, secrets: Secrets): Manifest {
  const id = ulid();
  const { backup, project, environment, stack, parts, safe, created_at } = about;
  return {
    version: 1,
    backup: id,
    project: target.project_id,
    environment: target.id,
    environment_type: target.type,
    commit_id: stack.commit_id,
    deployment: null,
    safe,
    automated: false,
    created_at,
    stack_sealed: sealedStack(secrets, id, stack),
    parts,
    origin: { backup, project, environment, imported_at: new Date().toISOString() },
  };
}

/** The environment whose backups people will find it among. */
async function targetOf({ config, db }: Kept, { project = '', environment = '' }: { project?: string; environment?: string }) {
  const found = await environmentById(db, config.domain, project, environment);
  if (!found)
    throw new Problem(
      'not-found',
      'Name the environment that the backup is for: --project ID --environment NAME. Both have to exist here.',
    );
  return found;
}

function readKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length !== keyBytes)
    throw new Problem('invalid-request', 'Pass the key of the file, as it was shown when the file was made, on standard input.');
  return key;
}

const fileBlobs = (scratch: string, key: Buffer): Blobs =>
  openBlobs({ folder: join(scratch, 'blobs'), places: [{ kind: 'folder', folder: join(scratch, 'file') }], secrets: openSecrets([key]) });

const emptyFolders = (scratch: string, names: readonly string[]): Promise<Part[]> =>
  Promise.all(
    names.map(async (name) => {
      const folder = join(scratch, 'parts', name);
      await mkdir(folder, { recursive: true });
      return { name, folder };
    }),
  );

/** Works in a folder of its own, after removing what an earlier command left that was killed. */
async function inOwnScratch({ config: { data }, db, blobs }: Kept, work: (scratch: string) => Promise<void>) {
  await removeLeftScratch({ db, blobs, data });
  await inScratch({ db, blobs, data }, work);
}
