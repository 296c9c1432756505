/** The machine is not ours alone: what others do to it leads to no failure that stays. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { canRun } from './test-machine.ts';

const program = join(import.meta.dirname, 'test-shared-machine.ts');
const namespaces = ['--mount', '--propagation', 'private', '--net', '--'];
/** /sys tells of the network of whoever mounted it. */
const ownSys =
  'mount --rbind /sys/fs/cgroup /mnt; mount -t sysfs sysfs /sys; mount --rbind /mnt /sys/fs/cgroup; umount -Rl /mnt; exec "$@"';

async function outcomeOf(scenario: string): Promise<{ code: number | null; said: string }> {
  const child = spawn('unshare', [...namespaces, 'sh', '-c', ownSys, 'sh', process.execPath, program, scenario], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code, said };
}

const scenarios = {
  networks: 'containers answer again without a restart after others have flushed rules, deleted bridges and links, or made namespaces',
  mounts: 'containers run on when others unmount what they can, and are made anew when they end',
  'an earlier version': 'what an earlier version left where others have mounted over it is removed, or in nobody’s way',
  'what cannot be removed': 'what others keep from being removed is told, does not keep the rest, and is removed the next time',
  'a full run folder':
    'with a full run folder nothing new starts, what runs goes on and can be removed, and all is well when there is room again',
};

describe.skipIf(!canRun)('a machine that others use, too (needs root)', () => {
  test.concurrent.for(Object.entries(scenarios))('%s: %s', async ([scenario], { expect }) => {
    expect(await outcomeOf(scenario)).toMatchObject({ said: '', code: 0 });
  });
});
