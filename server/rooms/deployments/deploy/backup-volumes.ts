/**
 * What an environment keeps, copied for its backup: read-only, all of one moment, and named by the backup, so that whoever finds a copy can tell whether
 * it is needed. Requests may be held at that moment, so that none is half done in what is copied; whatever happens, they are let through afterwards (hold-requests.ts).
 */
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { Problem } from '../../../kernel/problem.ts';
import { volumesOf } from '../stack/containers.ts';
import { whileHeld } from './hold-requests.ts';
import { isToRun, keptStack } from '../running/kept-stacks.ts';
import { backupOfSnapshot, backupSnapshot, dataVolume, nameInStack, storageVolume } from '../stack/names.ts';
import { asOfOneMoment, putOnDisk } from './freeze-volumes.ts';
import { currentlyDeployed, type Deployed } from '../queries.ts';
import { slugPart } from './restoring.ts';
import { storageOwners } from '../sizes/sizes.ts';
import type { Stack } from '../stack/stack.ts';
import { removeVolumes } from './stack-volumes.ts';
import { tellEdge } from './traffic.ts';

/** A volume that belongs in a backup. */
export interface VolumePart {
  /** The name of the part in the backup. */
  name: string;
  kind: 'data' | 'storage' | 'slug';
  /** The service, app or worker that the volume belongs to. */
  of: string;
  /** The type of a service, with its version. */
  type: string | null;
  volume: string;
}

/** The volumes that the stack should have. */
export function partsOfStack(stack: Stack): VolumePart[] {
  const { id, model, slugs } = stack;
  const services = new Map(Object.values(model.services).map((service) => [dataVolume(id, service.name, service.type), service]));
  const owners = new Map([...storageOwners(model)].map((owner) => [storageVolume(id, owner), owner]));
  const kept = volumesOf(stack).filter(({ isData }) => isData);
  return [
    ...kept.map(({ name: volume }): VolumePart => {
      const [service, name] = [services.get(volume), nameInStack(volume)];
      if (service) return { name, kind: 'data', of: service.name, type: service.type, volume };
      return { name, kind: 'storage', of: owners.get(volume) ?? '', type: null, volume };
    }),
    ...Object.entries(slugs).map(([app, { volume }]): VolumePart => ({ name: slugPart(app), kind: 'slug', of: app, type: null, volume })),
  ];
}

export interface Snapshots {
  /** The parts whose volumes exist, each with the name of its copy instead of that of the volume. */
  parts: VolumePart[];
  taken_at: string;
  /** How long requests waited. */
  heldMilliseconds: number;
}

export async function snapshotStack(platform: Platform, deployed: Deployed, backup: string, manner: { safe: boolean }): Promise<Snapshots> {
  const machine = await platform.machine();
  await removeSnapshots(machine, backup);
  const parts = await present(machine, partsOfStack(deployed.stack));
  const copied = parts.map((part) => ({ ...part, volume: backupSnapshot(backup, part.name) }));
  const [slugs, kept] = [parts.filter(({ kind }) => kind === 'slug'), parts.filter(({ kind }) => kind !== 'slug')];
  await rehearse(machine, deployed, backup, kept);
  // Slugs never change, so nobody has to wait; but they are removed once no deployment needs them, so they are copied first.
  await copyParts(machine, backup, slugs);
  const take = () => snapshotParts(platform, machine, deployed, backup, kept);
  const { project, environment } = deployed.stack;
  // An environment that stayed asleep for want of room has no requests to hold, and must not be opened.
  const isAsleep = (await keptStack(platform.db, project.id, environment.id))?.is_sleeping ?? false;
  if (!manner.safe || isAsleep) return { parts: copied, taken_at: await take(), heldMilliseconds: 0 };
  const startedAt = performance.now();
  const taken_at = await whileHeld(machine, deployed, take);
  return { parts: copied, taken_at, heldMilliseconds: Math.round(performance.now() - startedAt) };
}

/** Leaves out volumes that were never made; but a missing slug is a failure, as its app could not be restored. */
async function present({ volumes }: Machine, parts: readonly VolumePart[]): Promise<VolumePart[]> {
  const found = await Promise.all(parts.map(async (part) => ({ part, isThere: (await volumes.volume(part.volume)) !== undefined })));
  const missing = found.find(({ part, isThere }) => part.kind === 'slug' && !isThere);
  if (missing)
    throw new Problem(
      'conflict',
      `The build of ${missing.part.of} is not on this machine any more; redeploy the environment, then try again.`,
    );
  return found.filter(({ isThere }) => isThere).map(({ part }) => part);
}

const copyParts = ({ volumes }: Machine, backup: string, parts: readonly VolumePart[]) =>
  Promise.all(parts.map(({ name, volume }) => volumes.snapshot(volume, backupSnapshot(backup, name))));

/** Makes copies that are thrown away, so that services and the file system write what they have yet to write: the copies that count then take no time. */
async function rehearse(machine: Machine, deployed: Deployed, backup: string, parts: readonly VolumePart[]) {
  if (!machine.volumes.clonesWhileWritten) return;
  await putOnDisk(machine, deployed, volumesIn(parts));
  await copyParts(machine, backup, parts);
  await removeSnapshots(machine, backup);
}

const volumesIn = (parts: readonly VolumePart[]) => parts.map(({ volume }) => volume);

/** Returns the moment at which the copies were made. */
function snapshotParts(platform: Platform, machine: Machine, deployed: Deployed, backup: string, parts: readonly VolumePart[]) {
  return asOfOneMoment(platform, machine, deployed, volumesIn(parts), async () => {
    await copyParts(machine, backup, parts);
    return new Date().toISOString();
  });
}

/** Takes a killed backup back: held requests go on, and no copy is left. */
export async function forgetSnapshots(platform: Platform, projectId: string, environment: string, backup: string): Promise<void> {
  const { db, secrets } = platform;
  const machine = await platform.machine();
  const [kept, deployed] = [await keptStack(db, projectId, environment), await currentlyDeployed(db, secrets, projectId, environment)];
  if (kept && isToRun(kept) && deployed) await tellEdge(machine, deployed, 'open');
  await removeSnapshots(machine, backup);
}

/** Removes all that was made on the pool for the backup. */
export async function removeSnapshots(machine: Pick<Machine, 'volumes'>, backup: string): Promise<void> {
  const names = (await machine.volumes.list()).map(({ name }) => name).filter((name) => backupOfSnapshot(name) === backup);
  await removeVolumes(machine, names);
}

/** The ids of backups that have copies on the pool. */
export const backupsWithSnapshots = async ({ volumes }: Pick<Machine, 'volumes'>): Promise<Set<string>> =>
  new Set((await volumes.list()).flatMap(({ name }) => backupOfSnapshot(name) ?? []));
