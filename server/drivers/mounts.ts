/**
 * What is mounted on this machine, as this process sees it, and how we mount what others must not keep.
 *
 * A process with a mount namespace of its own (a database, a backup, the build of an image, also of another installation) begins with a copy of all mounts.
 * A copy keeps its disk in use after we have unmounted it. So whatever of ours holds a disk is mounted inside a folder that is a shared mount, and whoever
 * makes a namespace takes part in it as a slave: what is unmounted here is then unmounted there, too, and nothing that is mounted there is seen here.
 *
 * Programs that work as root on what tenants wrote do so in a namespace in which it leads nowhere.
 */
import { readFileSync } from 'node:fs';

export const mountPoints = (): string[] => mountPointsIn(readFileSync('/proc/self/mountinfo', 'utf8'));

export const mountPointsIn = (mountinfo: string): string[] =>
  mountinfo
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    );

/** Arguments of `mount`. What is mounted in the folder, or over it, is unmounted in all copies at once. */
export const shareFolder = (folder: string): string[] => ['--bind', '--make-shared', '--', folder, folder];

/** A command that makes a mount namespace. */
export const unshareMounts = ['unshare', '--mount', '--propagation', 'slave'] as const;

const mountAndRun = 'mount --bind -o "nosymfollow,nosuid,nodev,noexec" -- "$1" "$1" && shift && exec "$@"';

/**
 * The same command, for which the kernel follows no link below the folder, runs nothing of it and opens no device: whatever is put there, and whenever, while
 * the command is at work. Only root can have that, and only root needs it.
 */
export const withoutLinks = (folder: string, command: readonly [string, ...string[]]): [string, ...string[]] =>
  process.getuid?.() === 0 ? [...unshareMounts, '--', 'sh', '-c', mountAndRun, 'sh', folder, ...command] : [...command];
