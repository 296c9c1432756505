/**
 * What the platform needs of a machine, one row each, with the remedy where it is missing: for `./offshoot doctor`, and for operators who look at a platform that runs.
 * All of it only looks.
 */
import { existsSync, statfsSync } from 'node:fs';
import { release, totalmem } from 'node:os';
import type { Config } from '../../config.ts';
import {
  backupsFinding,
  fileSystem,
  gigabytes,
  hasSystemUser,
  isKernelFrom,
  isRoot,
  nearestExisting,
  numberIn,
  ok,
  usable,
  usableProgram,
  version,
  volumesFinding,
  writable,
  type Finding,
} from './findings.ts';
import { aheadFinding } from './images-ahead.ts';

/** What a thing is needed for: to run the platform at all, or only to deploy apps on this machine. */
export type Need = 'platform' | 'deployments';

export interface Check {
  what: string;
  need: Need;
  look: (config: Config) => Finding | Promise<Finding>;
  remedy: string;
}

const diskBytesMin = 2e9;
const memoryBytesMin = 1e9;
const clockYearMin = 2026;

export const machineChecks: readonly Check[] = [
  {
    what: 'system',
    need: 'platform',
    look: () => ({
      ok: process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch),
      found: `${process.platform} ${process.arch}`,
    }),
    remedy: 'use Linux on x64 or arm64',
  },
  {
    what: 'Node',
    need: 'platform',
    look: () => ({ ok: Number.parseInt(process.versions.node, 10) >= 24, found: process.versions.node }),
    remedy: 'run this as ./offshoot doctor, which brings Node 24',
  },
  { what: 'git', need: 'platform', look: () => version('git', ['--version']), remedy: 'apt-get install git' },
  {
    what: 'setpriv',
    need: 'platform',
    look: ({ databaseUrl }) => (databaseUrl ? ok('not needed with DATABASE_URL') : version('setpriv', ['--version'])),
    remedy: 'apt-get install util-linux, or set DATABASE_URL to a PostgreSQL of your own',
  },
  {
    what: 'PostgreSQL user',
    need: 'platform',
    look: async ({ databaseUrl }) =>
      databaseUrl || !isRoot() ? ok('not needed') : { ok: await hasSystemUser('offshoot'), found: 'system user offshoot' },
    remedy: 'useradd --system --no-create-home --shell /usr/sbin/nologin offshoot (./offshoot start does it)',
  },
  {
    what: 'data folder',
    need: 'platform',
    look: ({ data }) => writable(data),
    remedy: 'set OFFSHOOT_DATA to a folder this user can write to',
  },
  {
    what: 'disk space',
    need: 'platform',
    look: ({ data }) => {
      const { bavail, bsize } = statfsSync(nearestExisting(data));
      return { ok: bavail * bsize >= diskBytesMin, found: `${gigabytes(bavail * bsize)} free` };
    },
    remedy: `free at least ${gigabytes(diskBytesMin)}, or set OFFSHOOT_DATA to a larger disk`,
  },
  {
    what: 'memory',
    need: 'platform',
    look: () => ({ ok: totalmem() >= memoryBytesMin, found: gigabytes(totalmem()) }),
    remedy: `give the machine at least ${gigabytes(memoryBytesMin)}`,
  },
  {
    what: 'clock',
    need: 'platform',
    look: () => ({ ok: new Date().getUTCFullYear() >= clockYearMin, found: new Date().toISOString() }),
    remedy: 'set the clock (timedatectl set-ntp true): tokens and certificates carry times',
  },
  {
    what: 'root',
    need: 'deployments',
    look: () => ({ ok: isRoot(), found: isRoot() ? 'yes' : 'no' }),
    remedy: 'run as root to deploy with runc',
  },
  { what: 'runc', need: 'deployments', look: () => version('runc', ['--version']), remedy: 'apt-get install runc' },
  { what: 'conmon', need: 'deployments', look: () => version('conmon', ['--version']), remedy: 'apt-get install conmon' },
  {
    what: 'init for containers',
    need: 'deployments',
    look: () => usableProgram('/usr/bin/tini-static'),
    remedy: 'apt-get install tini',
  },
  {
    what: 'kernel',
    need: 'deployments',
    look: () => ({ ok: isKernelFrom(5, 19), found: release() }),
    remedy: 'use Linux 5.19 or newer: containers and their volumes map users by mounts',
  },
  { what: 'mmdebstrap', need: 'deployments', look: () => version('mmdebstrap', ['--version']), remedy: 'apt-get install mmdebstrap' },
  {
    what: 'images ahead',
    need: 'deployments',
    look: aheadFinding,
    remedy:
      'free some of the disk, or mend what is in the way; ./offshoot start tries again every ten minutes (OFFSHOOT_IMAGES_AHEAD=none: never)',
  },
  {
    what: 'cgroups',
    need: 'deployments',
    look: () => {
      const unified = existsSync('/sys/fs/cgroup/cgroup.controllers');
      return { ok: unified || existsSync('/sys/fs/cgroup/memory'), found: unified ? 'version 2' : 'version 1' };
    },
    remedy: 'mount cgroup version 2 on /sys/fs/cgroup',
  },
  {
    what: 'user namespaces',
    need: 'deployments',
    look: () => {
      const most = numberIn('/proc/sys/user/max_user_namespaces');
      return { ok: most > 0, found: `up to ${most}` };
    },
    remedy: 'sysctl user.max_user_namespaces=15000',
  },
  { what: 'overlayfs', need: 'deployments', look: () => fileSystem('overlay'), remedy: 'modprobe overlay' },
  { what: 'btrfs', need: 'deployments', look: () => version('mkfs.btrfs', ['--version']), remedy: 'apt-get install btrfs-progs' },
  {
    what: 'btrfs in the kernel',
    need: 'deployments',
    look: () => fileSystem('btrfs'),
    remedy: 'modprobe btrfs; without it clones are plain copies',
  },
  {
    what: 'loop devices',
    need: 'deployments',
    look: () => usable('/dev/loop-control'),
    remedy: 'modprobe loop, as root; without it clones are plain copies',
  },
  {
    what: 'volumes',
    need: 'deployments',
    look: volumesFinding,
    remedy: 'every clone copies every byte; run as root with btrfs-progs, or set OFFSHOOT_VOLUMES to a folder on btrfs or XFS',
  },
  {
    what: 'restic',
    need: 'deployments',
    look: () => version('restic', ['version']),
    remedy: 'apt-get install restic; without it there are no backups',
  },
  {
    what: 'backups',
    need: 'deployments',
    look: backupsFinding,
    remedy: 'set OFFSHOOT_BACKUPS to a folder on another disk, or to a bucket, that can be written to',
  },
  { what: 'nftables', need: 'deployments', look: () => version('nft', ['--version']), remedy: 'apt-get install nftables' },
  { what: 'iproute2', need: 'deployments', look: () => version('ip', ['-Version']), remedy: 'apt-get install iproute2' },
];
