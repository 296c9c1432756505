/** Gitea, and Forgejo, which speaks the same: their API of version 1, with an access token. */
import { Type } from 'typebox';
import { unlessMissing } from '../code-host-failure.ts';
import type { CodeHost, CommitStatus, Repository, Send } from '../code-host.ts';
import { fixedCredential, openConnection, pathOf, type Clock, type HostConnection } from '../host-connection.ts';
import { inHtmlComment, keepOneComment, type Comments } from '../kept-comment.ts';
import { ensureOneWebhook, removeEveryWebhook, type Webhooks } from '../kept-webhooks.ts';
import { allOpen, pagesByLink } from '../pages.ts';
import { gitPathOf, parseRepositoryName, trimmedAddress } from '../repository-name.ts';
import { refuseReplaced } from '../same-repository.ts';
import { readGiteaDelivery } from './gitea-delivery.ts';
import { BranchShape, CommentShape, HookShape, PullRequestShape, pullRequestOf, RepositoryShape, TagShape } from './gitea-shapes.ts';

export interface GiteaOptions {
  /** `owner/name`. */
  repository: string;
  /** Known since the repository was verified. Once it is, another repository of the same name is refused, and deliveries about it are ignored. */
  repositoryId?: string | undefined;
  token: string;
  baseUrl: string;
  send: Send;
  clock?: Clock;
}

/** More than fifty at a time are given out by nobody who did not change that. */
const perPage = { limit: '50' };
const events = ['push', 'delete', 'pull_request', 'pull_request_sync', 'repository'];

export function openGitea({ repository, repositoryId, token, baseUrl, send, clock }: GiteaOptions): CodeHost {
  const { owner, name } = parseRepositoryName(repository);
  const at = pathOf`/repos/${owner}/${name}`;
  const web = trimmedAddress(baseUrl);
  const credential = fixedCredential({ authorization: `token ${token}` }, [token]);
  const connection = openConnection({ host: 'Gitea', baseUrl: `${web}/api/v1`, repository, credential, send, ...(clock && { clock }) });
  const [comments, webhooks] = [commentsOf(connection, at), webhooksOf(connection, at)];
  const found = async () => refuseReplaced(await repositoryAt(connection, at), { host: 'Gitea', repository, repositoryId });
  const list = (path: string, query: Readonly<Record<string, string>> = {}) => ({ path: at + path, query: { ...perPage, ...query } });
  return {
    verify: async () => ({ repository: await found(), credentialExpiresAt: undefined }),
    ensureWebhook: (wanted) => ensureOneWebhook(webhooks, wanted),
    removeWebhook: (url) => removeEveryWebhook(webhooks, url),
    readDelivery: (delivery, secret) => readGiteaDelivery(delivery, secret, { repository, repositoryId }),
    branches: async () =>
      (await pagesByLink(connection, list('/branches'), BranchShape)).map((branch) => ({ name: branch.name, commit: branch.commit.id })),
    tags: async () => (await pagesByLink(connection, list('/tags'), TagShape)).map((tag) => ({ name: tag.name, commit: tag.commit.sha })),
    pullRequests: async () =>
      allOpen((await pagesByLink(connection, list('/pulls', { state: 'open' }), PullRequestShape)).map(pullRequestOf)),
    pullRequest: async (number) => {
      const reply = await unlessMissing(connection.ask({ path: at + pathOf`/pulls/${number}` }));
      return reply && pullRequestOf(reply.read(PullRequestShape));
    },
    gitAccess: async () => {
      const { name: now } = await found();
      return { url: web + gitPathOf(now), username: 'oauth2', password: token };
    },
    reportStatus: (status) => reportStatus(connection, at, status),
    keepComment: (comment) => keepOneComment(comments, comment),
  };
}

async function repositoryAt(connection: HostConnection, at: string): Promise<Repository> {
  const { id, full_name, default_branch, html_url } = (await connection.ask({ path: at })).read(RepositoryShape);
  return { id: String(id), name: full_name, defaultBranch: default_branch, url: html_url };
}

const webhooksOf = (connection: HostConnection, at: string): Webhooks => {
  const bodyOf = ({ url, secret }: { url: string; secret: string }) => ({
    active: true,
    events,
    config: { url, secret, content_type: 'json' },
  });
  return {
    list: async () => {
      const hooks = await pagesByLink(connection, { path: `${at}/hooks`, query: perPage }, HookShape);
      return hooks.map(({ id, config }) => ({ id: String(id), url: config.url ?? '' }));
    },
    create: async (wanted) =>
      void (await connection.ask({ method: 'POST', path: `${at}/hooks`, body: { type: 'gitea', ...bodyOf(wanted) } })),
    update: async (id, wanted) => void (await connection.ask({ method: 'PATCH', path: at + pathOf`/hooks/${id}`, body: bodyOf(wanted) })),
    remove: async (id) => void (await connection.ask({ method: 'DELETE', path: at + pathOf`/hooks/${id}` })),
  };
};

const commentsOf = (connection: HostConnection, at: string): Comments => ({
  hide: inHtmlComment,
  list: async (number) => {
    const all = await pagesByLink(connection, { path: at + pathOf`/issues/${number}/comments` }, CommentShape);
    return all.map(({ id, body }) => ({ id: String(id), text: body }));
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
  const body = { state, context: name, description, target_url: url };
  await connection.ask({ method: 'POST', path: at + pathOf`/statuses/${commit}`, body });
}
