/** What is kept of a deleted project: its repository, in one file that `git clone` reads. Volumes are kept here, too, once there are any. */
import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { runGit } from '../../drivers/git/command.ts';
import type { Git } from '../../drivers/git/git.ts';

const bundleSecondsMax = 600;

/** Returns the path of the file, or undefined when there is nothing to keep. The file gets its name only when it is complete. */
export async function keepDeletedRepository(
  git: Git,
  dataFolder: string,
  projectId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!(await git.exists(projectId)) || (await git.refs(projectId)).length === 0) return undefined;
  const folder = join(dataFolder, 'tombstones');
  const file = join(folder, `${projectId}.bundle`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await runGit(git.path(projectId), ['bundle', 'create', '--quiet', `${file}.new`, '--branches', '--tags'], {
    secondsMax: bundleSecondsMax,
    signal,
  });
  await rename(`${file}.new`, file);
  return file;
}
