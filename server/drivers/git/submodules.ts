/**
 * Commits with the files of their submodules in place. What a submodule's commit has is fetched once for a project and kept beside its repository,
 * in one that borrows the project's objects; the trees that hold both are written there. So an app whose folder has no submodule in it keeps its
 * tree, and the tree of one that has tells which commits of them it has.
 *
 * Nothing of a submodule is ever run, checked out by itself, or looked for by its name: its tree takes the place of the entry in the tree around
 * it, in an index, and Git refuses paths there that no tree may have.
 */
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { refusal } from './checkout.ts';
import { gitText, runGit, TooMuchOutput, tryGit } from './command.ts';
import type { Submodule, SubmoduleFetching } from './git.ts';
import type { ImportLimits } from './import.ts';
import { declaredIn, originOf, titleOf, type SubmoduleOrigin } from './submodule-origin.ts';
import { refuseLarge, refuseLargeTree, sizeOfTree, togetherOf } from './tree-size.ts';
import { fetchFromFolder, fetchFromWeb, sizeOfObjects, TooLarge, whyNot } from './fetch-remote.ts';

const submodulesMax = 50;
/** How deep submodules may be nested. */
const depthMax = 5;
const listBytesMax = 256 * 1024;
/** For all that is fetched for one commit. */
const fetchedBytesMax = 1024 ** 3;
const fetchSecondsMax = 600;
/** For all that is kept for a project; above it, what the current commit does not need is thrown away. */
const keptBytesMax = 4 * 1024 ** 3;
/** Longer than any build takes: a build may read what nothing else needs any more. */
const keptHoursMin = 6;
const tidySecondsMax = 600;

const refOf = (commit: string) => `refs/submodules/${commit}`;
const shortly = (commit: string) => commit.slice(0, 7);

export interface Repositories {
  /** The project's own repository. */
  own: string;
  /** The repository that holds its submodules. */
  kept: string;
  scratchFolder: string;
}

interface Resolving extends Repositories {
  limits: ImportLimits;
  fetching: SubmoduleFetching | undefined;
  until: number;
  /** The trees that were found so far, by commit. */
  seen: Map<string, string>;
  count: number;
  bytesLeft: number;
}

/** Undefined: the tree has none, and is as it is. `fetching` undefined: what is not kept is not fetched, and is a Problem. */
export async function treeWithSubmodules(
  places: Repositories,
  tree: string,
  around: SubmoduleOrigin,
  limits: ImportLimits,
  fetching?: SubmoduleFetching,
): Promise<string | undefined> {
  const resolving: Resolving = {
    ...places,
    limits,
    fetching,
    until: Date.now() + (limits.secondsMax ?? fetchSecondsMax) * 1000,
    seen: new Map(),
    count: 0,
    bytesLeft: limits.bytesMax ?? fetchedBytesMax,
  };
  await refuseLarge('The commit', places.own, tree, fetching && { signal: fetching.signal });
  const whole = await resolved(resolving, places.own, tree, around, '', 1);
  if (fetching && whole !== tree) await throwOldAway(resolving);
  return whole === tree ? undefined : whole;
}

/** The tree, with the trees of its submodules in place of their entries. */
async function resolved(
  resolving: Resolving,
  gitDir: string,
  tree: string,
  around: SubmoduleOrigin,
  prefix: string,
  depth: number,
): Promise<string> {
  const declared = await declaredBy(resolving, gitDir, tree, prefix);
  if (!declared) return tree;
  const trees = new Map<string, string>();
  for (const { path, commit } of await entriesIn(gitDir, tree)) {
    const inside = join(prefix, path);
    const module = declared.get(path);
    if (!module)
      resolving.fetching?.log(`  W: ${inside} is a submodule that .gitmodules does not tell the address of: its folder stays empty.`);
    if (!module || module.isLeftOut) continue;
    if (depth > depthMax) throw cannot(inside, `there are more than ${depthMax} submodules in each other`);
    resolving.count += 1;
    if (resolving.count > submodulesMax) throw cannot(inside, `there are more than ${submodulesMax} submodules`);
    // A submodule that is kept is found by its commit; where it came from does not matter any more.
    const origin = resolving.fetching ? originOf(inside, module.url, around, resolving.fetching.projectAt) : around;
    const own = await treeOf(resolving, { path: inside, commit, origin });
    trees.set(path, await resolved(resolving, resolving.kept, own, origin, inside, depth + 1));
  }
  return trees.size === 0 ? tree : combined(resolving, tree, trees);
}

const cannot = (path: string, why: string, internal?: string) =>
  new Problem('invalid-request', `The submodule '${path}' cannot be fetched: ${why}.`, internal === undefined ? {} : { internal });

const plainModes = new Set(['100644', '100755', '100664']);

