/** What is found on a machine: for each kind of thing that the platform needs, a look at it that changes nothing. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { release } from 'node:os';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { Config } from '../../config.ts';
import { openPlace } from '../../drivers/blobs/places.ts';
import { chooseVolumes } from '../../drivers/volumes/open-volumes.ts';

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
export async function version(program: string, args: string[]): Promise<Finding> {
  const said = await answerOf(program, args);
  return said === undefined ? { ok: false, found: 'missing' } : ok(said.split('\n')[0] ?? '');
}

export async function fileSystem(name: string): Promise<Finding> {
  const known = readFileSync('/proc/filesystems', 'utf8').split('\n');
  if (known.some((line) => line.endsWith(`\t${name}`))) return ok('yes');
  return (await answerOf('modinfo', ['--', name])) === undefined ? { ok: false, found: 'missing' } : ok('as a module');
}

export const hasSystemUser = async (name: string): Promise<boolean> => (await answerOf('getent', ['passwd', name])) !== undefined;

/** What a program prints; undefined where it is missing, fails, or takes too long. */
const answerOf = (program: string, args: string[]): Promise<string | undefined> =>
  promisify(execFile)(program, args, { timeout: probeMillisecondsMax }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );

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
