/**
 * The life of a backup: a copy on the pool, of one moment, which takes no time; then all of it goes into the store, and is read back from there. Only then it can
 * be restored from, in one transaction with the end of the work: a backup that failed, at whatever step, leaves nothing but its log. What would change the
 * environment waits for the copy, not for the store.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import type { Damage, Part, Stored } from '../../drivers/blobs/blobs.ts';
import { repairingOnce } from '../../drivers/blobs/repairing-once.ts';
import { activity, type Work } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import { nudge } from '../../kernel/reconciler.ts';
import type { Machine } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { currentlyDeployed, type Deployed } from '../deployments/public.ts';
import { forgetSnapshots, removeSnapshots, snapshotStack, wakeForWork, type Snapshots } from '../deployments/work.ts';
import { manifestOf, manifestPart } from './manifest.ts';
import { sizesOf, type BackupPart } from './parts.ts';
import { abandonBackup, insertBackup, makeRestorable, storedBefore } from './queries.ts';
import { repairStore } from './repair-store.ts';
import { finishSlot, indexInSlots } from './slots.ts';
import { withinStoreLimit } from './store-limit.ts';
import { removeOldBackups } from './remove-old-backups.ts';

const keptDays = 30;
const percent = { taken: 10, stored: 70, verified: 95 };

const BackupInput = Type.Object({
  environment: Type.String(),
  backup: Type.String(),
  safe: Type.Boolean(),
  /** When the backup was due; null where somebody asked for it. */
  slot: Type.Union([Type.String(), Type.Null()]),
});
type BackupWork = Work<Static<typeof BackupInput>>;

export const backupActivity = activity({
  type: 'environment.backup',
  queue: 'backup',
  usesMachine: true,
  isPatient: true,
  keptDays,
  input: BackupInput,
  run: async (work, platform) => {
    const { input, log } = work;
    await begin(work, platform);
    const snapshots = await takeSnapshots(work, platform);
    await work.letOthersPass();
    work.progress(percent.taken);
    const { stored, parts } = await storeWhole(work, platform, snapshots);
    await work.step('remove copies', async () => removeSnapshots(await platform.machine(), input.backup));
    await work.record('make restorable', async (tx) => {
      await makeRestorable(tx, { id: input.backup, stored, parts, ...sizesOf(parts), taken_at: snapshots.taken_at });
      if (input.slot !== null) await finishSlot(tx, work.activity.project_id, input.environment, input.slot);
      await nudge(tx, removeOldBackups);
    });
    log(`Backup ${input.backup} can be restored`);
  },
});

/** Inserts the row: from here on, whatever is found of the backup has an owner. */
async function begin({ activity: self, input, record }: BackupWork, platform: Platform): Promise<void> {
  const { db, secrets } = platform;
  await record(
    'begin backup',
    async (tx) => {
      const { stack } = await deployedIn(platform, self.project_id, input.environment);
      const index = input.slot === null ? null : await indexInSlots(tx, self.project_id, input.environment);
      const slot = input.slot === null || index === null ? null : { at: input.slot, index };
      await insertBackup(tx, secrets, { id: input.backup, stack, safe: input.safe, slot, activity_id: self.id });
    },
    async () => {
      await abandonBackup(db, input.backup);
      await nudge(db, removeOldBackups);
    },
  );
}

async function deployedIn({ db, secrets }: Platform, projectId: string, environment: string): Promise<Deployed> {
  const deployed = await currentlyDeployed(db, secrets, projectId, environment);
  if (!deployed) throw new Problem('conflict', `Nothing is deployed in ${environment}; there is nothing to back up.`);
  return deployed;
}

/** All that is done in the environment itself: once the snapshots are taken, others may work on the environment, or delete it. */
const takeSnapshots = (work: BackupWork, platform: Platform): Promise<Snapshots> => {
  const { activity: self, input, step, log } = work;
  const { environment, backup, safe } = input;
  return step(
    'take copies',
    async () => {
      await wakeForWork(work, platform, [environment]);
      const deployed = await deployedIn(platform, self.project_id, environment);
      log(`Backing up ${environment} (commit ${deployed.stack.commit_id.slice(0, 7)}) as ${backup}`);
      const snapshots = await snapshotStack(platform, deployed, backup, { safe });
      const copied = snapshots.parts.filter(({ kind }) => kind !== 'slug').map(({ name }) => name);
      log(`  Copied ${copied.length === 0 ? 'no data, as the environment keeps none' : copied.join(', ')}, as of ${snapshots.taken_at}`);
      log(safe ? `  Requests waited for ${seconds(snapshots.heldMilliseconds)} meanwhile` : '  No request had to wait');
      return snapshots;
    },
    async (taken) =>
      taken ? removeSnapshots(await platform.machine(), backup) : forgetSnapshots(platform, self.project_id, environment, backup),
  );
};