/** What `.gitmodules` says, as Git itself reads a copy of it, without files that it might include. Undefined: the tree says nothing of submodules. */
async function declaredBy({ scratchFolder }: Repositories, gitDir: string, tree: string, prefix: string) {
  const [mode = '', , sha = ''] = (await gitText(gitDir, ['ls-tree', tree, '--', '.gitmodules'])).split(/\s/);
  if (mode === '') return undefined;
  const name = join(prefix, '.gitmodules');
  if (!plainModes.has(mode)) throw new Problem('invalid-request', `${name} must be a plain file.`);
  const copy = join(scratchFolder, `gitmodules-${randomBytes(8).toString('hex')}`);
  try {
    await writeFile(copy, await runGit(gitDir, ['cat-file', 'blob', sha], { bytesMax: listBytesMax }), { mode: 0o600 });
    const { code, stdout, stderr } = await tryGit(gitDir, ['config', '--no-includes', '--file', copy, '--list', '-z']);
    if (code !== 0)
      throw new Problem('invalid-request', `${name} cannot be read: it is not in the form of Git's settings.`, { internal: stderr });
    return declaredIn(stdout.toString('utf8'));
  } catch (error) {
    throw error instanceof TooMuchOutput
      ? new Problem('too-large', `${name} is larger than ${listBytesMax / 1024} KiB.`, { internal: error.message })
      : error;
  } finally {
    await rm(copy, { force: true });
  }
}

async function entriesIn(gitDir: string, tree: string): Promise<Pick<Submodule, 'path' | 'commit'>[]> {
  const listing = await runGit(gitDir, ['ls-tree', '-r', '-z', '--full-tree', tree]).catch((error: unknown) => {
    throw error instanceof TooMuchOutput ? new Problem('too-large', 'The commit has too many files to look for submodules in.') : error;
  });
  return [...listing.toString('utf8').matchAll(/(?:^|\0)160000 commit ([0-9a-f]{40})\t([^\0]+)/g)].map(([, commit = '', path = '']) => {
    // oxlint-disable-next-line no-control-regex -- they would be obeyed by who reads the log
    if (/[\u0000-\u001f\u007f]/.test(path)) throw cannot(JSON.stringify(path), 'its path has control characters in it');
    return { commit, path };
  });
}

/** The tree of the submodule: found in what is kept, or fetched. */
async function treeOf(resolving: Resolving, submodule: Submodule): Promise<string> {
  const { kept, fetching, seen } = resolving;
  const { path, commit, origin } = submodule;
  const found = seen.get(commit) ?? (await keptTree(kept, commit));
  if (found === undefined && !fetching)
    throw cannot(path, `${shortly(commit)} of ${titleOf(origin)} is not here any more; redeploy to fetch it`);
  if (found !== undefined && !seen.has(commit)) fetching?.log(`  Using submodule ${path}: ${shortly(commit)}, which was fetched before`);
  const tree = found ?? (await fetched(resolving, fetching, submodule));
  seen.set(commit, tree);
  return tree;
}

async function keptTree(kept: string, commit: string): Promise<string | undefined> {
  if (!(await exists(kept))) return undefined;
  const { code, stdout } = await tryGit(kept, ['rev-parse', '--quiet', '--verify', '--end-of-options', `${refOf(commit)}^{tree}`]);
  return code === 0 ? stdout.toString('latin1').trim() : undefined;
}

const exists = async (gitDir: string) => (await lstat(gitDir).catch(() => undefined))?.isDirectory() ?? false;

