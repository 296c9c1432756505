import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Problem } from '../../kernel/problem.ts';
import { checkout } from './checkout.ts';
import { clone } from './clone.ts';
import { isAncestor, merge, rebase } from './merge-and-rebase.ts';
import { gitText, GitFailed, readGit, runGit, tryGit } from './command.ts';
import { diff } from './diff.ts';
import { StaleBranch, type Git, type Ref } from './git.ts';
import { importCommit, type ImportLimits } from './import.ts';
import { fetchMirror, remoteRefs } from './mirror.ts';
import { openObjects, type Objects } from './objects.ts';
import { parseCommit, parseTree } from './parse-object.ts';
import { receive } from './receive.ts';
import { serve } from './serve.ts';
import { treeWithSubmodules } from './submodules.ts';
import { openPacker } from './pack-repositories.ts';

const commitBytesMax = 1024 * 1024;
const treeBytesMax = 16 * 1024 * 1024;
const blobBytesMax = 16 * 1024 * 1024;
const absent = '0'.repeat(40);

/** `folder` is ours alone; several processes may share it. */
export async function openGit(folder: string, limits: ImportLimits): Promise<Git> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await removeLeftovers(folder);
  const scratch = join(folder, `scratch-${randomBytes(8).toString('hex')}`);
  await mkdir(scratch, { mode: 0o700 });
  /** Shows processes that start meanwhile that somebody works here. */
  const alive = setInterval(() => void utimes(scratch, new Date(), new Date()).catch(() => {}), aliveEveryMinutes * 60 * 1000).unref();
  const path = (projectId: string) => {
    if (!/^[a-z0-9]{1,64}(-submodules)?$/.test(projectId)) throw new Error(`${JSON.stringify(projectId)} is not the id of a project`);
    return join(folder, `${projectId}.git`);
  };
  const objects = openObjects(path);
  const tidying = openPacker(path);
  return {
    path,
    ...keeping(path, scratch, objects),
    ...branching(path),
    ...reading(path, objects),
    merge: (projectId, ...rest) => merge(path(projectId), ...rest),
    rebase: (projectId, ...rest) => rebase(path(projectId), (sha) => objects.read(projectId, sha, commitBytesMax), ...rest),
    import: (projectId, source, by, log, signal) => importCommit(path(projectId), scratch, source, by, limits, { log, signal }),
    fetchMirror: (projectId, fetching) => fetchMirror(path(projectId), scratch, fetching, limits),
    remoteRefs: (projectId, from, signal) => remoteRefs(path(projectId), from, limits, signal),
    refsUnder: (projectId, ...prefixes) => refsUnder(path(projectId), ...prefixes),
    async withSubmodules(projectId, tree, fetching) {
      const repository = submodulesOf(projectId);
      const places = { own: path(projectId), kept: path(repository), scratchFolder: scratch };
      const whole = await treeWithSubmodules(places, tree, { kind: 'project', id: projectId }, limits, fetching);
      return whole === undefined ? undefined : { repository, tree: whole };
    },
    checkout: (projectId, tree, into, signal) => checkout(path(projectId), scratch, tree, into, signal),
    clone: (projectId, cloning) => clone(path(projectId), cloning),
    receive: (projectId, received) => receive(path(projectId), scratch, received),
    serve: (projectId, conversation) => serve(path(projectId), conversation),
    tidy: tidying.tidy,
    close: async () => {
      clearInterval(alive);
      objects.close();
      await tidying.close();
      await rm(scratch, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** The repository with what was fetched of a project's submodules. */
const submodulesOf = (projectId: string) => `${projectId}-submodules`;

const leftoverHours = 24;
const aliveEveryMinutes = 60;

/** What a process that was killed left behind, once nobody can be working on it any more. */
async function removeLeftovers(folder: string) {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('scratch-')) continue;
    const { mtimeMs } = await lstat(join(folder, name)).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > leftoverHours * 3600 * 1000) await rm(join(folder, name), { recursive: true, force: true, maxRetries: 3 });
  }
}

type PathOf = Git['path'];

const keeping = (path: PathOf, scratch: string, objects: Objects): Pick<Git, 'create' | 'remove' | 'exists' | 'setDefaultBranch'> => {
  const exists = async (projectId: string) => (await lstat(path(projectId)).catch(() => undefined))?.isDirectory() ?? false;
  return {
    exists,
    /** Appears whole or not at all. */
    async create(projectId, defaultBranch) {
      if (await exists(projectId)) return;
      await mkdir(scratch, { recursive: true, mode: 0o700 });
      const fresh = join(scratch, `new-${randomBytes(8).toString('hex')}.git`);
      await runGit(fresh, ['init', '--quiet', '--bare', `--initial-branch=${defaultBranch}`]);
      await rename(fresh, path(projectId)).catch(async (error: unknown) => {
        await rm(fresh, { recursive: true, force: true });
        if (!(await exists(projectId))) throw error;
      });
    },
    /** The folder is renamed first, so that nobody meets half of it. */
    async remove(projectId) {
      await mkdir(scratch, { recursive: true, mode: 0o700 });
      for (const id of [submodulesOf(projectId), projectId]) {
        objects.forget(id);
        const doomed = join(scratch, `old-${randomBytes(8).toString('hex')}.git`);
        const found = await rename(path(id), doomed).then(
          () => true,
          async (error: NodeJS.ErrnoException) => {
            if (error.code !== 'ENOENT' || (await exists(id))) throw error;
            return false;
          },
        );
        if (found) await rm(doomed, { recursive: true, force: true, maxRetries: 3 });
      }
    },
    setDefaultBranch: async (projectId, branch) => void (await runGit(path(projectId), ['symbolic-ref', 'HEAD', `refs/heads/${branch}`])),
  };
};

