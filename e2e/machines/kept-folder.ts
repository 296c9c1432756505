/** What takes minutes to make is kept between runs beside the packages of npm. A folder is complete or absent; those of the same kind that are older go. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../installation.ts';

const kept = join(repository, 'node_modules', '.cache', 'offshoot-machines');

/** `name` is a kind, a dash, and what tells its versions apart. */
export async function keptFolder(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(kept, name);
  if (existsSync(folder)) return folder;
  const scratch = `${folder}.${process.pid}.new`;
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  try {
    await make(scratch);
    removeOlder(name);
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return folder;
}

function removeOlder(name: string) {
  const kind = name.slice(0, name.lastIndexOf('-') + 1);
  const older = readdirSync(kept).filter((other) => other.startsWith(kind) && !other.endsWith('.new'));
  for (const other of older) rmSync(join(kept, other), { recursive: true, force: true });
}
