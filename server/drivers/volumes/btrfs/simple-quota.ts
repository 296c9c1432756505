/**
 * Volumes kept to their size with simple quotas, which charge whoever writes something, for as long as anybody has it.
 *
 * Until a volume is cloned, the charge is what is in it, and the limit of the charge is the size of the volume. From then on the two differ: a clone begins
 * without any charge, and what the original removes or overwrites stays charged to it as long as a clone has it. Volumes that came from each other are
 * a family, whose name is kept beside the data of each. In a family
 *
 * - the kernel lets a volume write as much as its size again, counted from the last clone: while it stays within its size it can never need more;
 * - `keep`, called now and then, counts what is really in those that changed, and refuses further writes to what has outgrown its size;
 * - whoever is the last of its family shares nothing, so that its charge grows exactly as it does: from then on the kernel's limit is exact again.
 */
import { readlink, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { commandSecondsMax, errorCode, longCommandSecondsMax, run } from '../../command.ts';
import type { Volume } from '../volumes.ts';
import { chargedByName, chargedFor, chargedForAll, type Charged, limitCharge, subvolumeId } from './quota.ts';

const program = join(import.meta.dirname, 'measure.pl');
/** How long `keep` measures in one go; the rest is measured the next time. */
const keepSecondsMax = 2;
/** After a measurement that took longer than `afterMilliseconds`, the machine is left to others for so many times as long. */
const rest = { afterMilliseconds: 250, times: 20 };

/** The mark is a symbolic link that leads nowhere: it exists with its text or not at all, even after a power failure. */
const familyMark = (data: string) => join(data, '..', 'family');

/** Called before there is a copy, so that nobody takes the original for the last of its family. */
export async function joinFamily(from: string, to: string): Promise<void> {
  const family = (await familyOf(from)) ?? (await foundFamily(from));
  await markFamily(to, family);
}

async function foundFamily(data: string): Promise<string> {
  const family = await subvolumeId(data);
  await markFamily(data, family);
  return family;
}

const markFamily = (data: string, family: string) =>
  symlink(family, familyMark(data)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
  });

/** Undefined: the volume has never been cloned, and is no clone. */
const familyOf = (data: string): Promise<string | undefined> =>
  readlink(familyMark(data)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    return undefined;
  });

export async function limitSimply(root: string, data: string, bytesMax: number): Promise<void> {
  const isAlone = (await familyOf(data)) === undefined;
  const { id, bytes } = isAlone ? { id: await subvolumeId(data), bytes: 0 } : await chargedFor(data);
  await limitCharge(root, id, bytes + bytesMax);
}

/** Volumes from before there were simple quotas become one family: what is in them is charged to nobody, and which was cloned from which is not known. */
export async function adoptVolumes(volumes: readonly string[]): Promise<void> {
  for (const data of volumes) await markFamily(data, 'earlier');
}

export async function simpleUsage(data: string): Promise<Pick<Charged, 'bytes' | 'exclusiveBytes'>> {
  const charged = await chargedFor(data);
  if ((await familyOf(data)) === undefined) return charged;
  const [{ bytes } = charged] = await measured([{ data, generation: 0 }], commandSecondsMax);
  return { bytes, exclusiveBytes: Math.min(charged.exclusiveBytes, bytes) };
}

/** When a volume was measured, what was in it, and whether it was alone in its family then. */
interface Seen {
  generation: number;
  bytes: number;
  isLast: boolean;
}

export function openKeeper(root: string) {
  const seen = new Map<string, Seen>();
  let restsUntil = 0;
  const keep = async (volumes: readonly Volume[]): Promise<void> => {
    if (Date.now() < restsUntil) return;
    const waiting = await relatives(volumes, seen);
    for (const data of seen.keys()) if (!waiting.has(data)) seen.delete(data);
    if (waiting.size === 0) return;
    const began = Date.now();
    const asked = [...waiting].map(([data, { generation }]) => ({ data, generation }));
    const found = await measured(
      asked.toSorted((a, b) => a.generation - b.generation),
      keepSecondsMax,
    );
    const charged = found.length === 0 ? new Map<string, Charged>() : await chargedForAll(root);
    for (const { data, id, generation, bytes } of found) {
      const { bytesMax = 0, isLast = false } = waiting.get(data) ?? {};
      const room = isLast || bytes > bytesMax ? bytesMax - bytes : bytesMax;
      // A volume that was removed meanwhile needs no limit.
      if (charged.has(id)) await limitCharge(root, id, Math.max(1, (charged.get(id)?.bytes ?? 0) + room));
      seen.set(data, { generation, bytes, isLast });
    }
    const tookMilliseconds = Date.now() - began;
    if (tookMilliseconds > rest.afterMilliseconds) restsUntil = Date.now() + tookMilliseconds * rest.times;
  };
  const usages = async () => {
    const charged = await chargedByName(root);
    for (const [data, { bytes }] of seen) {
      const own = charged.get(basename(dirname(data)));
      if (own) own.bytes = bytes;
    }
    return charged;
  };
  return { keep, usages };
}

/** The writable volumes that are in families, each with the time it was last measured: never, where its family has changed since. */
async function relatives(volumes: readonly Volume[], seen: ReadonlyMap<string, Seen>) {
  const families = await Promise.all(volumes.map(async (volume) => ({ volume, family: await familyOf(volume.path) })));
  const members = Map.groupBy(families, ({ family }) => family);
  const writable = families.filter(({ volume, family }) => family !== undefined && !volume.isSnapshot);
  return new Map(
    writable.map(({ volume: { path, bytesMax }, family }) => {
      const isLast = members.get(family)?.length === 1;
      const before = seen.get(path);
      return [path, { bytesMax, isLast, generation: before?.isLast === isLast ? before.generation : 0 }];
    }),
  );
}

interface Measured {
  data: string;
  id: string;
  generation: number;
  bytes: number;
}

async function measured(asked: readonly { data: string; generation: number }[], secondsMax: number): Promise<Measured[]> {
  const args = asked.flatMap(({ data, generation }) => [data, String(generation)]);
  const told = await run('perl', [program, String(secondsMax), ...args], longCommandSecondsMax);
  return told
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => {
      const [number = '', id = '', generation, bytes] = line.split(' ');
      const data = asked[Number(number)]?.data;
      return data === undefined ? [] : [{ data, id, generation: Number(generation), bytes: Number(bytes) }];
    });
}
