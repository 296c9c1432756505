/**
 * Control groups, read and written as files, on machines with version 1, version 2, or both. runc makes and removes those of containers; we
 * read what they count, freeze them, and make a place for the monitors, so that stopping the platform's own service does not stop them.
 */
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { entriesOf, readText } from './runtime-folders.ts';

interface Hierarchies {
  /** Whether version 2 manages the resources. */
  unified: boolean;
  /** Where each controller is, under version 1. */
  folderOf(controller: string): string;
  /** The tree of version 2, if there is one at all. */
  unifiedFolder: string | undefined;
  all: string[];
}

const mountPoint = '/sys/fs/cgroup';

function findHierarchies(): Hierarchies {
  const unified = existsSync(join(mountPoint, 'cgroup.controllers'));
  const hybrid = join(mountPoint, 'unified');
  const unifiedFolder = unified ? mountPoint : existsSync(join(hybrid, 'cgroup.procs')) ? hybrid : undefined;
  const all = unified ? [mountPoint] : entriesOf(mountPoint).map((entry) => join(mountPoint, entry));
  return { unified, unifiedFolder, all, folderOf: (controller) => (unified ? mountPoint : join(mountPoint, controller)) };
}

const hierarchies = findHierarchies();

const fileOf = (controller: string, cgroup: string, file: string) => join(hierarchies.folderOf(controller), cgroup, file);
const numberIn = (file: string) => Number(readText(file) ?? 0);
/** The number behind a word at the start of a line. */
const countIn = (file: string, word: string) => Number(new RegExp(`^${word} (\\d+)`, 'm').exec(readText(file) ?? '')?.[1] ?? 0);

/** The file that counts processes killed for want of memory. It is there until runc deletes the container. */
export const outOfMemoryFile = (cgroup: string) => fileOf('memory', cgroup, hierarchies.unified ? 'memory.events' : 'memory.oom_control');
export const outOfMemoryCount = (cgroup: string) => countIn(outOfMemoryFile(cgroup), 'oom_kill');
/** How often a process could not be started because there were too many. */
export const refusedForkCount = (cgroup: string) => countIn(fileOf('pids', cgroup, 'pids.events'), 'max');
export const memoryUsed = (cgroup: string) =>
  numberIn(fileOf('memory', cgroup, hierarchies.unified ? 'memory.current' : 'memory.usage_in_bytes'));

/** The file that freezes a control group, and what is written into it. */
export const freezer = (cgroup: string) =>
  hierarchies.unified
    ? { file: fileOf('', cgroup, 'cgroup.freeze'), frozen: '1', thawed: '0' }
    : { file: fileOf('freezer', cgroup, 'freezer.state'), frozen: 'FROZEN', thawed: 'THAWED' };

export function isFrozen(cgroup: string): boolean {
  const { file, thawed } = freezer(cgroup);
  return (readText(file)?.trim() ?? thawed) !== thawed;
}

export function freeze(cgroup: string) {
  const { file, frozen } = freezer(cgroup);
  writeFileSync(file, frozen);
}

export function thaw(cgroup: string) {
  const { file, thawed } = freezer(cgroup);
  if (existsSync(file)) writeFileSync(file, thawed);
}

export function processesIn(cgroup: string): number[] {
  const file = hierarchies.unified ? fileOf('', cgroup, 'cgroup.procs') : fileOf('pids', cgroup, 'cgroup.procs');
  return (readText(file) ?? '').split('\n').filter(Boolean).map(Number);
}

/** The control groups below the parent, in any hierarchy. */
export function cgroupsIn(parent: string): string[] {
  const folders = hierarchies.all.map((hierarchy) => join(hierarchy, parent)).filter((folder) => existsSync(folder));
  return [
    ...new Set(
      folders.flatMap((folder) =>
        readdirSync(folder, { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map(({ name }) => name),
      ),
    ),
  ];
}

/** Removes the folders of a control group; those still in use stay. */
export function removeCgroup(cgroup: string) {
  for (const folder of hierarchies.all.map((hierarchy) => join(hierarchy, cgroup)).filter((folder) => existsSync(folder))) {
    try {
      rmdirSync(folder);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && ['ENOENT', 'EBUSY', 'ENOTEMPTY', 'ENOTDIR'].includes(String(error.code))))
        throw error;
    }
  }
}

/**
 * Out of where systemd looks when it stops everything of a service. The kernel takes up to some twenty milliseconds for it, during which others get on
 * with their work.
 */
export async function joinMonitors(cgroup: string, pid: number | undefined) {
  const folders = foldersForServices(cgroup);
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  // Where the machine does not allow this, containers end together with the platform's service, and all else works.
  for (const folder of folders) await writeFile(join(folder, 'cgroup.procs'), String(pid)).catch(() => {});
}

/** Where that cgroup is, in the hierarchies in which systemd keeps services apart. */
export function foldersForServices(cgroup: string): string[] {
  const named = join(mountPoint, 'systemd');
  return [hierarchies.unifiedFolder, existsSync(join(named, 'cgroup.procs')) ? named : undefined].flatMap((tree) =>
    tree === undefined ? [] : [join(tree, cgroup)],
  );
}

/** Where the files are that statistics are read from. */
export const statisticsFolders = {
  isUnified: hierarchies.unified,
  folderOf: (controller: string, cgroup: string) => join(hierarchies.folderOf(controller), cgroup),
  /** Undefined: there is no tree of version 2, which alone has pressure. */
  pressureFolderOf: (cgroup: string) => hierarchies.unifiedFolder && join(hierarchies.unifiedFolder, cgroup),
};
