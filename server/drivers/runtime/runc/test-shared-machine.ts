/**
 * What others do to a machine, done to it while containers run: a program that shared-machine.test.ts starts in mount and network namespaces of their own, so
 * that nobody else on this machine suffers. Ends with 1, and a reason, where something is not as it should be then.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Runtime } from '../runtime.ts';
import { describeContainer } from '../conformance.ts';
import { mountPoints } from '../../mounts.ts';
import { bridgeOf, netnsOf, openRuntimeFolders, readText, vethOf } from './runtime-folders.ts';
import { readAttachment } from './networks.ts';
import { openRuncRuntime } from './runc.ts';
import { type TestMachine, inventoryOf, makeTestMachine } from './test-machine.ts';

const secondsMax = 20;
const run = (program: string, ...args: string[]) => execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' });

async function eventually(what: string, holds: () => Promise<boolean> | boolean) {
  const until = performance.now() + secondsMax * 1000;
  while (!(await Promise.resolve(holds()).catch(() => false))) {
    if (performance.now() > until) throw new Error(`It is not so, ${secondsMax} seconds later: ${what}`);
    await sleep(50);
  }
}

const runtimes: Runtime[] = [];

async function open(machine: TestMachine, runFolder?: string) {
  const told: string[] = [];
  const options = {
    ...machine.options,
    ...(runFolder !== undefined && { runFolder }),
    tell: (sentence: string) => void told.push(sentence),
  };
  const runtime = await openRuncRuntime(options);
  runtimes.push(runtime);
  const folders = openRuntimeFolders(options.folder, options);
  const web = describeContainer(machine.layers, 'web', { restart: 'always' });
  const answers = async (name = 'web') => {
    const { address } = await runtime.state(name);
    return (await fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(1000) })).ok;
  };
  return { runtime, places: folders, web, told, answers };
}

type Opened = Awaited<ReturnType<typeof open>>;
const linksOf = ({ places: folders }: Opened) => {
  const { slot, host } = readAttachment(folders, 'web') ?? { slot: 0, host: 0 };
  return { bridge: bridgeOf(folders, slot), veth: vethOf(folders, slot, host) };
};
const rulesOf = ({ places: folders }: Opened) => run('nft', 'list', 'table', 'inet', `offshoot_${folders.instance}`);
const forwarding = '/proc/sys/net/ipv4/ip_forward';

/** What somebody does, and what is to be again soon afterwards; that it answers is always looked at. */
const acts: Record<string, { act(opened: Opened): unknown; afterwards?(opened: Opened): boolean }> = {
  'the first ip netns add': { act: ({ places: folders }) => run('ip', 'netns', 'add', `stranger-${folders.instance}`) },
  'a firewall that flushes all rules': {
    act: () => run('nft', 'flush', 'ruleset'),
    afterwards: (opened) => rulesOf(opened).includes('chain forward'),
  },
  'forwarding that is switched off': {
    act: () => writeFileSync(forwarding, '0'),
    afterwards: () => readFileSync(forwarding, 'utf8').trim() === '1',
  },
  'a bridge that is deleted': { act: (opened) => run('ip', 'link', 'delete', linksOf(opened).bridge) },
  'a bridge that is taken down': { act: (opened) => run('ip', 'link', 'set', linksOf(opened).bridge, 'down') },
  'a bridge without its address': { act: (opened) => run('ip', 'addr', 'flush', 'dev', linksOf(opened).bridge) },
  'a link that is deleted': { act: (opened) => run('ip', 'link', 'delete', linksOf(opened).veth) },
};

