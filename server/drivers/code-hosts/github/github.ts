/** GitHub, at github.com and as Enterprise Server: REST API of version 2022-11-28, with a token of a person or the credentials of an App. */
import { Type } from 'typebox';
import { unlessMissing } from '../code-host-failure.ts';
import type { CodeHost, CommitStatus, Send } from '../code-host.ts';
import { openConnection, pathOf, type Clock, type HostConnection } from '../host-connection.ts';
import type { HostTokens } from '../host-tokens.ts';
import { inHtmlComment, keepOneComment, type Comments } from '../kept-comment.ts';
import { ensureOneWebhook, removeEveryWebhook, type Webhooks } from '../kept-webhooks.ts';
import { allOpen, pagesByLink } from '../pages.ts';
import { gitPathOf, parseRepositoryName, trimmedAddress } from '../repository-name.ts';
import { refuseReplaced } from '../same-repository.ts';
import { openGithubCredential, type GithubCredential } from './github-credential.ts';
import { readGithubDelivery } from './github-delivery.ts';
import { CommentShape, HookShape, NamedRef, PullRequestShape, pullRequestOf, RepositoryShape } from './github-shapes.ts';

export interface GithubOptions {
  /** `owner/name`. */
  repository: string;
  /** Known since the repository was verified. Once it is, another repository of the same name is refused, and deliveries about it are ignored. */
  repositoryId?: string | undefined;
  credential: GithubCredential;
  /** Of an Enterprise Server: `https://github.example.org`. */
  baseUrl?: string | undefined;
  send: Send;
  tokens?: HostTokens | undefined;
  clock?: Clock;
}

const publicWeb = 'https://github.com';
const publicApi = 'https://api.github.com';
const perPage = { per_page: '100' };
const events = ['push', 'pull_request', 'repository'];
const descriptionCharactersMax = 140;

export function openGithub(options: GithubOptions): CodeHost {
  const { owner, name } = parseRepositoryName(options.repository);
  const at = pathOf`/repos/${owner}/${name}`;
  const web = trimmedAddress(options.baseUrl ?? publicWeb);
  const baseUrl = web === publicWeb ? publicApi : `${web}/api/v3`;
  const { send, clock } = options;
  const shared = { host: 'GitHub', baseUrl, repository: options.repository, send, ...(clock && { clock }), headers: versionHeaders };
  const credential = openGithubCredential(options.credential, shared, at, options.tokens);
  const connection = openConnection({ ...shared, credential });
  const comments = commentsOf(connection, at);
  const webhooks = webhooksOf(connection, at);
  const verify = async () => {
    const verified = await verifyAt(connection, at);
    refuseReplaced(verified.repository, { ...shared, repositoryId: options.repositoryId });
    return verified;
  };
  const list = (path: string, query: Readonly<Record<string, string>> = {}) => ({ path: at + path, query: { ...perPage, ...query } });
  return {
    verify,
    ensureWebhook: (wanted) => ensureOneWebhook(webhooks, wanted),
    removeWebhook: (url) => removeEveryWebhook(webhooks, url),
    readDelivery: (delivery, secret) => readGithubDelivery(delivery, secret, options),
    branches: async () => (await pagesByLink(connection, list('/branches'), NamedRef)).map(refOf),
    tags: async () => (await pagesByLink(connection, list('/tags'), NamedRef)).map(refOf),
    pullRequests: async () =>
      allOpen((await pagesByLink(connection, list('/pulls', { state: 'open' }), PullRequestShape)).map(pullRequestOf)),
    pullRequest: async (number) => {
      const reply = await unlessMissing(connection.ask({ path: at + pathOf`/pulls/${number}` }));
      return reply && pullRequestOf(reply.read(PullRequestShape));
    },
    gitAccess: async () => {
      const { repository } = await verify();
      return { url: web + gitPathOf(repository.name), username: 'x-access-token', password: await credential.token() };
    },
    reportStatus: (status) => reportStatus(connection, at, status),
    keepComment: (comment) => keepOneComment(comments, comment),
  };
}

const versionHeaders = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };

const refOf = ({ name, commit }: { name: string; commit: { sha: string } }) => ({ name, commit: commit.sha });

async function verifyAt(connection: HostConnection, at: string) {
  const reply = await connection.ask({ path: at });
  const { id, full_name: name, default_branch: defaultBranch, html_url: url } = reply.read(RepositoryShape);
  const expires = reply.headers['github-authentication-token-expiration'];
  return {
    repository: { id: String(id), name, defaultBranch, url },
    credentialExpiresAt: typeof expires === 'string' ? momentOf(expires) : undefined,
  };
}

/** `2026-12-01 10:00:00 UTC`, or with an offset. */
function momentOf(text: string): string | undefined {
  const moment = new Date(
    text
      .replace(' UTC', 'Z')
      .replace(' ', 'T')
      .replace(/ ([+-]\d{4})$/, '$1'),
  );
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

const webhooksOf = (connection: HostConnection, at: string): Webhooks => {
  const bodyOf = ({ url, secret }: { url: string; secret: string }) => ({
    active: true,
    events,
    config: { url, secret, content_type: 'json', insecure_ssl: '0' },
  });
  return {
    list: async () => {
      const hooks = await pagesByLink(connection, { path: `${at}/hooks`, query: perPage }, HookShape);
      return hooks.map(({ id, config }) => ({ id: String(id), url: config.url ?? '' }));
    },
    create: async (wanted) =>
      void (await connection.ask({ method: 'POST', path: `${at}/hooks`, body: { name: 'web', ...bodyOf(wanted) } })),
    update: async (id, wanted) => void (await connection.ask({ method: 'PATCH', path: at + pathOf`/hooks/${id}`, body: bodyOf(wanted) })),
    remove: async (id) => void (await connection.ask({ method: 'DELETE', path: at + pathOf`/hooks/${id}` })),
  };
};

const commentsOf = (connection: HostConnection, at: string): Comments => ({
  hide: inHtmlComment,
  list: async (number) => {
    const all = await pagesByLink(connection, { path: at + pathOf`/issues/${number}/comments`, query: perPage }, CommentShape);
    return all.map(({ id, body }) => ({ id: String(id), text: body ?? '' }));
  },
  create: async (number, body) => {
    const reply = await connection.ask({ method: 'POST', path: at + pathOf`/issues/${number}/comments`, body: { body } });
    return String(reply.read(Type.Object({ id: Type.Integer() })).id);
  },
  update: async (_number, id, body) =>
    void (await connection.ask({ method: 'PATCH', path: at + pathOf`/issues/comments/${id}`, body: { body } })),
});

async function reportStatus(
  connection: HostConnection,
  at: string,
  { commit, name, state, description, url }: CommitStatus,
): Promise<void> {
  const body = { state, context: name, description: description.slice(0, descriptionCharactersMax), target_url: url };
  await connection.ask({ method: 'POST', path: at + pathOf`/statuses/${commit}`, body });
}
