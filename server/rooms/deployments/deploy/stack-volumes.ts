/** The volumes of a stack on the machine: made, cloned from another stack's, overwritten with another stack's or with a backup's, and removed. */
import { chown } from 'node:fs/promises';
import { appUser } from '../../../catalogue/service.ts';
import { digHoles } from '../../../drivers/volumes/dig-holes.ts';
import type { Machine } from '../../../machine.ts';
import type { Platform } from '../../../platform.ts';
import { volumesOf, type WantedVolume } from '../stack/containers.ts';
import { asOfOneMoment } from './freeze-volumes.ts';
import { arrivingVolume, beforeSnapshot, incomingSnapshot, nameInStack, stackOfVolume } from '../stack/names.ts';
import type { Deployed } from '../queries.ts';
import type { Stack } from '../stack/stack.ts';

type Disks = Pick<Machine, 'volumes'>;

export async function makeVolumes({ volumes }: Disks, wanted: readonly WantedVolume[]): Promise<void> {
  for (const { name, bytesMax } of wanted) {
    const { path } = await volumes.create(name, bytesMax);
    await chown(path, appUser.uid, appUser.gid);
  }
}

export async function resizeVolumes({ volumes }: Disks, wanted: readonly WantedVolume[]): Promise<void> {
  for (const { name, bytesMax } of wanted) if (await volumes.volume(name)) await volumes.grow(name, bytesMax);
}

export async function removeVolumes({ volumes }: Disks, names: readonly string[]): Promise<void> {
  for (const name of names) await volumes.remove(name);
}

/** Removes all volumes of one stack, with what is in them. */
export async function removeStackVolumes(machine: Disks, stackId: string): Promise<string[]> {
  const names = (await machine.volumes.list()).map(({ name }) => name).filter((name) => stackOfVolume(name) === stackId);
  await removeVolumes(machine, names);
  return names;
}

export interface Cloning {
  from: string;
  to: string;
  bytesMax: number;
}

/** The volumes that one stack can clone from another: those of the same services of the same types, and of the same apps. */
export function cloningsOf(to: Stack, from: Stack): Cloning[] {
  const theirs = new Map(volumesOf(from).map((volume) => [volume.name.replace(from.id, ''), volume]));
  return volumesOf(to)
    .filter(({ isData }) => isData)
    .flatMap(({ name, bytesMax }) => {
      const their = theirs.get(name.replace(to.id, ''));
      return their ? { from: their.name, to: name, bytesMax: Math.max(bytesMax, their.bytesMax) } : [];
    });
}

/** Clones all volumes as they are at one moment. Clones that an interrupted attempt left are of another moment, and are removed first. */
export async function cloneVolumes(platform: Platform, machine: Machine, from: Deployed, clonings: readonly Cloning[]): Promise<void> {
  const { volumes } = machine;
  await removeVolumes(
    machine,
    clonings.map(({ to }) => to),
  );
  const there = await present(machine, clonings);
  await asOfOneMoment(
    platform,
    machine,
    from,
    there.map((cloning) => cloning.from),
    () => Promise.all(there.map((cloning) => volumes.clone(cloning.from, cloning.to, cloning.bytesMax))),
  );
}

/** Leaves out volumes that were never made in the stack they would be cloned from. */
async function present({ volumes }: Disks, clonings: readonly Cloning[]): Promise<Cloning[]> {
  const found = await Promise.all(clonings.map(async (cloning) => ((await volumes.volume(cloning.from)) ? cloning : undefined)));
  return found.filter((cloning) => cloning !== undefined);
}

/** Keeps snapshots of the volumes, so that the old data can be brought back. Nothing may write to the volumes meanwhile. */
export async function keepBefore({ volumes }: Disks, clonings: readonly Cloning[]): Promise<void> {
  for (const { to } of clonings) {
    await volumes.remove(beforeSnapshot(to));
    if (await volumes.volume(to)) await volumes.snapshot(to, beforeSnapshot(to));
  }
}

