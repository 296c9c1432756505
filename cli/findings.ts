/** What doctor finds on a machine: for each kind of thing that the platform needs, a look at it that changes nothing. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { release } from 'node:os';
import { dirname } from 'node:path';
import { reachable, type Config } from '../server/config.ts';
import { openPlace } from '../server/drivers/blobs/places.ts';
import { chooseVolumes } from '../server/drivers/volumes/open-volumes.ts';

export interface Finding {
  ok: boolean;
  /** What is there, in a few words. */
  found: string;
}

const probeMillisecondsMax = 3000;
export const gigabytes = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`;

export function isKernelFrom(major: number, minor: number) {
  const [ours = 0, further = 0] = release()
    .split('.')
    .map((part) => Number.parseInt(part, 10));
  return ours > major || (ours === major && further >= minor);
}

export const usableProgram = (path: string): Finding => ({ ok: existsSync(path), found: existsSync(path) ? path : 'missing' });

export const ok = (found: string): Finding => ({ ok: true, found });
export const isRoot = () => process.getuid?.() === 0;
export const numberIn = (file: string) => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0);

/** How data would be kept on this machine. Plain copies work, but every clone of a volume then takes its whole size. */
export async function volumesFinding(config: Config): Promise<Finding> {
  const { way, folder, freeBytes } = await chooseVolumes(config);
  const ways = { btrfs: 'btrfs subvolumes', pool: 'a btrfs pool of our own', reflink: 'copies that share blocks', copy: 'plain copies' };
  return { ok: way !== 'copy', found: `${ways[way]} in ${folder}, ${gigabytes(freeBytes)} free` };
}

/** A backup that is on the same disk as the data would be lost together with it. */
export async function backupsFinding({ backups, data }: Config): Promise<Finding> {
  const looks = backups.map(async (place): Promise<Finding> => {
    const { name, tryOut } = openPlace(place);
    const problem = await tryOut().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (problem) return { ok: false, found: problem };
    const isSameDisk = place.kind === 'folder' && statSync(nearestExisting(place.folder)).dev === statSync(nearestExisting(data)).dev;
    return isSameDisk ? { ok: false, found: `${name} is on the same disk as the data` } : ok(name);
  });
  const findings = await Promise.all(looks);
  const broken = findings.filter(({ ok }) => !ok);
  // A copy on the same disk does no harm where another one is elsewhere.
  const elsewhere = findings.filter(({ ok }) => ok);
  return broken.length === 0 || elsewhere.length > 0
    ? { ok: true, found: findings.map(({ found }) => found).join(', ') }
    : { ok: false, found: broken.map(({ found }) => found).join(', ') };
}

/** The first line a program says about itself. */
export function version(program: string, args: string[]): Finding {
  const { error, stdout } = spawnSync(program, args, { encoding: 'utf8', timeout: probeMillisecondsMax });
  return error ? { ok: false, found: 'missing' } : ok(stdout.split('\n')[0] ?? '');
}

export function fileSystem(name: string): Finding {
  const known = readFileSync('/proc/filesystems', 'utf8').split('\n');
  if (known.some((line) => line.endsWith(`\t${name}`))) return ok('yes');
  const { status } = spawnSync('modinfo', ['--', name], { timeout: probeMillisecondsMax });
  return status === 0 ? ok('as a module') : { ok: false, found: 'missing' };
}

export function usable(path: string): Finding {
  if (!existsSync(path)) return { ok: false, found: `${path} is missing` };
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return ok(path);
  } catch {
    return { ok: false, found: `${path} is not ours to use` };
  }
}

export function writable(folder: string): Finding {
  const nearest = nearestExisting(folder);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return ok(nearest === folder ? folder : `${folder} (to be created)`);
  } catch {
    return { ok: false, found: `${nearest} is not writable` };
  }
}

export const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)));

/** Listening is the only honest test of a port. One that is in use may be used by a running Offshoot. */
export async function portFinding(host: string, port: number, isOurs: () => Promise<boolean>): Promise<Finding> {
  const code = await listeningError(host, port);
  if (code === undefined) return ok(`${port} is free`);
  if (code === 'EAFNOSUPPORT' || (code === 'EADDRNOTAVAIL' && host === '::')) return portFinding('0.0.0.0', port, isOurs);
  if (code === 'EADDRINUSE' && (await isOurs())) return ok(`${port} is used by a running Offshoot`);
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is in use',
    EACCES: 'is for root only',
    EADDRNOTAVAIL: `is not available on ${host}`,
  };
  return { ok: false, found: `${port} ${reasons[code] ?? code}` };
}

function listeningError(host: string, port: number): Promise<string | undefined> {
  return new Promise((settle) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => settle(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => settle(undefined)));
  });
}

export async function isPlatformAt(host: string, port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://${reachable(host)}:${port}/openapi.json`, { signal: AbortSignal.timeout(probeMillisecondsMax) });
    return (await reply.text()).includes('Offshoot');
  } catch {
    return false;
  }
}
