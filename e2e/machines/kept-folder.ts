/** What takes minutes to make is kept between runs beside the packages of npm. A folder is complete or absent; what nobody used for days goes. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../installation.ts';

const kept = join(repository, 'node_modules', '.cache', 'offshoot-machines');
const unusedDaysMax = 3;
const dayMilliseconds = 86_400_000;

export async function keptFolder(name: string, make: (scratch: string) => Promise<void>): Promise<string> {
  const folder = join(kept, name);
  if (!existsSync(folder)) await makeFolder(folder, make);
  const now = new Date();
  utimesSync(folder, now, now);
  return folder;
}

async function makeFolder(folder: string, make: (scratch: string) => Promise<void>) {
  removeUnused();
  const scratch = `${folder}.${process.pid}.new`;
  mkdirSync(scratch, { recursive: true });
  try {
    await make(scratch);
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Another run, of another checkout with the same packages, may use one that is no longer ours. */
function removeUnused() {
  mkdirSync(kept, { recursive: true });
  const usedSince = Date.now() - unusedDaysMax * dayMilliseconds;
  const unused = readdirSync(kept).filter((name) => statSync(join(kept, name)).mtimeMs < usedSince);
  for (const name of unused) rmSync(join(kept, name), { recursive: true, force: true });
}