/** Replaces the data of a stack with that of another. Nothing may have the stack's volumes mounted meanwhile. */
export async function overwriteVolumes(platform: Platform, machine: Machine, from: Deployed, clonings: readonly Cloning[]): Promise<void> {
  const { volumes } = machine;
  await removeVolumes(
    machine,
    clonings.map(({ to }) => incomingSnapshot(to)),
  );
  const there = await present(machine, clonings);
  await asOfOneMoment(
    platform,
    machine,
    from,
    there.map((cloning) => cloning.from),
    () => Promise.all(there.map((cloning) => volumes.snapshot(cloning.from, incomingSnapshot(cloning.to)))),
  );
  await takeIn(machine, there);
}

/** Swaps each volume in one move. Nothing may have the volumes mounted meanwhile; those that were already swapped are left alone. */
export async function takeIn({ volumes }: Disks, clonings: readonly Cloning[]): Promise<void> {
  for (const { to, bytesMax } of clonings) {
    if (!(await volumes.volume(incomingSnapshot(to)))) continue;
    const own = await volumes.volume(to);
    if (own && own.bytesMax < bytesMax) await volumes.grow(to, bytesMax);
    // A volume that was lost is made again from the incoming data.
    if (own) await volumes.restore(to, incomingSnapshot(to));
    else await volumes.clone(incomingSnapshot(to), to, bytesMax);
    await volumes.remove(incomingSnapshot(to));
  }
}

/** A source of data that is not on the machine. */
export interface Source {
  /** Fills empty folders with what the volumes of those names held. */
  fetch(parts: readonly { name: string; folder: string }[], signal: AbortSignal): Promise<void>;
  /** How much room the files take with their holes filled, as they arrive, until the holes are dug again. Zero: the files have no holes. */
  bytesWithoutHoles: number;
}

/** A volume that was full may be a little larger when it is written anew. */
const arrivalSpareBytes = 64 * 2 ** 20;

/** Gathers the data with which `takeIn` will replace the volumes'. A snapshot that is called incoming is complete; what an interrupted attempt gathered is removed first. */
export async function fetchVolumes({ volumes }: Disks, source: Source, clonings: readonly Cloning[], signal: AbortSignal): Promise<void> {
  const { fetch, bytesWithoutHoles } = source;
  const missing = await Promise.all(
    clonings.map(async (cloning) => ((await volumes.volume(incomingSnapshot(cloning.to))) ? [] : [cloning])),
  );
  const parts = [];
  for (const { from, to, bytesMax } of missing.flat()) {
    await volumes.remove(arrivingVolume(to));
    const { path } = await volumes.create(arrivingVolume(to), Math.max(bytesMax, bytesWithoutHoles) + arrivalSpareBytes);
    parts.push({ name: nameInStack(from), folder: path });
  }
  if (parts.length > 0) await fetch(parts, signal);
  if (bytesWithoutHoles > 0) for (const { folder } of parts) await digHoles(folder);
  for (const { to } of missing.flat()) {
    await volumes.snapshot(arrivingVolume(to), incomingSnapshot(to));
    await volumes.remove(arrivingVolume(to));
  }
}

export const removeFetched = (machine: Disks, clonings: readonly Cloning[]): Promise<void> =>
  removeVolumes(
    machine,
    clonings.flatMap(({ to }) => [arrivingVolume(to), incomingSnapshot(to)]),
  );

export async function bringBackBefore({ volumes }: Disks, clonings: readonly Cloning[]): Promise<void> {
  for (const { to } of clonings) {
    if (await volumes.volume(beforeSnapshot(to))) await volumes.restore(to, beforeSnapshot(to));
    await volumes.remove(incomingSnapshot(to));
  }
}

export const forgetBefore = (machine: Disks, clonings: readonly Cloning[]): Promise<void> =>
  removeVolumes(
    machine,
    clonings.map(({ to }) => beforeSnapshot(to)),
  );
