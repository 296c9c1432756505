/**
 * From a path inside a container to a file on this machine, and to its bytes.
 *
 * `files` says which folders of the container are which here. Links are followed as the container would follow them: one to `/app/storage` leads to what
 * `/app` is here, and one to anything that is not in `files` leads nowhere. Each part of a path is looked at by itself, within a bound of steps.
 *
 * Links of this machine are followed only on the way to a volume, where nobody but the platform can put any. From there on none is: neither on the
 * way to the folder that is mounted, nor below it. Looking at one name after the other cannot promise that, as the application may change its folders
 * meanwhile; so what was found is proven to be where it was found (proven-path.ts), and what was opened is once more. Otherwise it is as if there were
 * nothing. Only what never changes is believed without.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, readSync, realpathSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isAt, isPlainlyAt } from './proven-path.ts';
import { recentlyUsed } from '../cache/recently-used.ts';
import type { FilesAt } from '../routing/table.ts';

export type Resolved = { kind: 'file'; host: string; bytes: number; isImmutable: boolean } | { kind: 'folder' } | { kind: 'nothing' };

const linksMax = 16;
/** Looks at the disk for one path, with all the links in it; each takes a microsecond or two. */
const stepsMax = 300;
/** The system's own limit: longer paths cannot be opened. */
const pathCharactersMax = 4096;
const keptCharactersMax = 8 * 1024 * 1024;
/** What an entry weighs besides its key. */
const entryCharacters = 100;

const nothing: Resolved = { kind: 'nothing' };
const folder: Resolved = { kind: 'folder' };

interface View {
  id: number;
  mounts: Map<string, MountSource>;
  /** Folders that must be there as something is mounted below them. */
  above: Set<string>;
}
interface Mount {
  host: string | undefined;
  isImmutable: boolean;
}
interface MountSource {
  folder: string;
  below: string | undefined;
  /** Where the volume is, without links. */
  real: string | undefined;
  isImmutable: boolean;
}

const views = new WeakMap<readonly FilesAt[], View>();
let viewsInAll = 0;
/** Results for paths that lead only through folders that never change. */
const resolutions = recentlyUsed<Resolved>(keptCharactersMax);

export function resolveFile(files: readonly FilesAt[], path: string): Resolved {
  if (path.length > pathCharactersMax) return nothing;
  const view = viewOf(files);
  const key = `${view.id} ${path}`;
  const known = resolutions.get(key);
  if (known) return known;
  const found = walk(view, path);
  const resolved = found.isImmutable || isProven(found) ? resolvedAs(found) : nothing;
  if (found.isImmutable) resolutions.set(key, resolved, key.length + entryCharacters);
  return resolved;
}

/** A folder that is there only because something is mounted below it has no place on this machine. */
const isProven = (found: Found) => found.kind === 'nothing' || found.host === undefined || isPlainlyAt(found.host, found.kind);

function resolvedAs(found: Found): Resolved {
  if (found.kind === 'file') return found;
  return found.kind === 'folder' ? folder : nothing;
}

interface WalkedFolder {
  path: string;
  host: string | undefined;
  isImmutable: boolean;
}
const root: WalkedFolder = { path: '', host: undefined, isImmutable: true };

type Found =
  | { kind: 'nothing'; isImmutable: boolean }
  | { kind: 'file'; host: string; bytes: number; isImmutable: boolean }
  | { kind: 'folder'; host: string | undefined; isImmutable: boolean };

function walk(view: View, path: string): Found {
  let walked: WalkedFolder[] = [view.mounts.has('') ? { path: '', ...mountOf(view, '') } : root];
  const ahead = path.split('/').toReversed();
  let links = 0;
  let isImmutable = true;
  for (let steps = 0; ahead.length > 0; steps += 1) {
    const name = ahead.pop() ?? '';
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (walked.length > 1) walked.pop();
      continue;
    }
    const next = look(view, walked.at(-1) ?? root, name);
    isImmutable &&= next.isImmutable;
    if (next.kind === 'nothing' || steps >= stepsMax) return { kind: 'nothing', isImmutable };
    if (next.kind === 'file') return ahead.length === 0 ? { ...next, isImmutable } : { kind: 'nothing', isImmutable };
    if (next.kind === 'folder') walked.push(next.folder);
    else {
      links += 1;
      if (links > linksMax) return { kind: 'nothing', isImmutable };
      if (next.target.startsWith('/')) walked = walked.slice(0, 1);
      ahead.push(...next.target.split('/').toReversed());
    }
  }
  return { kind: 'folder', host: walked.at(-1)?.host, isImmutable };
}

