/** The volumes of a stack on the machine: made, cloned from another stack's, overwritten with another stack's, and removed. */
import { chown } from 'node:fs/promises';
import { appUser } from '../../drivers/images/service.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Machine } from '../../machine.ts';
import type { Platform } from '../../platform.ts';
import { volumesOf, type WantedVolume } from './containers.ts';
import { asOfOneMoment } from './one-moment.ts';
import { beforeSnapshot, incomingSnapshot, stackOfVolume } from './names.ts';
import type { Deployed } from './queries.ts';
import type { Stack } from './stack.ts';

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

/** All of one stack, with what is in them. */
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

/** What one stack has of the data that the other one is to have: the same services of the same types, and the same apps. */
export function cloningsOf(to: Stack, from: Stack): Cloning[] {
  const theirs = new Map(volumesOf(from).map((volume) => [volume.name.replace(from.id, ''), volume]));
  return volumesOf(to)
    .filter(({ isData }) => isData)
    .flatMap(({ name, bytesMax }) => {
      const their = theirs.get(name.replace(to.id, ''));
      return their ? { from: their.name, to: name, bytesMax: Math.max(bytesMax, their.bytesMax) } : [];
    });
}

/** All as they are at one moment. What an interrupted attempt left is of another one, and goes first. */
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

/** A parent that never got as far as having one has nothing to give. */
async function present({ volumes }: Disks, clonings: readonly Cloning[]): Promise<Cloning[]> {
  const found = await Promise.all(clonings.map(async (cloning) => ((await volumes.volume(cloning.from)) ? cloning : undefined)));
  return found.filter((cloning) => cloning !== undefined);
}

/** Nothing writes to them now. To be able to go back. */
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
  for (const { to, bytesMax } of there) {
    const own = await volumes.volume(to);
    if (!own) throw new Problem('unavailable', `The volume ${to} is not there.`);
    if (own.bytesMax < bytesMax) await volumes.grow(to, bytesMax);
    await volumes.restore(to, incomingSnapshot(to));
    await volumes.remove(incomingSnapshot(to));
  }
}

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
