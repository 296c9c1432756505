import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createInstallation, plainHttp, repository } from './installation.ts';

const keptMillisecondsMax = 60_000;

test('what was compiled at the first start is kept while the platform runs, whatever its end will be', async () => {
  await using program = await programWithoutCaches();
  await using installation = await createInstallation(plainHttp);
  await installation.startVersion(program.folder);
  const cache = join(program.folder, 'node_modules', '.cache', 'node');
  const compiledFiles = async () => (await readdir(cache, { recursive: true }).catch(() => [])).filter((name) => name.includes('/'));
  await expect.poll(compiledFiles, { timeout: keptMillisecondsMax }).not.toEqual([]);
});

/** The same program and packages, as on a machine where it never ran. */
async function programWithoutCaches() {
  const folder = await mkdtemp(join(tmpdir(), 'offshoot-e2e-new-'));
  const modules = join(repository, 'node_modules');
  await mkdir(join(folder, 'node_modules'));
  const link = async (from: string, to: string, left: readonly string[]) => {
    for (const name of await readdir(from)) if (!left.includes(name)) await symlink(join(from, name), join(to, name));
  };
  await link(modules, join(folder, 'node_modules'), ['.cache']);
  await link(repository, folder, ['.git', 'node_modules', 'data', 'offshoot']);
  await copyFile(join(repository, 'offshoot'), join(folder, 'offshoot'));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
