/**
 * How btrfs counts what volumes take, and keeps them to their limits. There are two ways.
 *
 * Quota groups count everything that a volume refers to. Their numbers are exact, and cost more the more clones share it: with 100 clones of 20,000 small
 * files a change in one of them stops every write on the pool for up to half a minute. Kernels before 6.7 have nothing else.
 *
 * Simple quotas cost nothing: whoever writes something is charged for it until nobody has it any more (simple-quota.ts says how volumes are limited so). A
 * pool of our own has them wherever the kernel knows them. A folder on somebody else's btrfs stays as it is found: older kernels could not mount it any more.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { longCommandSecondsMax, run } from '../../command.ts';

export type QuotaMode = 'full' | 'simple';

/** The kernel's names for the modes. */
const modes: Record<string, QuotaMode> = { qgroup: 'full', squota: 'simple' };
const program = join(import.meta.dirname, 'quota.pl');

export const kernelHasSimpleQuota = () => existsSync('/sys/fs/btrfs/features/simple_quota');

/** Undefined: nothing is counted. */
export async function quotaMode(folder: string): Promise<QuotaMode | undefined> {
  const id = (await run('perl', [program, folder])).trim();
  const settings = `/sys/fs/btrfs/${id}/qgroups`;
  if (!existsSync(settings)) return undefined;
  // A kernel that does not tell the mode has only one.
  const mode = await readFile(join(settings, 'mode'), 'utf8').catch(() => 'qgroup');
  return modes[mode.trim()];
}

/** The kernel counts what was there before in the background. */
export async function ensureQuota(folder: string): Promise<QuotaMode> {
  const mode = await quotaMode(folder);
  if (mode === undefined) await run('btrfs', ['quota', 'enable', folder]);
  return mode ?? 'full';
}

export const enableSimpleQuota = (folder: string) => run('perl', [program, folder, 'simple']);

export const disableQuota = (folder: string) => run('btrfs', ['quota', 'disable', folder]);

export interface Charged {
  /** The id of the subvolume. */
  id: string;
  bytes: number;
  exclusiveBytes: number;
}

/** What the kernel has counted for one subvolume. */
export async function chargedFor(folder: string): Promise<Charged> {
  const [counted] = chargedIn(await run('btrfs', ['qgroup', 'show', '--raw', '-f', folder])).values();
  if (!counted) throw new Error(`btrfs does not tell the usage of ${folder}.`);
  return counted;
}

/** What the kernel has counted, by the id of the subvolume. */
export const chargedForAll = async (root: string) =>
  chargedIn(await run('btrfs', ['qgroup', 'show', '--raw', root], longCommandSecondsMax));

/** What the kernel has counted, by the name of the volume: two commands, however many volumes there are. */
export async function chargedByName(root: string): Promise<Map<string, Charged>> {
  const [listed, charged] = await Promise.all([run('btrfs', ['subvolume', 'list', root], longCommandSecondsMax), chargedForAll(root)]);
  const names = [...listed.matchAll(/^ID (\d+) .* path (?:.*\/)?volumes\/([a-z0-9-]+)\/data$/gm)];
  return new Map(names.map(([, id = '', name = '']) => [name, charged.get(id) ?? { id, bytes: 0, exclusiveBytes: 0 }]));
}

const chargedIn = (table: string) =>
  new Map(
    [...table.matchAll(/^0\/(\d+)\s+(\d+)\s+(\d+)/gm)].map(([, id = '', bytes, exclusiveBytes]) => [
      id,
      { id, bytes: Number(bytes), exclusiveBytes: Number(exclusiveBytes) },
    ]),
  );

export const subvolumeId = async (folder: string) => (await run('btrfs', ['inspect-internal', 'rootid', folder])).trim();

/** Asked for at the root, which has no limit: a change inside a full subvolume would be refused as one more write to it. */
export async function limitCharge(root: string, id: string, bytesMax: number): Promise<void> {
  await run('btrfs', ['qgroup', 'limit', String(bytesMax), `0/${id}`, root]);
}
