/** A code host for tests as people have it: the wire of its API, and behind the same address a real repository that Git fetches from, for who has the token. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bitbucketServerWire } from '../../../drivers/code-hosts/bitbucket-server/test-bitbucket-server.ts';
import { bitbucketWire, testConsumer } from '../../../drivers/code-hosts/bitbucket/test-bitbucket.ts';
import { githubWire } from '../../../drivers/code-hosts/github/test-github.ts';
import { giteaWire } from '../../../drivers/code-hosts/gitea/test-gitea.ts';
import { gitlabWire } from '../../../drivers/code-hosts/gitlab/test-gitlab.ts';
import { serveTestHost, testToken, type Happening, type HostWire, type TestPullRequest } from '../../../drivers/code-hosts/test-host.ts';
import { serveRepositories } from '../../../drivers/git/test-git-server.ts';
import { commitFiles, git } from '../../../testing/repository.ts';

interface MirroredKind {
  wire: HostWire;
  bodyAt(origin: string): Record<string, unknown>;
  /** Where Git finds it, from the root of the host. */
  path: string;
  /** Where its own pull requests are, by the name that their branch would have; those of forks are there, too, unless a repository of the fork is named. */
  pullRef(number: number, source: string): string;
  fork?: string;
}

const token = testToken;
const path = 'acme/shop.git';

export const hosts = {
  github: {
    wire: githubWire,
    bodyAt: (origin) => ({ token, base_url: origin, repository: 'acme/shop' }),
    path,
    pullRef: (number) => `refs/pull/${number}/head`,
  },
  gitlab: {
    wire: gitlabWire,
    bodyAt: (origin) => ({ token, base_url: origin, project: 'acme/shop' }),
    path,
    pullRef: (number) => `refs/merge-requests/${number}/head`,
  },
  gitea: {
    wire: giteaWire,
    bodyAt: (origin) => ({ token, base_url: origin, repository: 'acme/shop' }),
    path,
    pullRef: (number) => `refs/pull/${number}/head`,
  },
  bitbucket: {
    wire: bitbucketWire,
    bodyAt: () => ({ app_credentials: testConsumer, repository: 'acme/shop' }),
    path,
    pullRef: (_number, source) => `refs/heads/${source}`,
    fork: 'mallory/shop.git',
  },
  bitbucket_server: {
    wire: bitbucketServerWire,
    bodyAt: (origin) => ({ token, url: origin, username: 'ada', project: 'acme', repository: 'shop' }),
    path: `scm/${path}`,
    pullRef: (number) => `refs/pull-requests/${number}/from`,
  },
} satisfies Record<string, MirroredKind>;
export type TestedHost = keyof typeof hosts;

