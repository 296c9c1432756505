/** A backup of one installation becomes one of another, by a file; that what is restored from it serves the same is in e2e/platform-backup.test.ts. */
import { sql } from 'kysely';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Blobs } from '../server/drivers/blobs/blobs.ts';
import { openBlobs } from '../server/drivers/blobs/open-blobs.ts';
import { ulid } from '../server/kernel/id.ts';
import { openSecrets, type Secrets } from '../server/kernel/secrets.ts';
import { backupContent, insertBackup, makeRestorable, type BackupPart } from '../server/rooms/backups/public.ts';
import { deploySample } from '../server/testing/deployment.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../server/testing/platform.ts';
import { sampleProject } from '../server/testing/samples.ts';
import { listBackups, repairBackups, verifyBackups } from './backup.ts';
import { exportBackup, importBackup } from './backup-file.ts';
import { killedBefore, withSettings, type Settings } from './test-command.ts';

interface Installation {
  home: TestPlatform;
  owner: Person;
  data: string;
  kept: string;
  secrets: Secrets;
  blobs: Blobs;
  project: string;
  settings: Settings;
}

let scratch: string;
let here: Installation;
let there: Installation;
let backup: string;
const words = randomBytes(300_000);

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'offshoot-file-'));
  [here, there] = [await install('here'), await install('there')];
  backup = await backUp(here);
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** With a database, a key, a data folder and a place for backups of its own. */
async function install(name: string): Promise<Installation> {
  const home = await openTestPlatform();
  const owner = await home.person();
  const { projectId: project } = await sampleProject(owner);
  const [data, kept, key] = [join(scratch, name), join(scratch, `${name}-kept`), randomBytes(32)];
  await mkdir(data);
  const secrets = openSecrets([key]);
  const blobs = openBlobs({ folder: join(scratch, `${name}-blobs`), places: [{ kind: 'folder', folder: kept }], secrets });
  const settings = {
    OFFSHOOT_DATA: data,
    OFFSHOOT_BACKUPS: kept,
    OFFSHOOT_SECRET_KEY: key.toString('base64'),
    DATABASE_URL: home.databaseUrl,
  };
  return { home, owner, data, kept, secrets, blobs, project, settings };
}

/** Of what an app kept, without an app. */
async function backUp({ home, secrets, blobs, project }: Installation): Promise<string> {
  const stack = await deploySample(home.platform, { projectId: project, environmentId: 'main' });
  const folder = join(scratch, 'storage');
  await mkdir(folder);
  await writeFile(join(folder, 'words'), words);
  const id = ulid();
  const part: BackupPart = { name: 'storage-shop', kind: 'storage', of: 'shop', type: null, bytes_max: 2 ** 30, bytes: words.length };
  const stored = await blobs.store(project, id, [{ name: part.name, folder }], {});
  await home.platform.db.transaction().execute(async (tx) => {
    await insertBackup(tx, secrets, { id, stack, safe: true, slot: null, activity_id: null });
    await makeRestorable(tx, { id, stored, parts: [part], size_of_volumes: 1024, size_used: 1, taken_at: '2026-01-31T12:00:00Z' });
  });
  return id;
}

const listed = async ({ owner, project }: Installation) => (await owner.send('GET', `/projects/${project}/environments/main/backups`)).json;
/** As restic keeps them. */
const snapshotsIn = ({ kept, project }: Installation) => readdir(join(kept, project, 'snapshots')).catch(() => []);
const inRecovery = async ({ data }: Installation) => (existsSync(join(data, 'recovery')) ? readdir(join(data, 'recovery')) : []);

