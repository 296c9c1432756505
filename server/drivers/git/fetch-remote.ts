/**
 * Fetches from repositories on the web that users name: at an address that was looked up once and found fit to be visited, without following
 * anybody elsewhere, and no more than was asked for.
 */
import { lstat, readdir } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { visitableAddresses } from '../outbound/addresses.ts';
import type { Lookup } from '../outbound/look-up-host.ts';
import { visitWithGit, type Call, type Outcome, type Settings } from './command.ts';

/** An old server gives out objects one by one, each of which becomes a file. */
const fetchedFilesMax = 50_000;
const stalledSecondsMax = 30;
const watchEveryMilliseconds = 250;
const urlCharactersMax = 2000;

export interface WebAddress {
  /** Without credentials: its `href` is fit for logs. */
  url: URL;
  credentials: string | undefined;
}

/** What is pinned by name (see `visiting`) must be a name to curl, too. */
const hostPattern = /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?)$/;

/** Undefined where the text is no such address. Connects to nobody. */
export function parseWebAddress(text: string): WebAddress | undefined {
  const url = text.length <= urlCharactersMax ? URL.parse(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || !hostPattern.test(url.hostname) || url.search !== '' || url.hash !== '') return undefined;
  const credentials = url.username === '' ? undefined : `${decoded(url.username)}:${decoded(url.password)}`;
  url.username = '';
  url.password = '';
  return { url, credentials };
}

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Problem('invalid-request', 'The address of the repository is not correctly percent-encoded.');
  }
}

/** More came than is allowed. */
export class TooLarge extends Error {}

export interface Fetching {
  /** A scratch repository, whose size is that of what is fetched. */
  gitDir: string;
  /** What to fetch, and into which refs. */
  what: readonly string[];
  /** Whether only the commits themselves are fetched, without their history. */
  isShallow?: boolean;
  /** Whether refs go that are gone there, of those that `what` fetches into. */
  prunes?: boolean;
  bytesMax: number;
  secondsMax: number;
  signal: AbortSignal;
}

export interface Visit extends Fetching {
  from: WebAddress;
  allowPrivateAddresses: readonly string[];
  look?: Lookup;
  /** Called when the address has been found fit to be visited. */
  onVisit?: () => void;
}

/** Throws a Problem where the address must not be visited, and TooLarge. */
export async function fetchFromWeb({ from: { url, credentials }, allowPrivateAddresses, look, onVisit, ...rest }: Visit): Promise<Outcome> {
  const addresses = await visitableAddresses(url.hostname, allowPrivateAddresses, look);
  onVisit?.();
  return fetchWatched(url.href, visiting(url, addresses, credentials), rest);
}

/** Clones branches and tags into a folder that is not there yet. Throws a Problem where the address must not be visited, and TooLarge. */
export async function cloneFromWeb({ from: { url, credentials }, allowPrivateAddresses, look, ...rest }: Visit): Promise<Outcome> {
  const addresses = await visitableAddresses(url.hostname, allowPrivateAddresses, look);
  return watched(['clone', '--quiet', '--bare', '--', url.href, rest.gitDir], visiting(url, addresses, credentials), rest);
}

/** Fetches from a folder of ours. Throws TooLarge. */
export const fetchFromFolder = (folder: string, fetching: Fetching): Promise<Outcome> =>
  fetchWatched(folder, { 'protocol.file.allow': 'always' }, fetching);

function fetchWatched(from: string, settings: Settings, fetching: Fetching): Promise<Outcome> {
  const { what, isShallow, prunes } = fetching;
  const wanted = [...(isShallow ? ['--depth=1'] : []), ...(prunes ? ['--prune'] : [])];
  const options = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', ...wanted];
  return watched(['fetch', ...options, '--', from, ...what], settings, fetching);
}

type Watched = Pick<Fetching, 'gitDir' | 'bytesMax' | 'secondsMax' | 'signal'>;

async function watched(args: readonly string[], settings: Settings, { gitDir, bytesMax, secondsMax, signal }: Watched): Promise<Outcome> {
  const watch = watchSize(gitDir, bytesMax);
  const call: Call = { settings, secondsMax, signal: AbortSignal.any([signal, watch.signal]) };
  try {
    const outcome = await visitWithGit(gitDir, args, call);
    await watch.look();
    watch.signal.throwIfAborted();
    return outcome;
  } catch (error) {
    throw watch.signal.aborted ? new TooLarge() : error;
  } finally {
    watch.close();
  }
}

/** Why fetching failed, in words, from Git's complaint. */
export const whyNot = (stderr: string): string =>
  /could not read Username|Authentication failed|returned error: 40[13]/.test(stderr)
    ? 'it asks for a password: put one into the address, as in https://user:token@example.org/shop.git'
    : 'there is no Git repository that answers; check the address (redirects are not followed)';

/** Settings that have Git connect only to where the name pointed when it was checked. */
export function visiting(url: URL, addresses: readonly string[], credentials: string | undefined): Settings {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const isName = isIP(url.hostname.replace(/^\[|\]$/g, '')) === 0;
  const pinned = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join();
  return {
    [`protocol.${url.protocol.slice(0, -1)}.allow`]: 'always',
    'http.followRedirects': 'false',
    'http.proxy': '',
    'http.emptyAuth': 'false',
    'http.lowSpeedLimit': '1',
    'http.lowSpeedTime': String(stalledSecondsMax),
    'fetch.fsckObjects': 'true',
    ...(isName && { 'http.curloptResolve': `${url.hostname}:${port}:${pinned}` }),
    ...(credentials !== undefined && { 'http.extraHeader': `Authorization: Basic ${Buffer.from(credentials).toString('base64')}` }),
  };
}

/** Git has no limit of its own for what it fetches, so its files are watched while they grow: packs or, from old servers, single objects. */
function watchSize(gitDir: string, bytesMax: number) {
  const stop = new AbortController();
  const look = async () => {
    const { bytes, files } = await sizeOfObjects(gitDir);
    if (bytes > bytesMax || files > fetchedFilesMax) stop.abort();
  };
  let looking: Promise<void> | undefined;
  const timer = setInterval(() => {
    looking ??= look().finally(() => (looking = undefined));
  }, watchEveryMilliseconds);
  return { signal: stop.signal, look, close: () => clearInterval(timer) };
}

/** Once there are too many files, they are neither counted nor measured any further. */
export async function sizeOfObjects(gitDir: string): Promise<{ bytes: number; files: number }> {
  const objects = join(gitDir, 'objects');
  let [bytes, files] = [0, 0];
  for (const folder of await readdir(objects).catch(() => [])) {
    const names = await readdir(join(objects, folder)).catch(() => []);
    files += names.length;
    if (files > fetchedFilesMax) break;
    const sizes = await Promise.all(names.map((name) => sizeOfFile(join(objects, folder, name))));
    bytes += sizes.reduce((sum, size) => sum + size, 0);
  }
  return { bytes, files };
}

const sizeOfFile = (path: string) =>
  lstat(path).then(
    ({ size }) => size,
    () => 0,
  );
