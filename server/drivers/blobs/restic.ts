/**
 * Runs restic: argument arrays, secrets in its environment only, and its many ways to fail told apart. It dies with the platform, and with it all that was
 * mounted for it; what it leaves in a repository when it is killed are files that nothing refers to, and a lock.
 *
 * Backups must not slow apps down: it computes on half of the processors, comes after everybody else at processors and disk, and reads no more than it sends.
 * Restoring, which somebody waits for, has all of them.
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { unshareMounts } from '../mounts.ts';
import type { Part } from './blobs.ts';
import type { Place } from './places.ts';

export interface Restic {
  /** Where it keeps locks, caches and scratch files. */
  folder: string;
  /** How often one and the same request to a place may fail before the place counts as gone; restic waits longer each time, about a minute in all. */
  attemptsMax: number;
}

/** For a folder on this machine, whose failures do not pass by themselves. */
const attemptsNearMax = 3;

export interface Call {
  place: Place;
  /** The place whose repository of the same name is read; both places have to have the same credentials. */
  from?: Place | undefined;
  repository: string;
  password: string;
  args: readonly string[];
  /** The folders that restic works in, next to each other. */
  parts?: { list: readonly Part[]; access: 'ro' | 'rw' };
  /** A person waits for the outcome. */
  isUrgent?: boolean;
  /** Reads everything from the place, nothing from restic's own cache. */
  withoutCache?: boolean;
  /** Gets each line that restic prints; without it, the lines are thrown away. */
  line?: (line: string) => void;
  signal?: AbortSignal | undefined;
}

export type FailureKind =
  | 'no-program'
  | 'not-open'
  | 'wrong-password'
  | 'locked'
  | 'no-room'
  | 'away'
  | 'refused'
  | 'damaged'
  | 'unread'
  | 'unwritten'
  | 'killed'
  | 'other';

/** In restic's own words. */
export class ResticFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, said: string) {
    super(said);
    this.kind = kind;
  }
}

/** These words decide, whatever else is said: what fails for want of room is not damaged. */
const wordsOfNoRoom = /no space left on device|disk quota exceeded|QuotaExceeded|EntityTooLarge|XMinioStorageFull/i;

