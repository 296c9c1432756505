/**
 * Refs of a repository elsewhere, fetched into a project's own again and again. Branches come under `refs/mirror`, where no client sees them and nothing is
 * deployed from: which of them become branches of the project is decided by whoever asked. The credential is in no file and on no command line.
 */
import { Problem } from '../../kernel/problem.ts';
import { visitWithGit, type Outcome } from './command.ts';
import { fetchFromWeb, parseWebAddress, sizeOfObjects, TooLarge, visiting, type Visit, type WebAddress } from './fetch-remote.ts';
import { visitableAddresses } from '../outbound/addresses.ts';
import { firstFetch, removeStaleLock } from './first-fetch.ts';
import type { MirrorFetch, RemoteRepository } from './git.ts';
import type { ImportLimits } from './import.ts';

export const mirrorPrefix = 'refs/mirror/';

const mirrorBytesMax = 4 * 1024 ** 3;
const mirrorSecondsMax = 30 * 60;
const listSecondsMax = 60;

/** Throws a Problem with a sentence for people. Fetching what is there already is cheap. */
export async function fetchMirror(
  gitDir: string,
  scratchFolder: string,
  { from, what, prunes, signal }: MirrorFetch,
  limits: ImportLimits,
): Promise<void> {
  const address = addressOf(from);
  await removeStaleLock(gitDir);
  const { bytes, files } = await sizeOfObjects(gitDir);
  const bytesMax = bytes + (limits.bytesMax ?? mirrorBytesMax);
  const secondsMax = limits.secondsMax ?? mirrorSecondsMax;
  const visit: Visit = { ...limits, gitDir, from: address, what, prunes, bytesMax, secondsMax, signal };
  const isFirst = files === 0 && what.every(isOfManyRefs);
  try {
    const { code, stderr } = await (isFirst ? firstFetch(scratchFolder, visit) : fetchFromWeb(visit));
    if (code !== 0) throw refusal(address, stderr);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new Problem(
      'too-large',
      `${address.url.href} has more than ${(bytesMax - bytes) / 1024 ** 2} MiB of commits that are not here yet.`,
    );
  }
}

/** Pull requests are fetched one by one. */
const isOfManyRefs = (refspec: string) => /^\+refs\/(heads|tags)\/\*:/.test(refspec);

/** Branches and tags, by their whole names. */
export async function remoteRefs(
  gitDir: string,
  from: RemoteRepository,
  limits: ImportLimits,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const address = addressOf(from);
  const addresses = await visitableAddresses(address.url.hostname, limits.allowPrivateAddresses, limits.look);
  const settings = visiting(address.url, addresses, address.credentials);
  const args = ['ls-remote', '--quiet', '--refs', '--heads', '--tags', '--', address.url.href];
  const outcome: Outcome = await visitWithGit(gitDir, args, { settings, secondsMax: listSecondsMax, signal });
  if (outcome.code !== 0) throw refusal(address, outcome.stderr);
  const lines = outcome.stdout.toString('utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => [line.slice(line.indexOf('\t') + 1), line.slice(0, line.indexOf('\t'))]));
}

function addressOf({ url, username, password }: RemoteRepository): WebAddress {
  const address = parseWebAddress(url);
  if (!address)
    throw new Problem('invalid-request', 'The code host names a repository whose address begins with neither https:// nor http://.');
  return username === undefined ? address : { ...address, credentials: `${username}:${password ?? ''}` };
}

function refusal({ url }: WebAddress, internal: string): Problem {
  const missing = /couldn't find remote ref (\S+)/.exec(internal)?.[1];
  if (missing !== undefined) return new Problem('not-found', `${url.href} has no ${missing}.`, { internal });
  const isRefused = /could not read Username|Authentication failed|returned error: 40[13]/.test(internal);
  return new Problem(
    'unavailable',
    isRefused
      ? `${url.href} lets nothing be fetched with the credential of the integration.`
      : `Nothing could be fetched from ${url.href}.`,
    { internal },
  );
}
