/**
 * Folders for all mounts, inside what was built: it is mounted read-only, so they must be there before. What a build left may be hostile:
 * no link is followed. Nobody else has the folder open any more.
 */
import { lchown, lstat, mkdir, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { appUser } from '../../catalogue/service.ts';
import { Problem } from '../../kernel/problem.ts';
import { mountPathsOf, titleOf, type Buildable } from './buildable.ts';

/** Returns warnings. */
export async function makeMountPoints(built: Buildable, folder: string): Promise<string[]> {
  const warnings: string[] = [];
  for (const path of [...new Set(mountPathsOf(built))].sort()) {
    if (!(await makeFolder(titleOf(built), folder, path))) continue;
    warnings.push(
      `The mount '${path}' has a path that overlaps with a non-empty folder. What the build left in the folder cannot be seen once the mount is there.`,
    );
  }
  return warnings;
}

/** Makes the folder; returns true where it was already there with something in it. */
async function makeFolder(title: string, folder: string, path: string): Promise<boolean> {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  let at = folder;
  for (const part of parts) {
    if (part === '..') throw inTheWay(title, path, '..');
    at = join(at, part);
    const found = await lstat(at).catch(absent);
    if (found && !found.isDirectory()) throw inTheWay(title, path, at.slice(folder.length + 1));
    if (found) continue;
    await mkdir(at);
    await lchown(at, appUser.uid, appUser.gid);
  }
  return at !== folder && (await hasEntries(at));
}

/** Whether a folder has entries. They are not listed, because a build can leave millions. */
async function hasEntries(folder: string): Promise<boolean> {
  for await (const _ of await opendir(folder)) return true;
  return false;
}

const inTheWay = (title: string, mount: string, path: string) =>
  new Problem(
    'invalid-request',
    `Unable to build ${title}: its mount '${mount}' cannot be made, because '${path}' is a file or a link; remove it, or mount elsewhere.`,
  );

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
