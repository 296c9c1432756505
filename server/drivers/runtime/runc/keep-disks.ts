/**
 * Tells containers how large their volumes may be and what is in them, in a file that the `df` inside reads (df.pl). A container finds its volumes by the names that
 * its mounts have; those of its network share the file. It is written anew every few seconds, where something has changed.
 */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { VolumeUsage } from '../../volumes/volumes.ts';
import { readDescription } from './description.ts';
import type { Machine } from './lifecycle.ts';
import { attachments, namesFolder } from './networks.ts';
import { type RuntimeFolders, readText, scratchOf, writeWhole } from './runtime-folders.ts';

const lookMilliseconds = 5000;

export function keepDisksTold({ folders, volumes }: Machine, tell: (sentence: string) => void) {
  let looking: Promise<void> | undefined;
  let isFailing = false;
  const look = async () => {
    try {
      const byFolder = volumesByFolder(folders, volumes.folder);
      if (byFolder.size === 0) return;
      const usages = await volumes.usages();
      for (const [folder, names] of byFolder) writeDisks(folder, names, usages);
      isFailing = false;
    } catch (error) {
      if (!isFailing) tell(`Containers cannot be told what is in their volumes; it is tried again: ${String(error)}`);
      isFailing = true;
    }
  };
  const now = () => (looking ??= look().finally(() => (looking = undefined)));
  const timer = setInterval(() => void now(), lookMilliseconds);
  timer.unref();
  return {
    now: () => void now(),
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

/** The volumes of all containers, by the folder in which each container finds the names of others. */
function volumesByFolder(folders: RuntimeFolders, root: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { name } of attachments(folders)) {
    const description = readDescription(folders, name);
    if (!description) continue;
    const folder = namesFolder(folders, description);
    const mounted = description.mounts.map(({ from }) => relative(root, from).split('/')[0] ?? '');
    const names = [scratchOf(folders, name), ...mounted];
    found.set(folder, new Set([...(found.get(folder) ?? []), ...names]));
  }
  return found;
}

/** Writes the file, unless the folder is gone by now. */
function writeDisks(folder: string, names: ReadonlySet<string>, usages: ReadonlyMap<string, VolumeUsage>) {
  const file = join(folder, 'disks');
  const text = [...names]
    .toSorted()
    .flatMap((name) => {
      const usage = usages.get(name);
      return usage ? `${name} ${usage.bytesMax} ${usage.bytes}\n` : [];
    })
    .join('');
  if (existsSync(folder) && readText(file) !== text) writeWhole(file, text, 0o644);
}
