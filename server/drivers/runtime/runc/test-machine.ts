/** What tests and benchmarks of the runtime start from: an image made in a moment from this machine's own files, and folders as volumes. */
import { execFile as startFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  rmdirSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { basename, dirname, join } from 'node:path';
import { mountPoints } from '../../mounts.ts';
import type { Volume, Volumes } from '../../volumes/volumes.ts';
import { processesIn } from './cgroups.ts';
import { entriesOf, readText } from './runtime-folders.ts';
import { signalProcess } from './processes.ts';
import { type RuncOptions, openRuncRuntime } from './runc.ts';

const busybox = '/bin/busybox';

/** BusyBox in one layer, Node with the libraries it needs in the next. */
export function makeTestImage(folder: string): string[] {
  const [tools, node] = [join(folder, 'tools'), join(folder, 'node')];
  const put = (layer: string, from: string, at: string) => {
    mkdirSync(join(layer, dirname(at)), { recursive: true });
    copyFileSync(realpathSync(from), join(layer, at));
  };
  put(tools, busybox, '/bin/busybox');
  for (const program of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).trim().split('\n')) {
    if (program !== 'busybox') symlinkSync('busybox', join(tools, 'bin', program));
  }
  put(node, process.execPath, '/usr/bin/node');
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' });
  for (const [library] of libraries.matchAll(/\/\S+/g)) put(node, library, library);
  return [tools, node];
}

const execFile = promisify(startFile);

/** One file system in memory each, as they end where they are told to. What is mounted is what there is: several processes can share them. */
export function openMemoryVolumes(folder: string): Volumes {
  mkdirSync(folder, { recursive: true });
  const pathOf = (name: string) => join(folder, name);
  const isMounted = (name: string) => mountPoints().includes(pathOf(name));
  const volumeOf = (name: string): Volume => {
    const { blocks, bsize } = statfsSync(pathOf(name));
    return { name, path: pathOf(name), bytesMax: blocks * bsize, isSnapshot: false };
  };
  const names = () => mountPoints().flatMap((path) => (dirname(path) === folder ? basename(path) : []));
  const remove = async (name: string) => {
    if (isMounted(name)) execFileSync('umount', ['--lazy', '--', pathOf(name)]);
    if (existsSync(pathOf(name))) rmdirSync(pathOf(name));
  };
  const refuse = () => Promise.reject(new Error('Not needed here.'));
  return {
    folder,
    kind: 'copy',
    enforcesLimits: true,
    clonesWhileWritten: false,
    create: async (name, bytesMax) => {
      mkdirSync(pathOf(name), { recursive: true });
      if (!isMounted(name)) await execFile('mount', ['-t', 'tmpfs', '-o', `size=${bytesMax},mode=755`, '--', 'tmpfs', pathOf(name)]);
      return volumeOf(name);
    },
    remove,
    settle: async () => {},
    volume: async (name) => (isMounted(name) ? volumeOf(name) : undefined),
    list: async () => names().map(volumeOf),
    usage: async (name) => {
      const { blocks, bfree, bsize } = statfsSync(pathOf(name));
      const bytes = (blocks - bfree) * bsize;
      return { bytes, exclusiveBytes: bytes, bytesMax: blocks * bsize };
    },
    grow: async (name, bytesMax) => {
      execFileSync('mount', ['-o', `remount,size=${bytesMax}`, '--', pathOf(name)]);
    },
    keepLimits: async () => {},
    usages: async () => new Map(),
    clone: refuse,
    snapshot: refuse,
    restore: refuse,
    capacity: refuse,
    removeLeftovers: refuse,
    removeInterrupted: async () => [],
    close: async () => {
      for (const name of names()) await remove(name);
    },
  };
}

export interface TestMachine {
  folder: string;
  instance: string;
  layers: string[];
  options: RuncOptions;
  /** Everything of it, runtimes closed or not. */
  remove(): Promise<void>;
}