/** Fetches into a scratch repository, whose size is watched; only what is whole and well-formed is kept. */
async function fetched(resolving: Resolving, fetching: SubmoduleFetching | undefined, submodule: Submodule): Promise<string> {
  const { scratchFolder, kept } = resolving;
  if (!fetching) throw new Error('Nothing is fetched');
  if (submodule.origin.kind === 'project') await checkProject(resolving, fetching, submodule, submodule.origin.id);
  const scratch = join(scratchFolder, `submodule-${randomBytes(8).toString('hex')}.git`);
  try {
    await mkdir(scratchFolder, { recursive: true, mode: 0o700 });
    await runGit(scratch, ['init', '--quiet', '--bare']);
    await fetchCommit(resolving, fetching, submodule, scratch);
    const tree = await gitText(scratch, ['rev-parse', '--verify', '--end-of-options', `${submodule.commit}^{tree}`]);
    await refuseLarge(`The submodule '${submodule.path}'`, scratch, tree, { signal: fetching.signal });
    await runGit(scratch, ['update-ref', keptAs, tree]);
    resolving.bytesLeft -= (await sizeOfObjects(scratch)).bytes;
    await ensureKept(resolving);
    await runGit(kept, ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--', scratch, `+${keptAs}:${refOf(submodule.commit)}`], {
      settings: { 'protocol.file.allow': 'always' },
      secondsMax: fetchSecondsMax,
      signal: fetching.signal,
    });
    return tree;
  } finally {
    await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** A commit that no branch has any more is given to nobody. */
async function checkProject({ own }: Repositories, { mayUse }: SubmoduleFetching, { path, commit, origin }: Submodule, id: string) {
  await mayUse(id, path);
  const args = ['for-each-ref', '--count=1', `--contains=${commit}`, 'refs/heads/', 'refs/tags/'];
  const { code, stdout } = await tryGit(repositoryOf(own, id), args);
  if (code !== 0 || stdout.length === 0) throw hasNot(path, commit, origin);
}

const repositoryOf = (own: string, id: string) => join(dirname(own), `${id}.git`);
const hasNot = (path: string, commit: string, origin: SubmoduleOrigin, internal?: string) =>
  cannot(path, `${titleOf(origin)} has no commit ${commit}; push it there first`, internal);

const keptAs = 'refs/fetched/tree';
const fetchedAs = 'refs/fetched/commit';

/** Fetches just the commit, where the server gives that out; otherwise all branches and tags, among which it should be. */
async function fetchCommit(resolving: Resolving, { log, signal }: SubmoduleFetching, { path, commit, origin }: Submodule, gitDir: string) {
  log(`  Fetching submodule ${path}: ${shortly(commit)} of ${titleOf(origin)}`);
  const attempt = (what: readonly string[], isShallow: boolean) => {
    const secondsMax = (resolving.until - Date.now()) / 1000;
    if (secondsMax <= 0) throw cannot(path, 'all submodules together took too long');
    const fetching = { gitDir, what, isShallow, bytesMax: resolving.bytesLeft, secondsMax, signal };
    if (origin.kind === 'project') return fetchFromFolder(repositoryOf(resolving.own, origin.id), fetching);
    return fetchFromWeb({ ...resolving.limits, ...fetching, from: origin });
  };
  try {
    const exact = await attempt([`+${commit}:${fetchedAs}`], true);
    if (exact.code === 0) return;
    const all = await attempt(['+refs/heads/*:refs/fetched/heads/*', '+refs/tags/*:refs/fetched/tags/*'], false);
    if (all.wasKilled) throw cannot(path, 'it took too long');
    if (all.code !== 0) throw cannot(path, whyNot(all.stderr), all.stderr);
    const { code } = await tryGit(gitDir, ['cat-file', '-e', `${commit}^{commit}`]);
    if (code !== 0) throw hasNot(path, commit, origin, exact.stderr);
  } catch (error) {
    if (error instanceof TooLarge) throw tooLarge(path, resolving.limits);
    if (error instanceof Problem && !error.message.startsWith('The submodule'))
      throw cannot(path, error.message.replace(/\.$/, ''), error.internal);
    throw error;
  }
}

const tooLarge = (path: string, { bytesMax = fetchedBytesMax }: ImportLimits) =>
  new Problem('too-large', `The submodule '${path}' cannot be fetched: all of them together are larger than ${bytesMax / 1024 ** 2} MiB.`);

/** The repository appears whole or not at all. It borrows the project's objects by a relative path, which holds when the folder of both moves. */
async function ensureKept({ own, kept, scratchFolder }: Repositories) {
  if (await exists(kept)) return;
  const fresh = join(scratchFolder, `new-${randomBytes(8).toString('hex')}.git`);
  await runGit(fresh, ['init', '--quiet', '--bare']);
  await writeFile(join(fresh, 'objects', 'info', 'alternates'), `../../${basename(own)}/objects\n`);
  await rename(fresh, kept).catch(async (error: unknown) => {
    await rm(fresh, { recursive: true, force: true });
    if (!(await exists(kept))) throw error;
  });
}

async function combined({ kept, scratchFolder }: Repositories, tree: string, submodules: ReadonlyMap<string, string>): Promise<string> {
  const sizes = await Promise.all([tree, ...submodules.values()].map((part) => sizeOfTree(kept, part)));
  refuseLargeTree('The commit with its submodules', togetherOf(sizes.filter((size) => size !== undefined)));
  const index = join(scratchFolder, `index-${randomBytes(8).toString('hex')}`);
  const run = async (args: string[], input = '') => {
    const outcome = await tryGit(kept, args, { env: { GIT_INDEX_FILE: index }, input });
    if (outcome.code !== 0) throw refusal(args, outcome);
    return outcome.stdout.toString('latin1').trim();
  };
  const absent = '0'.repeat(40);
  try {
    await run(['read-tree', tree]);
    await run(['update-index', '-z', '--index-info'], [...submodules.keys()].map((path) => `0 ${absent}\t${path}\0`).join(''));
    for (const [path, own] of submodules) await run(['read-tree', '-i', `--prefix=${path}/`, own]);
    return await run(['write-tree']);
  } finally {
    for (const file of [index, `${index}.lock`]) await rm(file, { force: true });
  }
}

async function throwOldAway({ kept, seen }: Resolving) {
  if ((await sizeOfObjects(kept)).bytes <= keptBytesMax) return;
  const refs = (await gitText(kept, ['for-each-ref', '--format=%(refname)', 'refs/submodules/'])).split('\n');
  const needed = new Set([...seen.keys()].map(refOf));
  const deletions = refs.filter((ref) => ref !== '' && !needed.has(ref)).map((ref) => `delete ${ref}\n`);
  await runGit(kept, ['update-ref', '--stdin'], { input: deletions.join('') });
  await tryGit(kept, ['gc', '--quiet', `--prune=${keptHoursMin}.hours.ago`], { secondsMax: tidySecondsMax });
}