type Look =
  | Extract<Found, { kind: 'nothing' | 'file' }>
  | { kind: 'folder'; folder: WalkedFolder; isImmutable: boolean }
  | { kind: 'link'; target: string; isImmutable: boolean };

function look(view: View, parent: WalkedFolder, name: string): Look {
  const path = `${parent.path}/${name}`;
  if (view.mounts.has(path)) {
    const mount = mountOf(view, path);
    return { kind: 'folder', folder: { path, ...mount }, isImmutable: mount.isImmutable };
  }
  const { isImmutable } = parent;
  const host = parent.host === undefined ? undefined : `${parent.host}/${name}`;
  const stat = host === undefined ? undefined : statOf(host);
  if (host === undefined || stat === undefined) {
    return view.above.has(path)
      ? { kind: 'folder', folder: { path, host: undefined, isImmutable }, isImmutable }
      : { kind: 'nothing', isImmutable };
  }
  if (stat.isDirectory()) return { kind: 'folder', folder: { path, host, isImmutable }, isImmutable };
  if (stat.isFile()) return { kind: 'file', host, bytes: stat.size, isImmutable };
  const target = stat.isSymbolicLink() ? targetOf(host) : undefined;
  return target === undefined ? { kind: 'nothing', isImmutable } : { kind: 'link', target, isImmutable };
}

function statOf(host: string): Stats | undefined {
  try {
    return lstatSync(host, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function targetOf(host: string): string | undefined {
  try {
    return readlinkSync(host);
  } catch {
    return undefined;
  }
}

function viewOf(files: readonly FilesAt[]): View {
  const known = views.get(files);
  if (known) return known;
  const mounts = new Map(
    files.map(({ at, folder: source, below, is_immutable }) => [
      at.replace(/\/+$/, ''),
      { folder: source, below, real: undefined, isImmutable: is_immutable },
    ]),
  );
  const above = new Set([...mounts.keys()].flatMap((at) => at.split('/').map((_, index, parts) => parts.slice(0, index).join('/'))));
  viewsInAll += 1;
  const view: View = { id: viewsInAll, mounts, above };
  views.set(files, view);
  return view;
}

/** Links on the way to a volume belong to whoever runs this machine, and are followed. A volume that is not there yet may still come. */
function mountOf({ mounts }: View, at: string): Mount {
  const mount = mounts.get(at);
  if (!mount) return { host: undefined, isImmutable: true };
  const { folder: source, below, isImmutable } = mount;
  if (below === undefined) return { host: source, isImmutable };
  try {
    mount.real ??= realpathSync.native(source);
    return { host: below === '' ? mount.real : `${mount.real}/${below}`, isImmutable };
  } catch {
    return { host: undefined, isImmutable: false };
  }
}

const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface FileBytes {
  stat: Stats;
  bytes: Buffer;
}
export interface OpenFile {
  stat: Stats;
  file: FileHandle;
}

/** Reads a small file at once. Undefined: it is no longer there, no longer small, or not the file that was found. */
export function readFileAt(host: string, bytesMax: number): FileBytes | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(host, openFlags);
    const stat = fstatSync(fd);
    if (!isAt(fd, host) || !stat.isFile() || stat.size > bytesMax) return undefined;
    const bytes = Buffer.allocUnsafe(stat.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < stat.size; length += read) read = readSync(fd, bytes, length, stat.size - length, length);
    return { stat, bytes: bytes.subarray(0, length) };
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Whoever gets it closes it. */
export async function openFileAt(host: string): Promise<OpenFile | undefined> {
  const file = await open(host, openFlags).catch(() => undefined);
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    if (isAt(file.fd, host) && stat.isFile()) return { stat, file };
  } catch {
    /** What cannot be opened is treated as not there. */
  }
  await file.close();
  return undefined;
}
