/**
 * Numbers for networks, unique on the machine: each stands for 128 addresses out of 100.64.0.0/10, which nobody routes on the internet, and
 * for 65,536 user ids. A claim is a file that only one can create; one from before the last boot is void.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../../../kernel/problem.ts';
import { type RuntimeFolders, entriesOf, readText, slotsFolder, writeWhole } from './runtime-folders.ts';

const slotsMax = 8192;
export const hostsMax = 125;
const hostsPerSlot = 128;
const firstAddress = (100 << 24) + (64 << 16);

const dotted = (address: number) => [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
export const subnetOf = (slot: number) => `${dotted(firstAddress + slot * hostsPerSlot)}/25`;
export const gatewayOf = (slot: number) => addressOf(slot, 1);
export const addressOf = (slot: number, host: number) => dotted(firstAddress + slot * hostsPerSlot + host);

/** Made from the network address, so that whoever remembers that of a container that is gone also knows its successor. A bridge would otherwise change its own with its members. */
export const hardwareAddressOf = (slot: number, host: number) =>
  [
    '02',
    'f5',
    ...addressOf(slot, host)
      .split('.')
      .map((part) => Number(part).toString(16).padStart(2, '0')),
  ].join(':');

const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
const claimOf = (folders: RuntimeFolders) => `${bootId} ${folders.instance}\n`;

export const bootedSince = (file: string) => readText(file)?.trim() !== bootId;
export const noteBoot = (file: string) => writeWhole(file, bootId);

export function claimSlot(folders: RuntimeFolders): number {
  for (let slot = 0; slot < slotsMax; slot++) {
    if (tryClaim(folders, slot)) return slot;
  }
  throw new Problem('unavailable', 'This machine has no addresses left for another network; remove environments that are not needed.');
}

function tryClaim(folders: RuntimeFolders, slot: number): boolean {
  const file = join(slotsFolder, String(slot));
  const holder = readText(file);
  if (holder !== undefined && holder.startsWith(bootId)) return false;
  if (holder !== undefined) rmSync(file, { force: true });
  // A link appears with its content, or not at all.
  const scratch = join(slotsFolder, `.${folders.instance}`);
  writeFileSync(scratch, claimOf(folders));
  try {
    linkSync(scratch, file);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(scratch);
  }
}

export const releaseSlot = (slot: number) => rmSync(join(slotsFolder, String(slot)), { force: true });

export const claimedSlots = (folders: RuntimeFolders): number[] =>
  entriesOf(slotsFolder)
    .filter((slot) => /^\d+$/.test(slot) && readText(join(slotsFolder, slot)) === claimOf(folders))
    .map(Number);
