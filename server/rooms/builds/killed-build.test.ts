import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { commitFiles } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { buildApps } from './build-apps.ts';
import { type Asked, openBuilding, requestOf } from './test-killed-build.ts';
import { testWork } from './test-build.ts';

/** At the first time it goes on for ever, and the cache remembers that there was one. */
const hook =
  'echo half >half; [ -e $PLATFORM_CACHE_DIR/seen ] || { touch $PLATFORM_CACHE_DIR/seen; echo started; sleep 600; }; echo whole >whole';

test.runIf(canRunContainers)(
  `a build whose process is killed in the middle is done again from the start, and leaves nothing${whyNoContainers}`,
  { timeout: 300_000 },
  async () => {
    const home = await openTestPlatform();
    const { projectId: project } = await sampleProject(await home.person());
    const { git, config } = home.platform;
    await git.create(project, 'main');
    const folder = mkdtempSync(join(tmpdir(), 'offshoot-killed-'));
    chmodSync(folder, 0o711);
    const commit = commitFiles(git.path(project), undefined, { a: 'a' });
    const asked: Asked = { folder, data: config.data, databaseUrl: home.databaseUrl, project, commit, hook };
    await startAndKill(asked);

    const { parts, close } = await openBuilding(asked);
    try {
      const left = (await parts.volumes.list()).filter(({ name }) => name.startsWith('build-'));
      expect(left).toHaveLength(1);
      expect((await parts.runtime.list()).map(({ name }) => name)).toEqual(left.map(({ name }) => name));
      const { app } = await buildApps(testWork(), parts, requestOf(asked));
      const slug = await parts.volumes.volume(app?.volume ?? '');
      expect(readFileSync(join(slug?.path ?? '', 'whole'), 'utf8')).toBe('whole\n');
      expect((await parts.volumes.list()).filter(({ name }) => name.startsWith('build-'))).toEqual([]);
      expect(await parts.runtime.list()).toEqual([]);
    } finally {
      await close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

async function startAndKill(asked: Asked) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test-killed-build.ts'), JSON.stringify(asked)], { stdio: 'pipe' });
  let said = '';
  const started = Promise.withResolvers<void>();
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const listen = (chunk: Buffer) => {
    said += chunk.toString();
    if (said.includes('    started')) started.resolve();
  };
  child.stdout.on('data', listen);
  child.stderr.on('data', listen);
  await Promise.race([started.promise, ended]);
  child.kill('SIGKILL');
  await ended;
  expect(said).toContain('    started');
}
