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

/** Clones all volumes as they are at one moment. What an interrupted attempt left is of another moment, and is removed first. */
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

/** Leaves out volumes that the parent never got as far as having. */
async function present({ volumes }: Disks, clonings: readonly Cloning[]): Promise<Cloning[]> {
  const found = await Promise.all(clonings.map(async (cloning) => ((await volumes.volume(cloning.from)) ? cloning : undefined)));
  return found.filter((cloning) => cloning !== undefined);
}

/** Keeps the volumes as they are, so that one can go back. Nothing may write to them now. */
export async function keepBefore({ volumes }: Disks, clonings: readonly Cloning[]): Promise<void> {
  for (const { to } of clonings) {
    await volumes.remove(beforeSnapshot(to));
    if (await volumes.volume(to)) await volumes.snapshot(to, beforeSnapshot(to));
  }
}

/** Puts the data of another stack in the place of its own. Nothing has its volumes mounted now. */
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

/** Swaps each volume in one move. Nothing may have them mounted now; those that were swapped before are left alone. */
export async function takeIn({ volumes }: Disks, clonings: readonly Cloning[]): Promise<void> {
  for (const { to, bytesMax } of clonings) {
    if (!(await volumes.volume(incomingSnapshot(to)))) continue;
    const own = await volumes.volume(to);
    if (own && own.bytesMax < bytesMax) await volumes.grow(to, bytesMax);
    // A volume that was lost comes back, too.
    if (own) await volumes.restore(to, incomingSnapshot(to));
    else await volumes.clone(incomingSnapshot(to), to, bytesMax);
    await volumes.remove(incomingSnapshot(to));
  }
}

/** Where data comes from that is not on the machine. */
export interface Source {
  /** Fills empty folders with what the volumes of those names held. */
  fetch(parts: readonly { name: string; folder: string }[], signal: AbortSignal): Promise<void>;
  /** How much the files take until their holes are dug again, as holes arrive filled. Zero: they have none. */
  bytesWithoutHoles: number;
}

/** A volume that was full may be a little larger when it is written anew. */
const arrivalSpareBytes = 64 * 2 ** 20;

/** Gathers what `takeIn` will put in the place of their data: what is called incoming is whole. What an interrupted attempt gathered goes first. */
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