test('a file that was exported is imported elsewhere, listed, and holds the same', { timeout: 240_000 }, async () => {
  const file = join(scratch, 'shop.backup');
  const exporting = (to: string) => withSettings(here.settings, () => exportBackup([backup, to]));
  await expect(exporting(join(scratch, 'no', 'folder'))).rejects.toThrow(/^There is no folder /);
  const [, key = ''] = /this key opens it \(shown this once\): (\S+)/.exec(await exporting(file)) ?? [];
  await expect(exporting(file)).rejects.toThrow('is there already; choose another name');
  expect(await inRecovery(here)).toEqual([]);

  const to = { project: there.project, environment: 'main' };
  const importing = (from: string, input = key) => withSettings(there.settings, () => importBackup([from], to, () => input));
  const refusal = (of: string) => `${of} is not a backup, is damaged, or has another key.`;
  // Of another key, cut off, and with some bytes in the middle that are not what they were.
  await expect(importing(file, randomBytes(32).toString('base64'))).rejects.toThrow(refusal(file));
  await expect(importing(file, 'no key')).rejects.toThrow('Pass the key of the file');
  const cut = join(scratch, 'cut');
  await cp(file, cut);
  await truncate(cut, 100_000);
  await expect(importing(cut)).rejects.toThrow(refusal(cut));
  const damaged = join(scratch, 'damaged');
  const bytes = await readFile(file);
  bytes.fill(0, bytes.length / 2, bytes.length / 2 + 64);
  await writeFile(damaged, bytes);
  await expect(importing(damaged)).rejects.toThrow(refusal(damaged));
  expect(await listed(there)).toEqual([]);
  expect(await inRecovery(there)).toEqual([]);
  expect(await snapshotsIn(there)).toEqual([]);

  // Killed when it is in the store, and nobody knows of it yet.
  const args = ['backup', 'import', file, '--project', to.project, '--environment', to.environment];
  const untilListed = { db: there.home.platform.db, lock: sql`lock table backups in share mode` };
  const isStored = async () => (await snapshotsIn(there)).length > 0;
  expect(await killedBefore(untilListed, isStored, args, there.settings, key)).toBe(true);
  expect(await inRecovery(there)).toHaveLength(1);
  const [imported = ''] = (await importing(file)).split(' ', 1);
  const asItWas = { restorable: true, safe: true, automated: false, created_at: '2026-01-31T12:00:00.000000+00:00' };
  expect(await listed(there)).toMatchObject([{ id: imported, ...asItWas }]);
  expect(await there.blobs.list(there.project)).toEqual([imported]);
  expect(await inRecovery(there)).toEqual([]);
  expect(await withSettings(there.settings, () => listBackups([]))).toMatch(new RegExp(`^${imported} .* main .* restorable `, 'm'));

  const content = await backupContent(there.home.platform.db, there.secrets, imported);
  const original = await backupContent(here.home.platform.db, here.secrets, backup);
  expect(content?.stack).toEqual(original?.stack);
  expect(content?.parts).toEqual(original?.parts);
  const folder = join(scratch, 'restored');
  await mkdir(folder);
  if (content?.stored) await there.blobs.restore(there.project, content.stored, [{ name: 'storage-shop', folder }]);
  expect((await readFile(join(folder, 'words'))).equals(words)).toBe(true);
});

test('a backup that its only place has no more is damaged, also to a repair, until it is back', async () => {
  const [name = ''] = await snapshotsIn(here);
  const [file, away] = [join(here.kept, here.project, 'snapshots', name), join(scratch, name)];
  await rename(file, away);
  const repaired = () => withSettings(here.settings, () => repairBackups([here.project]));
  expect(await repaired()).toContain(`W: Backup ${backup} of main is damaged`);
  expect(await repaired()).not.toContain(backup);
  expect(await listed(here)).toMatchObject([{ id: backup, restorable: false }]);
  await rename(away, file);
  expect(await withSettings(here.settings, () => verifyBackups([backup]))).toContain('ok: it is whole again, and can be restored');
});

test('what is asked for and is not there is named', async () => {
  const said = (command: () => Promise<void>) => withSettings(there.settings, command);
  await expect(said(() => listBackups(['typo']))).rejects.toThrow('There is no project typo');
  const elsewhere = { ...here.settings, OFFSHOOT_BACKUPS: join(scratch, 'elsewhere') };
  await expect(withSettings(elsewhere, () => verifyBackups([backup]))).rejects.toThrow('1 of the backups that were read are not whole');
  expect(await listed(here)).toMatchObject([{ id: backup, restorable: true }]);
  await expect(said(() => importBackup([], {}, () => ''))).rejects.toThrow('Give the file: ./offshoot backup import');
});

test('a place that is added gets all that the others have, by a repair', async () => {
  const added = join(scratch, 'added');
  const settings = { ...here.settings, OFFSHOOT_BACKUPS: `${here.kept},${added}` };
  const lines = (await withSettings(settings, () => repairBackups([here.project]))).split('\n');
  expect(lines).toContain(`  Begun anew at ${added}, which has none of it`);
  expect(lines).toContain(`  Copied to ${added} from another place, and read back: backup ${backup}`);
  const verified = await withSettings({ ...settings, OFFSHOOT_BACKUPS: added }, () => verifyBackups([backup]));
  expect(verified).toBe(`${backup}  ${here.project}  main  ok`);
});