interface InStore {
  stored: Stored;
  parts: BackupPart[];
}

/**
 * Data that the store has already is not stored again, so damage to it would damage the new backup, too. Then the damaged data is taken out of use, and
 * everything is stored once more.
 */
function storeWhole(work: BackupWork, platform: Platform, snapshots: Snapshots): Promise<InStore> {
  let again = '';
  const storeAndVerify = async () => {
    const inStore = await storeParts(work, platform, snapshots, `store${again}`);
    await verify(work, platform, inStore.stored, `verify${again}`);
    return inStore;
  };
  const repair = async ({ message }: Damage) => {
    await work.step('repair the store', async (signal) => {
      work.log(`W: ${message} The store is repaired, and the backup stored once more.`);
      await repairStore(platform, work.activity.project_id, work.log, signal);
    });
    again = ' again';
  };
  return repairingOnce(storeAndVerify, repair);
}

/** What a failure leaves in the store is found by the row, and forgotten (remove-old-backups.ts): the store may be what fails. */
const storeParts = (work: BackupWork, platform: Platform, snapshots: Snapshots, name: string): Promise<InStore> =>
  work.step(name, async (signal) => {
    const { activity: self, input, log, progress } = work;
    const { db, blobs } = platform;
    const machine = await platform.machine();
    const parts = await measured(machine, snapshots);
    const manifest = await writeManifest(machine, platform, input.backup, parts);
    const folders = [...(await foldersOf(machine, snapshots)), manifest];
    return storeWhenFree(work, platform, signal, async () => {
      const startedAt = performance.now();
      const stored = await blobs.store(self.project_id, input.backup, folders, {
        after: await storedBefore(db, self.project_id, input.environment),
        takenAt: snapshots.taken_at,
        progress: (share) => progress(percent.taken + share * (percent.stored - percent.taken)),
        signal,
      });
      log(`  Stored ${megabytes(stored.bytes)}, of which ${megabytes(stored.bytesAdded)} were added to the store, in ${since(startedAt)}`);
      return { stored, parts };
    });
  });

const storeWhenFree = <T>(work: BackupWork, { db }: Platform, signal: AbortSignal, store: () => Promise<T>): Promise<T> =>
  withinStoreLimit(
    db,
    work.activity.project_id,
    work,
    { signal, onWait: () => work.log('  Waiting for other backups to be stored') },
    store,
  );

/** The parts with their sizes and limits. */
const measured = ({ volumes }: Machine, { parts }: Snapshots): Promise<BackupPart[]> =>
  Promise.all(
    parts.map(async ({ name, kind, of, type, volume }) => {
      const { bytes, bytesMax } = await volumes.usage(volume);
      return { name, kind, of, type, bytes_max: bytesMax, bytes };
    }),
  );

/** How long the files of a volume may be together, as a multiple of its limit: files with holes, or with shared content, are longer than what they take. */
const lengthPerByteMax = 8;

const foldersOf = ({ volumes }: Machine, { parts }: Snapshots): Promise<Part[]> =>
  Promise.all(
    parts.map(async ({ name, volume }) => {
      const found = await volumes.volume(volume);
      if (!found) throw new Problem('unavailable', `The copy ${volume} is not there any more; try again.`);
      return { name, folder: found.path, bytesMax: lengthPerByteMax * found.bytesMax };
    }),
  );

const manifestBytesMax = 64 * 2 ** 20;

/** What it takes to make an environment of the parts, for whoever has nothing but the store. */
async function writeManifest({ volumes }: Machine, { db }: Platform, backup: string, parts: BackupPart[]): Promise<Part> {
  const { path } = await volumes.create(manifestPart.volume(backup), manifestBytesMax);
  await writeFile(join(path, manifestPart.file), JSON.stringify(await manifestOf(db, backup, parts)), { mode: 0o600 });
  return { name: manifestPart.name, folder: path };
}

const verify = (work: BackupWork, platform: Platform, stored: Stored, name: string): Promise<void> =>
  work.step(name, (signal) =>
    storeWhenFree(work, platform, signal, async () => {
      const startedAt = performance.now();
      await platform.blobs.verify(work.activity.project_id, stored, signal);
      work.progress(percent.verified);
      work.log(`  Read all of it back from ${places(stored)} in ${since(startedAt)}`);
    }),
  );

const places = ({ places: all }: Stored) => Object.keys(all).join(', ');

const megabyte = 2 ** 20;

const megabytes = (bytes: number) => `${(bytes / megabyte).toFixed(1)} MB`;
const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(2)} s`;
const since = (startedAt: number) => seconds(performance.now() - startedAt);