const scenarios: Record<string, (machine: TestMachine) => Promise<void>> = {
  async networks(machine) {
    const opened = await open(machine);
    const { runtime, web, answers, places: folders } = opened;
    const before = inventoryOf(machine);
    await runtime.ensure(web);
    const { startedAt } = await runtime.state('web');
    for (const [what, { act, afterwards = () => true }] of Object.entries(acts)) {
      act(opened);
      await eventually(`it answers after ${what}`, async () => afterwards(opened) && (await answers()));
    }
    assert.deepEqual((await runtime.state('web')).startedAt, startedAt);
    await runtime.remove('web');
    run('ip', 'netns', 'delete', `stranger-${folders.instance}`);
    assert.deepEqual(inventoryOf(machine), before);
  },

  async mounts(machine) {
    const { runtime, web, answers, places: folders } = await open(machine);
    const before = inventoryOf(machine);
    await runtime.ensure(web);
    // Some of it is busy, and stays.
    spawnSync('umount', ['--all', '--types', 'nsfs,overlay']);
    assert.equal(mountPoints().includes(netnsOf(folders, 'web')), false);
    await eventually('it answers', () => answers());
    process.kill(Number(readText(join(folders.runContainers, 'web', 'pid'))), 'SIGKILL');
    await eventually('nobody says that it runs', async () => (await runtime.state('web')).status === 'stopped');
    await runtime.ensure(web);
    await eventually('it answers', () => answers());
    await runtime.remove('web');
    assert.deepEqual(inventoryOf(machine), before);
  },

  /** As it left the machine, and somebody's `ip netns add` after it. */
  async 'an earlier version'(machine) {
    const { runtime, web, answers, places: folders } = await open(machine);
    mkdirSync('/run/netns', { recursive: true });
    const earlier = `/run/netns/offshoot-${folders.instance}-web`;
    await runtime.ensure(web);
    writeFileSync(earlier, '');
    run('mount', '--bind', netnsOf(folders, 'web'), earlier);
    run('ip', 'netns', 'add', `stranger-${folders.instance}`);
    await runtime.ensure({ ...web, env: { VERSION: 'two' } });
    await eventually('it answers', () => answers());
    await runtime.remove('web');
    assert.deepEqual(await runtime.list(), []);
    await runtime.removeLeftovers(new Set());
    await runtime.ensure(web);
    await runtime.remove('web');
    run('ip', 'netns', 'delete', `stranger-${folders.instance}`);
    run('umount', '--recursive', '--lazy', '/run/netns');
  },

  async 'what cannot be removed'(machine) {
    const { runtime, web, places: folders } = await open(machine);
    const before = inventoryOf(machine);
    for (const name of ['web', 'a', 'b']) await runtime.ensure({ ...web, name });
    const held = join(folders.runContainers, 'a', 'top');
    run('mount', '--bind', held, held);
    await assert.rejects(runtime.remove('a'), /Not everything of what runs for a could be removed: .*busy/);
    await assert.rejects(runtime.removeLeftovers(new Set()), /could be removed: /);
    assert.deepEqual(
      (await runtime.list()).map(({ name }) => name),
      ['a'],
    );
    run('umount', held);
    await runtime.removeLeftovers(new Set());
    assert.deepEqual(inventoryOf(machine), before);
  },

  async 'a full run folder'(machine) {
    const folder = join('/run/offshoot', machine.instance);
    mkdirSync(folder, { recursive: true });
    run('mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder);
    const { runtime, web, answers } = await open(machine);
    for (const name of ['web', 'a']) await runtime.ensure({ ...web, name });
    assert.throws(() => writeFileSync(join(folder, 'full'), Buffer.alloc(16 * 2 ** 20)), /ENOSPC/);
    await assert.rejects(runtime.ensure({ ...web, name: 'b' }), /ENOSPC|No space left/);
    await runtime.remove('a');
    await eventually('it answers', () => answers());
    run('rm', join(folder, 'full'));
    await runtime.ensure({ ...web, name: 'b' });
    await eventually('it answers', () => answers('b'));
    await runtime.removeLeftovers(new Set());
    run('umount', '--lazy', folder);
  },
};

const [scenario = ''] = process.argv.slice(2);
const machine = makeTestMachine();
// As it is on a machine where nobody has had a namespace yet.
if (mountPoints().includes('/run/netns')) run('umount', '--recursive', '--lazy', '/run/netns');
run('ip', 'link', 'set', 'lo', 'up');
try {
  await scenarios[scenario]?.(machine);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
for (const runtime of runtimes) await runtime.close();
await machine.remove();
process.exit();
