/** Bitbucket Cloud: its API of version 2.0, with an OAuth consumer or an add-on. */
import { createHash } from 'node:crypto';
import { Type } from 'typebox';
import { unlessMissing } from '../code-host-failure.ts';
import type { CodeHost, CommitStatus, Repository, Send, StatusState } from '../code-host.ts';
import { openConnection, pathOf, type Clock, type HostConnection } from '../host-connection.ts';
import type { HostTokens } from '../host-tokens.ts';
import { inLinkDefinition, keepOneComment, type Comments } from '../kept-comment.ts';
import { ensureOneWebhook, removeEveryWebhook, type Webhooks } from '../kept-webhooks.ts';
import { allOpen, firstPagesByAddress, pagesByAddress } from '../pages.ts';
import { gitPathOf, parseRepositoryName } from '../repository-name.ts';
import { refuseReplaced } from '../same-repository.ts';
import { openBitbucketCredential, type BitbucketCredential } from './bitbucket-credential.ts';
import { pullRequestKeys, readBitbucketDelivery } from './bitbucket-delivery.ts';
import { CommentShape, HookShape, PullRequestShape, pullRequestOf, RefShape, RepositoryShape, webAddress } from './bitbucket-shapes.ts';

export interface BitbucketOptions {
  /** `workspace/name`. */
  repository: string;
  /** Known since the repository was verified. Once it is, another repository of the same name is refused, and deliveries about it are ignored. */
  repositoryId?: string | undefined;
  credential: BitbucketCredential;
  /** Of the list of pull requests; those beyond are not seen. */
  pullRequestPagesMax?: number | undefined;
  send: Send;
  tokens?: HostTokens | undefined;
  clock?: Clock;
}

const baseUrl = 'https://api.bitbucket.org/2.0';
const perPage = { pagelen: '100' };
/** Of pull requests it gives out no more. */
const pullRequestsPerPage = { pagelen: '50' };
const events = ['repo:push', 'repo:updated', 'repo:deleted', ...pullRequestKeys];

export function openBitbucket(options: BitbucketOptions): CodeHost {
  const { repository, repositoryId, pullRequestPagesMax, send, clock } = options;
  const { owner, name } = parseRepositoryName(repository);
  const at = pathOf`/repositories/${owner}/${name}`;
  const credential = openBitbucketCredential(options.credential, repository, send, clock, options.tokens);
  const connection = openConnection({ host: 'Bitbucket', baseUrl, repository, credential, send, ...(clock && { clock }) });
  const [comments, webhooks] = [commentsOf(connection, at), webhooksOf(connection, at)];
  const found = async () => refuseReplaced(await repositoryAt(connection, at), { host: 'Bitbucket', repository, repositoryId });
  const refsAt = async (path: string) =>
    (await pagesByAddress(connection, { path: at + path, query: perPage }, RefShape)).map((ref) => ({
      name: ref.name,
      commit: ref.target.hash,
    }));
  return {
    verify: async () => ({ repository: await found(), credentialExpiresAt: undefined }),
    ensureWebhook: (wanted) => ensureOneWebhook(webhooks, wanted),
    removeWebhook: (url) => removeEveryWebhook(webhooks, url),
    readDelivery: (delivery, secret) => readBitbucketDelivery(delivery, secret, { repository, repositoryId }),
    branches: () => refsAt('/refs/branches'),
    tags: () => refsAt('/refs/tags'),
    pullRequests: async () => {
      const request = { path: `${at}/pullrequests`, query: { ...pullRequestsPerPage, state: 'OPEN' } };
      if (pullRequestPagesMax === undefined)
        return allOpen((await pagesByAddress(connection, request, PullRequestShape)).map(pullRequestOf));
      const { items, isWhole } = await firstPagesByAddress(connection, request, PullRequestShape, pullRequestPagesMax);
      return { open: items.map(pullRequestOf), isWhole };
    },
    pullRequest: async (number) => {
      const reply = await unlessMissing(connection.ask({ path: at + pathOf`/pullrequests/${number}` }));
      return reply && pullRequestOf(reply.read(PullRequestShape));
    },
    gitAccess: async () => {
      const { name: now } = await found();
      return { url: webAddress + gitPathOf(now), username: 'x-token-auth', password: await credential.token() };
    },
    reportStatus: (status) => reportStatus(connection, at, status),
    keepComment: (comment) => keepOneComment(comments, comment),
  };
}

async function repositoryAt(connection: HostConnection, at: string): Promise<Repository> {
  const { uuid, full_name, mainbranch, links } = (await connection.ask({ path: at })).read(RepositoryShape);
  return { id: uuid, name: full_name, defaultBranch: mainbranch?.name ?? 'main', url: links.html.href };
}

const webhooksOf = (connection: HostConnection, at: string): Webhooks => {
  const bodyOf = ({ url, secret }: { url: string; secret: string }) => ({ description: 'Offshoot', url, secret, active: true, events });
  return {
    list: async () =>
      (await pagesByAddress(connection, { path: `${at}/hooks`, query: perPage }, HookShape)).map(({ uuid, url }) => ({ id: uuid, url })),
    create: async (wanted) => void (await connection.ask({ method: 'POST', path: `${at}/hooks`, body: bodyOf(wanted) })),
    update: async (id, wanted) => void (await connection.ask({ method: 'PUT', path: at + pathOf`/hooks/${id}`, body: bodyOf(wanted) })),
    remove: async (id) => void (await connection.ask({ method: 'DELETE', path: at + pathOf`/hooks/${id}` })),
  };
};

const commentsOf = (connection: HostConnection, at: string): Comments => {
  const commentsAt = (number: number) => at + pathOf`/pullrequests/${number}/comments`;
  return {
    hide: inLinkDefinition,
    list: async (number) => {
      const query = { ...perPage, sort: 'created_on' };
      const all = await pagesByAddress(connection, { path: commentsAt(number), query }, CommentShape);
      return all.filter(({ deleted }) => !deleted).map(({ id, content }) => ({ id: String(id), text: content.raw ?? '' }));
    },
    create: async (number, raw) => {
      const reply = await connection.ask({ method: 'POST', path: commentsAt(number), body: { content: { raw } } });
      return String(reply.read(Type.Object({ id: Type.Integer() })).id);
    },
    update: async (number, id, raw) =>
      void (await connection.ask({ method: 'PUT', path: commentsAt(number) + pathOf`/${id}`, body: { content: { raw } } })),
  };
};

const stateOf: Readonly<Record<StatusState, string>> = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED' };
const keyCharactersMax = 40;

async function reportStatus(
  connection: HostConnection,
  at: string,
  { commit, name, state, description, url }: CommitStatus,
): Promise<void> {
  const body = { key: keyOf(name), name, state: stateOf[state], description, url };
  await connection.ask({ method: 'POST', path: at + pathOf`/commit/${commit}/statuses/build`, body });
}

/** Names that are too long stay apart. */
const keyOf = (name: string) =>
  name.length <= keyCharactersMax ? name : createHash('sha256').update(name).digest('hex').slice(0, keyCharactersMax);