const headsPrefix = 'refs/heads/';

const refsArgs = ['for-each-ref', '--format=%(objectname) %(objecttype) %(refname)'];

const refsUnder = async (gitDir: string, ...prefixes: string[]): Promise<Ref[]> =>
  parseRefs(await gitText(gitDir, [...refsArgs, ...prefixes]));

function parseRefs(text: string): Ref[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [sha = '', type = '', ...name] = line.split(' ');
      return { sha, type, name: name.join(' ') };
    });
}

const branching = (path: PathOf): Pick<Git, 'branches' | 'branch' | 'moveBranch' | 'distance' | 'isAncestor' | 'isReachable' | 'refs'> => {
  const branch = async (projectId: string, name: string) =>
    (await refsUnder(path(projectId), `${headsPrefix}${name}`)).find((ref) => ref.name === `${headsPrefix}${name}`)?.sha;
  return {
    branch,
    branches: async (projectId) =>
      new Map((await refsUnder(path(projectId), headsPrefix)).map(({ name, sha }) => [name.slice(headsPrefix.length), sha])),
    refs: async (projectId) => parseRefs(await readGit(path(projectId), [...refsArgs, headsPrefix, 'refs/tags/'])),
    async moveBranch(projectId, name, from, to) {
      const ref = `${headsPrefix}${name}`;
      const args = to === undefined ? ['update-ref', '-d', ref, from ?? absent] : ['update-ref', ref, to, from ?? absent];
      const now = () => branch(projectId, name);
      if (to === undefined && (await now()) === undefined) return;
      const outcome = await tryGit(path(projectId), args);
      if (outcome.code === 0 || (await now()) === to) return;
      if (/ exists; cannot create /.test(outcome.stderr)) throw inTheWay(name);
      if ((await now()) !== from) throw new StaleBranch(`Branch ${name} was moved meanwhile`);
      throw new GitFailed(args, outcome);
    },
    async distance(projectId, commit, other) {
      const text = await gitText(path(projectId), ['rev-list', '--count', '--left-right', `${commit}...${other}`, '--']);
      const [ahead = 0, behind = 0] = text.split('\t').map(Number);
      return { ahead, behind };
    },
    isAncestor: (projectId, commit, of) => isAncestor(path(projectId), commit, of),
    async isReachable(projectId, commit, branches) {
      if (branches.length === 0) return false;
      const heads = new Set(branches.map((name) => `${headsPrefix}${name}`));
      const found = await readGit(path(projectId), ['for-each-ref', '--format=%(refname)', `--contains=${commit}`, ...heads]);
      /** Git takes a name for a folder of refs too, but refs below it were not asked for. */
      return found.split('\n').some((name) => heads.has(name));
    },
  };
};

const inTheWay = (name: string) =>
  new Problem('conflict', `There cannot be a branch ${name} beside one whose name is the beginning of the other's; choose another name.`);

const reading = (path: PathOf, objects: Objects): Pick<Git, 'commit' | 'tree' | 'blob' | 'diff' | 'commitsBetween'> => {
  const read = async (projectId: string, sha: string, type: string, bytesMax: number) => {
    const found = await objects.read(projectId, sha, bytesMax);
    if (found?.type !== type) return undefined;
    if (found.content) return found.content;
    throw new Problem('too-large', `The ${type} is larger than ${bytesMax / 1024 ** 2} MiB; fetch the repository to read it.`);
  };
  const commit: Git['commit'] = async (projectId, sha) => {
    const content = await read(projectId, sha, 'commit', commitBytesMax);
    return content && parseCommit(sha, content);
  };
  return {
    commit,
    async tree(projectId, sha) {
      const content = await read(projectId, sha, 'tree', treeBytesMax);
      return content && parseTree(content);
    },
    blob: (projectId, sha) => read(projectId, sha, 'blob', blobBytesMax),
    diff: (projectId, base, target) => diff(path(projectId), base, target),
    async commitsBetween(projectId, since, until, most) {
      const range = since === undefined ? [until] : [until, `^${since}`];
      const [count, list] = await Promise.all([
        gitText(path(projectId), ['rev-list', '--count', ...range, '--']),
        gitText(path(projectId), ['rev-list', `--max-count=${most}`, ...range, '--']),
      ]);
      const commits = await Promise.all(
        list
          .split('\n')
          .filter(Boolean)
          .map((sha) => commit(projectId, sha)),
      );
      return { count: Number(count), commits: commits.filter((found) => found !== undefined) };
    },
  };
};
