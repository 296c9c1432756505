/**
 * The OCI description that runc starts a container from: its own namespaces, a user range that is nobody on the machine, no capability, no
 * way to gain privileges, the system calls of seccomp.ts, and the limits.
 *
 * `/sys` is left out: it cannot be mounted by a user namespace that does not own its network namespace.
 */
import type { Command, Limits } from '../runtime.ts';
import type { Description } from './description.ts';
import { type RuntimeFolders, cgroupOf, rootOf, usersOf } from './runtime-folders.ts';
import { nestedProfile, seccompProfile } from './seccomp.ts';

export const initPath = '/.offshoot/init';
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const usersPerNetwork = 65_536;
/** Above the numbers that adduser and systemd hand out, below those that do not fit in 31 bits. */
const firstUser = 0x10000000;
export const firstUserOf = (slot: number) => firstUser + slot * usersPerNetwork;

const mounts = (sharedMemoryBytes: number) => [
  { destination: '/proc', type: 'proc', source: 'proc', options: ['nosuid', 'noexec', 'nodev'] },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'noexec', 'strictatime', 'mode=755', 'size=64k'] },
  { destination: '/dev/pts', type: 'devpts', source: 'devpts', options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'] },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: ['nosuid', 'noexec', 'nodev'] },
  // Files in this folder count as memory of the container.
  {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    options: ['nosuid', 'noexec', 'nodev', 'mode=1777', `size=${sharedMemoryBytes}`],
  },
];

const maskedPaths = [
  'acpi',
  'asound',
  'kcore',
  'keys',
  'latency_stats',
  'timer_list',
  'timer_stats',
  'sched_debug',
  'scsi',
  'interrupts',
].map((name) => `/proc/${name}`);
const readonlyPaths = ['bus', 'fs', 'irq', 'sys', 'sysrq-trigger'].map((name) => `/proc/${name}`);

export function bundleConfig(folders: RuntimeFolders, description: Description, slot: number, netns: string): object {
  const { name, limits } = description;
  const ids = [{ containerID: 0, hostID: firstUserOf(slot), size: usersPerNetwork }];
  return {
    ociVersion: '1.0.2',
    hostname: hostNameOf(description),
    root: { path: rootOf(folders, name), readonly: true },
    process: processOf(description, [initPath, '--', ...description.argv]),
    mounts: mounts(Math.floor(limits.memoryBytes / 2)),
    linux: {
      cgroupsPath: `/${cgroupOf(folders, name)}`,
      uidMappings: ids,
      gidMappings: ids,
      namespaces: [
        ...['pid', 'ipc', 'uts', 'mount', 'cgroup'].map((type) => ({ type })),
        { type: 'user', path: usersOf(folders, name) },
        { type: 'network', path: netns },
      ],
      resources: { devices: [{ allow: false, access: 'rwm' }], ...resourcesOf(limits) },
      seccomp: description.nested ? nestedProfile : seccompProfile,
      rootfsPropagation: 'rprivate',
      maskedPaths,
      readonlyPaths,
    },
  };
}

/** The kernel's own limit. */
const hostNameCharactersMax = 64;

const hostNameOf = ({ name, peer }: Description) => (peer && peer.name.length <= hostNameCharactersMax ? peer.name : name);

const periodMicroseconds = 100_000;
const sharesOfCore = 1024;

/** A container has as many shares as it may use of a core, so that on a full machine each gets the same part of what it was promised. */
export const resourcesOf = ({ cpu, memoryBytes, pids }: Limits) => ({
  cpu: { period: periodMicroseconds, quota: Math.round(cpu * periodMicroseconds), shares: Math.max(2, Math.round(cpu * sharesOfCore)) },
  // The second limit is for memory and swap together, so the container may not swap.
  memory: { limit: memoryBytes, swap: memoryBytes },
  pids: { limit: pids },
});

export const commandProcess = (description: Description, command: Command): object => ({
  ...processOf(
    {
      env: { ...description.env, ...(command.terminal && { TERM: 'xterm-256color' }), ...command.env },
      user: command.user ?? description.user,
      workingFolder: command.workingFolder ?? description.workingFolder,
      nested: description.nested,
    },
    command.argv,
  ),
  terminal: command.terminal !== undefined,
  ...(command.terminal && { consoleSize: { width: command.terminal.columns, height: command.terminal.rows } }),
});

/** What the root of a user namespace can do within it, and what building images takes. */
const nestedCapabilities = [
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'NET_BIND_SERVICE',
  'SETGID',
  'SETUID',
  'SETPCAP',
  'SETFCAP',
  'SYS_ADMIN',
  'SYS_CHROOT',
].map((name) => `CAP_${name}`);

type Started = Pick<Description, 'env' | 'user' | 'workingFolder'> & { nested?: boolean | undefined };

function processOf({ env, user, workingFolder, nested }: Started, args: readonly string[]) {
  const held: readonly string[] = nested ? nestedCapabilities : [];
  return {
    terminal: false,
    user,
    args,
    env: Object.entries({ PATH: defaultPath, ...env }).map(([name, value]) => `${name}=${value}`),
    cwd: workingFolder,
    // None also for user 0: ports below 1024 are open to all inside, and folders that can be written to belong to the container's user from the start.
    capabilities: { bounding: held, effective: held, inheritable: [], permitted: held, ambient: [] },
    noNewPrivileges: true,
  };
}