export function makeTestMachine(): TestMachine {
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-runc-'));
  const instance = basename(folder).slice(-6).toLowerCase();
  const volumes = openMemoryVolumes(join(folder, 'volumes'));
  const options = { folder: join(folder, 'runtime'), instance, volumes };
  const remove = async () => {
    const runtime = await openRuncRuntime(options);
    await runtime.removeLeftovers(new Set());
    await runtime.close();
    await volumes.close();
    for (const path of [folder, join('/run/offshoot', instance)]) rmSync(path, { recursive: true, maxRetries: 5 });
  };
  return { folder, instance, layers: makeTestImage(join(folder, 'image')), options, remove };
}

/** What the machine has under the name of one instance, by kind. */
export function inventoryOf({ instance, folder }: TestMachine): Record<string, string[]> {
  const run = join('/run/offshoot', instance);
  const carrying = (names: string[]) => names.filter((name) => name.includes(instance)).sort();
  const hierarchies = readdirSync('/sys/fs/cgroup', { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? `/sys/fs/cgroup/${entry.name}` : [],
  );
  const cgroups = ['/sys/fs/cgroup', ...hierarchies].flatMap((hierarchy) =>
    carrying(foldersIn(hierarchy)).flatMap((name) => [name, ...foldersIn(join(hierarchy, name))]),
  );
  const commands = readdirSync('/proc').flatMap((pid) => (/^\d+$/.test(pid) ? (readText(`/proc/${pid}/cmdline`) ?? '') : []));
  return {
    mounts: mountPoints()
      // The run folder itself is there as long as the runtime is open.
      .filter((path) => (path.includes(instance) && path !== run) || path.startsWith(folder))
      .sort(),
    namespaces: [...carrying(entriesOf('/run/netns')), ...carrying(mountPoints().filter((path) => path.endsWith('/network-namespace')))],
    links: carrying(readdirSync('/sys/class/net')),
    cgroups: [...new Set(cgroups)].sort(),
    processes: commands
      .filter((command) => command.includes(`/${instance}/`))
      .map((command) => command.split('\0')[0] ?? '')
      .sort(),
    slots: readdirSync('/run/offshoot/slots').filter((slot) => readText(`/run/offshoot/slots/${slot}`)?.trim().endsWith(instance)),
    rules: carrying(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' }).split('\n')),
    bundles: readdirSync(join(run, 'containers')),
    descriptions: readdirSync(join(folder, 'runtime', 'containers')),
  };
}

/** Takes from under the runtime what no reboot leaves, and marks what is left as of another boot. */
export function pretendReboot(machine: TestMachine) {
  const { instance } = machine;
  const found = inventoryOf(machine);
  const cgroups = found['cgroups']?.filter((name) => !name.includes(instance)) ?? [];
  const monitors = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && readText(`/proc/${pid}/cmdline`)?.includes(`/${instance}/`));
  for (const pid of [...monitors.map(Number), ...cgroups.flatMap((name) => processesIn(`offshoot-${instance}/${name}`))])
    signalProcess(pid, 'SIGKILL');
  const run = join('/run/offshoot', instance);
  execFileSync('umount', ['--lazy', '--', ...(found['mounts'] ?? []).toReversed(), run]);
  for (const link of found['links'] ?? []) deleteLink(link);
  for (const table of found['rules'] ?? []) execFileSync('nft', ['delete', ...table.split(' ')]);
  for (const slot of found['slots'] ?? []) writeFileSync(`/run/offshoot/slots/${slot}`, `before ${instance}\n`);
  writeFileSync(join(run, 'boot'), 'before');
}

/** It goes with the namespace at its other end as soon as nobody is in there, which may be meanwhile. */
export function deleteLink(link: string) {
  try {
    execFileSync('ip', ['link', 'delete', link], { stdio: 'pipe' });
  } catch (error) {
    if (existsSync(`/sys/class/net/${link}`)) throw error;
  }
}

/** None in one that is gone, or goes while we look: other tests come and go on this machine, too. */
function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));
  } catch (error) {
    if (existsSync(folder)) throw error;
    return [];
  }
}

/** Root is needed; where tests must run they fail rather than not run. */
export const canRun = process.getuid?.() === 0 || process.env['CI'] === 'true';