export async function openMirroredHost(type: TestedHost) {
  const { wire, bodyAt, path: repositoryPath, pullRef, fork }: MirroredKind = hosts[type];
  const folder = mkdtempSync(join(tmpdir(), 'offshoot-code-host-'));
  const repository = join(folder, repositoryPath);
  git(folder, ['init', '--quiet', '--bare', '--initial-branch=main', repository]);
  const forked = fork === undefined ? repository : openFork(join(folder, fork), repository);
  const [api, repositories] = [await serveTestHost(wire), await serveRepositories(folder)];
  const { state } = api;
  let isAway = false;
  let renamed: string | undefined;
  const front = createServer((request, reply) => {
    if (isAway) return void reply.writeHead(503).end();
    const isGit = /\.git\//.test(request.url ?? '');
    if (isGit && !isKnown(request)) return void reply.writeHead(401, { 'www-authenticate': 'Basic realm="host"' }).end();
    if (isGit && renamed !== undefined) {
      // Hosts lead Git from the former name to the new one.
      if (request.url?.includes('/shop.git/'))
        return void reply.writeHead(301, { location: request.url.replace('/shop.git/', `/${renamed}.git/`) }).end();
      request.url = request.url?.replace(`/${renamed}.git/`, '/shop.git/');
    }
    void passOn(request, reply, isGit ? repositories.urlOf('').slice(0, -1) : state.origin);
  });
  await new Promise<void>((resolve) => void front.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
  const headOf = (ref: string) => git(folder, [`--git-dir=${repository}`, 'rev-parse', '--verify', '--quiet', ref]);
  const setRef = (ref: string, sha: string) => git(repository, ['update-ref', ref, sha]);

  return {
    state,
    origin,
    /** The folder of the bare repository. */
    repository,
    body: { type, ...bodyAt(origin) },
    /** A commit on top of a branch, which becomes its head. */
    commit(branch: string, content: Record<string, string>, onto = branch): string {
      const before = state.branches.get(onto);
      const sha = commitFiles(repository, /^a+$/.test(before ?? '') ? undefined : before, content);
      setRef(`refs/heads/${branch}`, sha);
      state.branches.set(branch, sha);
      return sha;
    },
    tag(name: string, sha: string) {
      setRef(`refs/tags/${name}`, sha);
      state.tags.set(name, sha);
    },
    deleteBranch(branch: string) {
      git(repository, ['update-ref', '-d', `refs/heads/${branch}`]);
      state.branches.delete(branch);
    },
    /** Opens one, or changes it; its commit is on top of its target, and on no branch where it comes from a fork. */
    pullRequest(number: number, content: Record<string, string>, given: Partial<TestPullRequest> = {}): string {
      const target = given.target ?? 'main';
      const known = state.pullRequests.get(number)?.commit;
      const [into, source] = [given.isFromFork ? forked : repository, given.source ?? 'topic'];
      const commit = given.commit ?? commitFiles(into, known ?? state.branches.get(target), content);
      git(into, ['update-ref', pullRef(number, source), commit]);
      state.pullRequests.set(number, {
        number,
        title: `Request ${number}`,
        state: 'open',
        isDraft: false,
        isFromFork: false,
        source,
        target,
        ...given,
        commit,
      });
      return commit;
    },
    /** What merging it into its target would make now, as hosts keep it beside it. */
    merge(number: number): string {
      const { target, commit } = state.pullRequests.get(number) ?? { target: '', commit: '' };
      const into = state.branches.get(target) ?? '';
      const tree = git(repository, ['merge-tree', '--write-tree', into, commit]);
      const merged = git(repository, ['commit-tree', tree, '-m', 'Merge', '-p', into, '-p', commit]);
      setRef(pullRef(number, 'topic').replace(/[^/]+$/, 'merge'), merged);
      return merged;
    },
    close(number: number) {
      const found = state.pullRequests.get(number);
      if (found) state.pullRequests.set(number, { ...found, state: 'closed' });
    },
    headOf,
    /** As if its public address led here. */
    send: api.send,
    deliver: (happening: Happening, secret: string) => api.deliver(happening, secret),
    goAway: (away: boolean) => (isAway = away),
    /** Its API answers under the former name, too, and tells the new one. */
    rename(to: string) {
      renamed = to;
      state.name = to;
    },
    closeHost: () => {
      front.closeAllConnections();
      front.close();
      api.close();
      repositories.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Has what the other has, and its own commits alone. */
function openFork(fork: string, of: string): string {
  git(tmpdir(), ['init', '--quiet', '--bare', fork]);
  writeFileSync(join(fork, 'objects/info/alternates'), `${join(of, 'objects')}\n`);
  return fork;
}

export type MirroredHost = Awaited<ReturnType<typeof openMirroredHost>>;

const isKnown = ({ headers }: IncomingMessage) =>
  Buffer.from((headers.authorization ?? '').replace(/^Basic /, ''), 'base64')
    .toString()
    .endsWith(`:${testToken}`);

async function passOn(request: IncomingMessage, reply: ServerResponse, origin: string) {
  const { method = 'GET', url = '/', headers } = request;
  const {
    host: _host,
    connection: _connection,
    'transfer-encoding': _encoding,
    'content-length': _length,
    expect: _expect,
    ...kept
  } = headers;
  const body = Buffer.concat(await request.toArray());
  const answer = await fetch(origin + url, {
    method,
    headers: kept as Record<string, string>,
    redirect: 'manual',
    ...(body.length > 0 && { body }),
  });
  reply.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
}
