/**
 * Brings a commit in from elsewhere: from a repository on the web, with files of another repository and single files laid over it. It is fetched
 * into a scratch repository, at an address that was looked up once and found fit to be visited, without following anybody elsewhere; only what is
 * whole and well-formed then goes into the project's.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import type { Lookup } from '../outbound/look-up-host.ts';
import { writeCommit, signatureLine } from './merge-and-rebase.ts';
import { gitText, GitFailed, runGit } from './command.ts';
import type { ImportSource, Signature } from './git.ts';
import { refuseLargeObjects } from './push-size.ts';
import { refuseLarge } from './tree-size.ts';
import { decoded, fetchFromWeb, parseWebAddress, TooLarge, whyNot, type WebAddress } from './fetch-remote.ts';

export interface ImportLimits {
  allowPrivateAddresses: readonly string[];
  bytesMax?: number;
  secondsMax?: number;
  look?: Lookup;
}

const importBytesMax = 2 * 1024 ** 3;
const importSecondsMax = 30 * 60;
const filesMax = 1000;
const fileBytesMax = 32 * 1024 * 1024;
const pathCharactersMax = 1000;

interface Scratch {
  gitDir: string;
  limits: ImportLimits;
  log: (line: string) => void;
  signal: AbortSignal;
}

export async function importCommit(
  gitDir: string,
  scratchFolder: string,
  source: ImportSource,
  by: Signature,
  limits: ImportLimits,
  { log, signal }: Pick<Scratch, 'log' | 'signal'>,
): Promise<string> {
  const scratch: Scratch = { gitDir: join(scratchFolder, `import-${randomBytes(8).toString('hex')}.git`), limits, log, signal };
  for (const { path, mode, contents } of source.files) checkFile(path, mode, contents.length);
  if (source.files.length > filesMax) throw new Problem('too-large', `At most ${filesMax} files can be added.`);
  try {
    await mkdir(scratchFolder, { recursive: true });
    await runGit(scratch.gitDir, ['init', '--quiet', '--bare']);
    const base = source.repository === undefined ? undefined : await fetchFrom(source.repository, 'repository', scratch);
    const overlay = source.config === undefined ? undefined : await fetchFrom(source.config, 'config', scratch);
    const commit = await layOver(scratch, base, overlay, source.files, by);
    await handOver(scratch, commit, gitDir);
    return commit;
  } finally {
    await rm(scratch.gitDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

export interface Origin extends WebAddress {
  branch: string | undefined;
}

/**
 * `https://user:password@example.org/shop.git@branch`. An `@` at the beginning of a part of the path belongs to the path, as in
 * `https://example.org/@scope/shop.git`; the first other one begins the branch. Visits nobody. Throws a Problem.
 */
export function parseOrigin(text: string): Origin {
  const address = parseWebAddress(text);
  if (!address)
    throw new Problem(
      'invalid-request',
      'The repository must be an address such as https://example.org/shop.git, or https://example.org/shop.git@branch.',
    );
  const { url } = address;
  const at = url.pathname.search(/(?<=[^/])@/);
  const branch = at < 0 ? undefined : decoded(url.pathname.slice(at + 1));
  if (branch !== undefined && !/^[\p{L}\p{N}][\p{L}\p{N}._/+-]{0,249}$/u.test(branch))
    throw new Problem('invalid-request', `${JSON.stringify(branch)} is not the name of a branch.`);
  if (at >= 0) url.pathname = url.pathname.slice(0, at);
  return { ...address, branch };
}

