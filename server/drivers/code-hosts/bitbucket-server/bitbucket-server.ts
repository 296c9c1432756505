/** Bitbucket Server, also called Data Center: its REST API of version 1.0, with an HTTP access token. */
import { unlessMissing } from '../code-host-failure.ts';
import type { CodeHost, CommitStatus, Send, StatusState } from '../code-host.ts';
import { fixedCredential, openConnection, pathOf, type Clock, type HostConnection } from '../host-connection.ts';
import { inLinkDefinition, keepOneComment, type Comments } from '../kept-comment.ts';
import { ensureOneWebhook, removeEveryWebhook, type Webhooks } from '../kept-webhooks.ts';
import { allOpen, pagesByStart } from '../pages.ts';
import { gitPathOf, trimmedAddress } from '../repository-name.ts';
import { refuseReplaced } from '../same-repository.ts';
import { pullRequestKeys, readBitbucketServerDelivery } from './bitbucket-server-delivery.ts';
import {
  CommentShape,
  DefaultBranchShape,
  HookShape,
  PullRequestActivity,
  PullRequestShape,
  pullRequestOf,
  RefShape,
  RepositoryShape,
} from './bitbucket-server-shapes.ts';

export interface BitbucketServerOptions {
  url: string;
  /** The key of the project. */
  project: string;
  /** The repository's name in addresses. */
  repository: string;
  /** Known since the repository was verified. Once it is, another repository of the same name is refused, and deliveries about it are ignored. */
  repositoryId?: string | undefined;
  username: string;
  token: string;
  send: Send;
  clock?: Clock;
}

const perPage = { limit: '100' };
const events = ['repo:refs_changed', 'repo:modified', ...pullRequestKeys, 'pr:deleted'];

export function openBitbucketServer(options: BitbucketServerOptions): CodeHost {
  const { project, repository: slug, repositoryId, username, token, send, clock } = options;
  const base = trimmedAddress(options.url);
  const web = `${base}${pathOf`/projects/${project}/repos/${slug}`}`;
  const at = pathOf`/projects/${project}/repos/${slug}`;
  const repository = `${project}/${slug}`;
  const credential = fixedCredential({ authorization: `Bearer ${token}` }, [token]);
  const connection = openConnection({
    host: 'Bitbucket Server',
    baseUrl: `${base}/rest/api/1.0`,
    repository,
    credential,
    send,
    ...(clock && { clock }),
    // Without it, requests that change something are taken for those of a browser, and refused.
    headers: { 'x-atlassian-token': 'no-check' },
  });
  const [comments, webhooks] = [commentsOf(connection, at), webhooksOf(connection, at)];
  const found = async () => {
    const { id, ...rest } = (await connection.ask({ path: at })).read(RepositoryShape);
    return refuseReplaced({ ...rest, id: String(id) }, { host: 'Bitbucket Server', repository, repositoryId });
  };
  const refsAt = async (path: string) =>
    (await pagesByStart(connection, { path: at + path, query: perPage }, RefShape)).map((ref) => ({
      name: ref.displayId,
      commit: ref.latestCommit,
    }));
  return {
    verify: async () => {
      const { id, slug: name, project: owner } = await found();
      const { displayId: defaultBranch } = (await connection.ask({ path: `${at}/default-branch` })).read(DefaultBranchShape);
      const url = `${base}${pathOf`/projects/${owner.key}/repos/${name}`}/browse`;
      return { repository: { id, name: `${owner.key}/${name}`, defaultBranch, url }, credentialExpiresAt: undefined };
    },
    ensureWebhook: (wanted) => ensureOneWebhook(webhooks, wanted),
    removeWebhook: (url) => removeEveryWebhook(webhooks, url),
    readDelivery: (delivery, secret) => readBitbucketServerDelivery(delivery, secret, { repository, repositoryId, web }),
    branches: () => refsAt('/branches'),
    tags: () => refsAt('/tags'),
    pullRequests: async () => {
      const request = { path: `${at}/pull-requests`, query: { ...perPage, state: 'OPEN' } };
      return allOpen((await pagesByStart(connection, request, PullRequestShape)).map((each) => pullRequestOf(each, web)));
    },
    pullRequest: async (number) => {
      const reply = await unlessMissing(connection.ask({ path: at + pathOf`/pull-requests/${number}` }));
      return reply && pullRequestOf(reply.read(PullRequestShape), web);
    },
    gitAccess: async () => {
      const { slug: name, project: owner } = await found();
      return { url: `${base}/scm${gitPathOf(`${owner.key}/${name}`)}`, username, password: token };
    },
    reportStatus: (status) => reportStatus(connection, at, status),
    keepComment: (comment) => keepOneComment(comments, comment),
  };
}

const webhooksOf = (connection: HostConnection, at: string): Webhooks => {
  const bodyOf = ({ url, secret }: { url: string; secret: string }) => ({
    name: 'Offshoot',
    url,
    active: true,
    events,
    configuration: { secret },
    sslVerificationRequired: true,
  });
  return {
    list: async () =>
      (await pagesByStart(connection, { path: `${at}/webhooks`, query: perPage }, HookShape)).map(({ id, url }) => ({
        id: String(id),
        url,
      })),
    create: async (wanted) => void (await connection.ask({ method: 'POST', path: `${at}/webhooks`, body: bodyOf(wanted) })),
    update: async (id, wanted) => void (await connection.ask({ method: 'PUT', path: at + pathOf`/webhooks/${id}`, body: bodyOf(wanted) })),
    remove: async (id) => void (await connection.ask({ method: 'DELETE', path: at + pathOf`/webhooks/${id}` })),
  };
};

const commentsOf = (connection: HostConnection, at: string): Comments => {
  const pullRequestAt = (number: number) => at + pathOf`/pull-requests/${number}`;
  return {
    hide: inLinkDefinition,
    list: async (number) => {
      const happened = await pagesByStart(connection, { path: `${pullRequestAt(number)}/activities`, query: perPage }, PullRequestActivity);
      const written = happened.flatMap(({ action, comment }) => (action === 'COMMENTED' && comment ? [comment] : []));
      return written.toSorted((a, b) => a.id - b.id).map(({ id, text }) => ({ id: String(id), text }));
    },
    create: async (number, text) => {
      const reply = await connection.ask({ method: 'POST', path: `${pullRequestAt(number)}/comments`, body: { text } });
      return String(reply.read(CommentShape).id);
    },
    // Whoever changes a comment says which version of it.
    update: async (number, id, text) => {
      const path = `${pullRequestAt(number)}/comments${pathOf`/${id}`}`;
      const { version } = (await connection.ask({ path })).read(CommentShape);
      await connection.ask({ method: 'PUT', path, body: { text, version } });
    },
  };
};

const stateOf: Readonly<Record<StatusState, string>> = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' };
const descriptionCharactersMax = 255;

async function reportStatus(
  connection: HostConnection,
  at: string,
  { commit, name, state, description, url }: CommitStatus,
): Promise<void> {
  const body = { key: name, name, state: stateOf[state], description: description.slice(0, descriptionCharactersMax), url };
  await connection.ask({ method: 'POST', path: at + pathOf`/commits/${commit}/builds`, body });
}
