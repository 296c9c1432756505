/**
 * A backup as one file, for another installation: a repository of its own, compressed and encrypted as all of them are, with a key that is made for it and
 * shown once. It holds what the environment kept, what was built, and what ran, with its variables and passwords; so the key goes another way than the file.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { readConfig } from '../server/config.ts';
import type { Blobs, Part, Stored } from '../server/drivers/blobs/blobs.ts';
import { openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import { ulid } from '../server/kernel/id.ts';
import { Problem } from '../server/kernel/problem.ts';
import { openSecrets } from '../server/kernel/secrets.ts';
import {
  allBackups,
  backupContent,
  insertFound,
  manifestPart,
  sealedStack,
  type BackupContent,
  type BackupPart,
  type Manifest,
} from '../server/rooms/backups/room.ts';
import { environmentById } from '../server/rooms/environments/room.ts';
import { scratchFolder } from '../server/rooms/recovery/room.ts';
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
  created_at: Type.String(),
  safe: Type.Boolean(),
  // As the platform wrote them, here or elsewhere.
  parts: Type.Unsafe<BackupPart[]>(Type.Array(Type.Object({ name: Type.String() }))),
  stack: Type.Unsafe<BackupContent['stack']>(Type.Object({ commit_id: Type.String() })),
});
type About = Static<typeof About>;

export const exportBackup = ([id = '', file = '']: string[]) =>
  withBackups(async ({ config, db, secrets, blobs }) => {
    const target = resolve(file);
    if (file === '') throw new Problem('invalid-request', 'Give the backup and a file: ./offshoot backup export <backup> shop.backup');
    if (existsSync(target)) throw new Problem('conflict', `${target} is there already; choose another name.`);
    const row = (await allBackups(db)).find((backup) => backup.id === id);
    const content = await backupContent(db, secrets, id);
    if (!row?.restorable || !content?.stored) throw new Problem('not-found', `There is no backup ${id} that could be restored.`);
    const { environment_id: environment, project_id: project, created_at } = row;
    const { stored, parts: backedUp, stack } = content;
    const about: About = { version: 1, backup: id, project, environment, created_at, safe: row.safe, parts: backedUp, stack };
    const key = randomBytes(keyBytes);
    await inScratch(config.data, async (scratch) => {
      const parts = await emptyFolders(scratch, stored.parts);
      await blobs.restore(project, stored, parts);
      const [described] = await emptyFolders(scratch, [aboutPart]);
      if (!described) return;
      await writeFile(join(described.folder, aboutFile), JSON.stringify(about));
      const exported = fileBlobs(scratch, key);
      await exported.verify(repository, await exported.store(repository, id, [...parts, described], {}));
      await run('tar', ['--create', '--file', `${target}.new`, '--directory', join(scratch, 'file'), '.']);
      await rename(`${target}.new`, target);
    });
    console.log(`${target} holds the backup, and this key opens it (shown this once): ${key.toString('base64')}`);
  });

export const importBackup = ([file = '']: string[], wanted: { project?: string; environment?: string }) =>
  withBackups(async (kept) => {
    const { config, db, secrets, blobs } = kept;
    if (!existsSync(file)) throw new Problem('not-found', `There is no file ${file}.`);
    const target = await targetOf(kept, wanted);
    const key = readKey();
    await inScratch(config.data, async (scratch) => {
      await mkdir(join(scratch, 'file'));
      await run('tar', ['--extract', '--no-same-owner', '--file', resolve(file), '--directory', join(scratch, 'file')]).catch(() =>
        Promise.reject(unreadable(file)),
      );
      const exported = fileBlobs(scratch, key);
      const { about, from } = await readAbout(exported, scratch, file);
      const id = ulid();
      const { stack, parts: backedUp, safe, created_at } = about;
      const parts = await emptyFolders(scratch, [...backedUp.map(({ name }) => name), manifestPart.name]);
      await exported.restore(repository, { ...from, parts: parts.map(({ name }) => name) }, parts);
      const manifest: Manifest = {
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
        parts: backedUp,
      };
      await writeFile(join(scratch, 'parts', manifestPart.name, manifestPart.file), JSON.stringify(manifest), { mode: 0o600 });
      const stored = await blobs.store(target.project_id, id, parts, {});
      await blobs.verify(target.project_id, stored);
      const { backup, project, environment } = about;
      await insertFound(db, manifest, stored, { backup, project, environment });
      console.log(
        `${id} is a backup of ${target.id} now, made of ${environment} of ${project} at ${created_at.slice(0, 19)}; it can be restored.`,
      );
    });
  });

/** Where people who restore it look for it. */
async function targetOf({ config, db }: Kept, { project = '', environment = '' }: { project?: string; environment?: string }) {
  const found = await environmentById(db, config.domain, project, environment);
  if (!found)
    throw new Problem(
      'not-found',
      'Say to which environment it belongs from now on: --project ID --environment NAME, of one that is here.',
    );
  return found;
}

function readKey(): Buffer {
  const [key] = readConfig({ OFFSHOOT_SECRET_KEY: readFileSync(0, 'utf8').trim() }).secretKeys ?? [];
  if (!key) throw new Problem('invalid-request', 'Give the key of the file, as it was shown when it was made, to standard input.');
  return key;
}

const unreadable = (file: string) => new Problem('invalid-request', `${file} is not a backup, is damaged, or has another key.`);

async function readAbout(exported: Blobs, scratch: string, file: string): Promise<{ about: About; from: Stored }> {
  try {
    const [backup = ''] = await exported.list(repository);
    const from: Stored = { backup, parts: [aboutPart], places: {}, bytes: 0, bytesAdded: 0 };
    const [described] = await emptyFolders(scratch, [aboutPart]);
    if (!described) throw unreadable(file);
    await exported.restore(repository, from, [described]);
    return { about: Value.Parse(About, JSON.parse(await readFile(join(described.folder, aboutFile), 'utf8'))), from };
  } catch (cause) {
    throw new Problem('invalid-request', unreadable(file).message, { cause });
  }
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

/** On the disk of the data folder, which has room for what environments keep. */
async function inScratch(data: string, work: (scratch: string) => Promise<void>) {
  await mkdir(join(data, scratchFolder), { recursive: true, mode: 0o700 });
  const scratch = await mkdtemp(join(data, scratchFolder, 'file-'));
  try {
    await work(scratch);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