async function fetchFrom(text: string, name: string, { gitDir, limits, log, signal }: Scratch): Promise<string> {
  const origin = parseOrigin(text);
  const { url, branch } = origin;
  const ref = `refs/import/${name}`;
  try {
    const { code, stderr } = await fetchFromWeb({
      ...limits,
      gitDir,
      from: origin,
      what: [`+${branch === undefined ? 'HEAD' : `refs/heads/${branch}`}:${ref}`],
      bytesMax: sizeOf(limits),
      secondsMax: limits.secondsMax ?? importSecondsMax,
      signal,
      onVisit: () => log(`Fetching ${branch ?? 'the default branch'} of ${url.href}`),
    });
    if (code !== 0) throw unreachable(url, branch, stderr);
  } catch (error) {
    if (!(error instanceof TooLarge)) throw error;
    throw new Problem('too-large', `The repository is larger than ${sizeOf(limits) / 1024 ** 2} MiB, which is the most that is imported.`);
  }
  const commit = await gitText(gitDir, ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`]);
  await refuseLargeObjects({ gitDir, parties: [gitDir] }, join(gitDir, 'objects'));
  await refuseLarge(url.href, gitDir, commit, { signal });
  return commit;
}

const sizeOf = ({ bytesMax = importBytesMax }: ImportLimits) => bytesMax;

function unreachable(url: URL, branch: string | undefined, internal: string) {
  const why = /couldn't find remote ref/.test(internal)
    ? branch === undefined
      ? 'it is empty'
      : `it has no branch ${branch}`
    : whyNot(internal);
  return new Problem('invalid-request', `${url.href} cannot be imported: ${why}.`, { internal });
}

/** The commit itself where nothing is laid over it; otherwise a new one after it. */
async function layOver(
  { gitDir, log, signal }: Scratch,
  base: string | undefined,
  overlay: string | undefined,
  files: ImportSource['files'],
  by: Signature,
): Promise<string> {
  if (base !== undefined && overlay === undefined && files.length === 0) return base;
  const env = { GIT_INDEX_FILE: join(gitDir, 'import.index') };
  const git = (args: string[], input?: string | Buffer) => runGit(gitDir, args, { env, signal, ...(input !== undefined && { input }) });
  await git(base === undefined ? ['read-tree', '--empty'] : ['read-tree', base]);
  const indexInfo = ['update-index', '--replace', '--add', '-z', '--index-info'];
  if (overlay !== undefined) await git(indexInfo, await git(['ls-tree', '-r', '-z', '--full-tree', overlay]));
  for (const { path, mode, contents } of files) {
    const sha = (await git(['hash-object', '-w', '--stdin'], contents)).toString('latin1').trim();
    await git(indexInfo, `${mode & 0o111 ? '100755' : '100644'} ${sha}\t${path}\0`).catch((error: unknown) => {
      throw error instanceof GitFailed ? badPath(path) : error;
    });
    log(`Adding ${path}`);
  }
  const tree = (await git(['write-tree'])).toString('latin1').trim();
  return writeCommit(gitDir, {
    tree,
    parents: base === undefined ? [] : [base],
    message: 'Initialize the environment',
    author: signatureLine(by),
    by,
  });
}

const badPath = (path: string) => new Problem('invalid-request', `${JSON.stringify(path)} cannot be the path of a file in a repository.`);

const regularFile = 0o100000;

/** A file inside the repository, and nothing that Git or a checkout could take for something else. */
export function checkFile(path: string, mode: number, bytes: number) {
  const parts = path.split('/');
  const isPlain =
    path.length > 0 &&
    path.length <= pathCharactersMax &&
    path.isWellFormed() &&
    // oxlint-disable-next-line no-control-regex -- control characters are what is refused
    !/[\u0000-\u001f\u007f\\]/.test(path) &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/^(\.git|git~\d+)[ .]*(:.*)?$/i.test(part));
  if (!isPlain) throw badPath(path);
  const kind = mode - (mode % 0o10000);
  if (!Number.isInteger(mode) || mode < 0 || (kind !== 0 && kind !== regularFile))
    throw new Problem('invalid-request', `The mode of ${path} must be that of a plain file, such as 0644 or 0755.`);
  if (bytes > fileBytesMax) throw new Problem('too-large', `${path} is larger than ${fileBytesMax / 1024 ** 2} MiB.`);
}

/** Fetches the commit from the scratch repository into the project's. */
async function handOver({ gitDir, signal }: Scratch, commit: string, into: string) {
  const ref = 'refs/import/result';
  await runGit(gitDir, ['update-ref', ref, commit]);
  const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', gitDir, ref];
  await runGit(into, args, { settings: { 'protocol.file.allow': 'always' }, secondsMax: importSecondsMax, signal });
}