/** The first pattern that fits restic's words tells the kind. */
const kinds: readonly [RegExp, FailureKind][] = [
  [/failed to execute restic|restic: not found|execvp.*restic/i, 'no-program'],
  [wordsOfNoRoom, 'no-room'],
  [/wrong password or no key found/i, 'wrong-password'],
  [/repository is already locked|unable to create lock/i, 'locked'],
  [/Access Denied|AccessDenied|SignatureDoesNotMatch|InvalidAccessKeyId|permission denied|Forbidden/i, 'refused'],
  [
    /connection re(?:fused|set)|no such host|i\/o timeout|no route to host|broken pipe|server misbehaving|\b50\d\b|handshake|Internal ?Error|SlowDown/i,
    'away',
  ],
  [/unable to open config file|config cannot be loaded/i, 'not-open'],
  [/^Save\(.*returned error/m, 'unwritten'],
  [
    /ciphertext verification failed|hash does not match|invalid data returned|wrong data returned|unexpected hash|not found in (?:index|repository)|blob \S+ not found|does not exist|no such file|no matching ID|no snapshot found|not match id|invalid|truncated|unexpected EOF|returned error|file too short|load\(|errors? while|decompress|input\/output error|missing (?:in repo|from the repository)|index is not complete|size does not match|does not match real size/i,
    'damaged',
  ],
];

const failureOf = (said: string) => new ResticFailure(kinds.find(([words]) => words.test(said))?.[1] ?? 'other', said);

/** The limit for any command: restic would wait for ever for a place that has fallen silent. */
const callHoursMax = 24;
const saidLinesMax = 12;
const lineCharactersMax = 500;
/** Lines of a stack trace of restic's own code, which say nothing to anybody here. */
const isOfTrace = /^(?:\s.*|main\.\S+|runtime\.\S+|\S+\/\S+\.\(?\*?\S*)?$/;
/** The exit code for data of which some could not be read. */
const codeOfUnread = 3;

/** Runs a command to its end. Throws a ResticFailure, or the signal's reason. */
export async function runRestic(restic: Restic, call: Call): Promise<void> {
  call.signal?.throwIfAborted();
  const [program = '', ...args] = commandOf(restic, call);
  const env = environmentOf(restic, call);
  const child = spawn(program, args, { cwd: '/', env, stdio: ['ignore', call.line ? 'pipe' : 'ignore', 'pipe'] });
  const said: string[] = [];
  const patience = patienceFor(call.place.isFar ? restic.attemptsMax : Math.min(restic.attemptsMax, attemptsNearMax));
  let isAway = false;
  if (child.stdout && call.line) createInterface({ input: child.stdout }).on('line', call.line);
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (whole) => {
      const line = whole.slice(0, lineCharactersMax);
      if (!isOfTrace.test(line) && said.push(line) > saidLinesMax) said.splice(wordsOfNoRoom.test(said[0] ?? '') ? 1 : 0, 1);
      if (!patience(line)) return;
      isAway = true;
      child.kill('SIGKILL');
    });
  const kill = () => child.kill('SIGKILL');
  const late = setTimeout(() => {
    isAway = true;
    kill();
  }, callHoursMax * 3_600_000);
  call.signal?.addEventListener('abort', kill);
  try {
    const code = await new Promise<number | string>((settle, fail) => {
      child.once('error', fail);
      child.once('close', (code, signal) => settle(code ?? signal ?? 'nothing'));
    });
    call.signal?.throwIfAborted();
    if (code === 0) return;
    const words = said.join('\n') || `restic ended with ${code}`;
    if (code === codeOfUnread) throw new ResticFailure('unread', words);
    if (isAway) throw failureOf(words).kind === 'other' ? new ResticFailure('away', words) : failureOf(words);
    throw typeof code === 'string' ? new ResticFailure('killed', `${code}: ${words}`) : failureOf(words);
  } finally {
    clearTimeout(late);
    call.signal?.removeEventListener('abort', kill);
  }
}

/** Tells when one and the same request has failed too often. */
function patienceFor(attemptsMax: number) {
  const attempts = new Map<string, number>();
  return (line: string) => {
    const [, request] = /^(.{1,200}?) returned error, retrying after/.exec(line) ?? [];
    if (request === undefined) return false;
    const count = (attempts.get(request) ?? 0) + 1;
    attempts.set(request, count);
    return count >= attemptsMax;
  };
}

const partsScript = join(import.meta.dirname, 'with-parts.sh');

function commandOf({ folder }: Restic, { place, from, repository, args, parts, isUrgent, withoutCache }: Call): string[] {
  const cache = place.isFar && !withoutCache ? ['--cache-dir', join(folder, 'cache')] : ['--no-cache'];
  const source = from ? ['--from-repo', from.address(repository), ...from.options] : [];
  const where = ['--repo', place.address(repository), ...source, ...place.options];
  const command = ['restic', ...args.slice(0, 1), ...where, ...cache, ...args.slice(1)];
  const polite = isUrgent ? [] : ['nice', '-n', '10', 'ionice', '-c', '2', '-n', '7'];
  const dying = ['setpriv', '--pdeathsig', 'KILL', ...polite];
  if (!parts) return [...dying, ...command];
  const root = join(folder, 'parts');
  const apart = [...unshareMounts, ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
  const folders = parts.list.flatMap((part) => [part.name, part.folder]);
  return [...dying, ...apart, partsScript, parts.access, root, String(parts.list.length), ...folders, ...command];
}

function environmentOf({ folder }: Restic, { place, from, password, isUrgent }: Call): Record<string, string> {
  const [scratch, processors] = [join(folder, 'scratch'), availableParallelism()];
  for (const needed of ['parts', 'scratch', 'cache', 'locks']) mkdirSync(join(folder, needed), { recursive: true, mode: 0o700 });
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LC_ALL: 'C',
    TMPDIR: scratch,
    GOMAXPROCS: String(isUrgent ? processors : Math.ceil(processors / 2)),
    RESTIC_PROGRESS_FPS: '1',
    RESTIC_PASSWORD: password,
    ...(from && { RESTIC_FROM_PASSWORD: password, ...from.environment }),
    ...place.environment,
  };
}
