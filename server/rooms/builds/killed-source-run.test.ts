import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { canRunContainers, whyNoContainers } from '../../testing/images.ts';
import { openTestPlatform } from '../../testing/platform.ts';
import { commitFiles, git as inRepository } from '../../testing/repository.ts';
import { sampleProject } from '../../testing/samples.ts';
import { runOnSource } from './run-on-source.ts';
import { openBuilding, type Asked } from './test-killed-build.ts';
import { runOf } from './test-killed-source-run.ts';

/** At the first time it goes on for ever, and the cache remembers that there was one. */
const command = `git commit --quiet --allow-empty --message "Once"
  [ -e $PLATFORM_CACHE_DIR/seen ] || { touch $PLATFORM_CACHE_DIR/seen; echo started; sleep 600; }`;

test.runIf(canRunContainers)(
  `a command on a checkout whose process is killed in the middle starts from a fresh one, and nothing is left of the first${whyNoContainers}`,
  { timeout: 300_000 },
  async () => {
    const home = await openTestPlatform();
    const { projectId: project } = await sampleProject(await home.person());
    const { git, config } = home.platform;
    const folder = mkdtempSync(join(tmpdir(), 'offshoot-killed-'));
    chmodSync(folder, 0o711);
    const commit = commitFiles(git.path(project), undefined, { a: 'a' });
    const asked: Asked = { folder, data: config.data, databaseUrl: home.databaseUrl, project, commit, hook: command };
    await startAndKill(asked);

    const { parts, close } = await openBuilding(asked);
    const left = async () =>
      [...(await parts.runtime.list()), ...(await parts.volumes.list())].filter(({ name }) => name.startsWith('source-'));
    try {
      expect(await left()).toHaveLength(2);
      const to = await runOnSource(
        parts,
        runOf(asked, () => {}),
        new AbortController().signal,
      );
      expect(inRepository(git.path(project), ['log', '--format=%s', to])).toBe('Once\nChange');
      expect(await left()).toEqual([]);
    } finally {
      await close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

async function startAndKill(asked: Asked) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test-killed-source-run.ts'), JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) if (lines.push(line) && line.includes('started')) break;
  child.kill('SIGKILL');
  await ended;
  expect(lines.at(-1)).toContain('started');
}
