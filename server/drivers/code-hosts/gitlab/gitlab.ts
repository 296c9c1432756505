/** GitLab, at gitlab.com and elsewhere: its API of version 4, with an access token of a person, project or group. */
import { Type } from 'typebox';
import { isFailure, unlessMissing } from '../code-host-failure.ts';
import type { CodeHost, CommitStatus, Repository, Send, StatusState } from '../code-host.ts';
import { fixedCredential, openConnection, pathOf, type Clock, type HostConnection } from '../host-connection.ts';
import { inHtmlComment, keepOneComment, type Comments } from '../kept-comment.ts';
import { ensureOneWebhook, removeEveryWebhook, type Webhooks } from '../kept-webhooks.ts';
import { allOpen, pagesByLink } from '../pages.ts';
import { gitPathOf, trimmedAddress } from '../repository-name.ts';
import { refuseReplaced } from '../same-repository.ts';
import { readGitlabDelivery } from './gitlab-delivery.ts';
import {
  HookShape,
  MergeRequestShape,
  NoteShape,
  ProjectShape,
  pullRequestOf,
  RefShape,
  RotatedShape,
  TokenShape,
} from './gitlab-shapes.ts';

export interface GitlabOptions {
  /** `namespace/name`, where the namespace may have several parts. */
  project: string;
  /** Known since the project was verified. Once it is, another project of the same name is refused, and deliveries about it are ignored. */
  repositoryId?: string | undefined;
  token: string;
  baseUrl?: string | undefined;
  send: Send;
  clock?: Clock;
}

const perPage = { per_page: '100' };
const descriptionCharactersMax = 255;

export function openGitlab({ project, repositoryId, token, baseUrl = 'https://gitlab.com', send, clock }: GitlabOptions): CodeHost {
  const at = pathOf`/projects/${project}`;
  const web = trimmedAddress(baseUrl);
  const credential = fixedCredential({ 'private-token': token }, [token]);
  const connection = openConnection({
    host: 'GitLab',
    baseUrl: `${web}/api/v4`,
    repository: project,
    credential,
    send,
    ...(clock && { clock }),
  });
  const [comments, webhooks] = [commentsOf(connection, at), webhooksOf(connection, at)];
  const found = async () => refuseReplaced(await projectAt(connection, at), { host: 'GitLab', repository: project, repositoryId });
  const list = (path: string, query: Readonly<Record<string, string>> = {}) => ({ path: at + path, query: { ...perPage, ...query } });
  const refsAt = async (path: string) =>
    (await pagesByLink(connection, list(path), RefShape)).map(({ name, commit }) => ({ name, commit: commit.id }));
  return {
    verify: async () => ({ repository: await found(), credentialExpiresAt: await expiryOf(connection) }),
    ensureWebhook: (wanted) => ensureOneWebhook(webhooks, wanted),
    removeWebhook: (url) => removeEveryWebhook(webhooks, url),
    readDelivery: (delivery, secret) => readGitlabDelivery(delivery, secret, { project, repositoryId }),
    branches: () => refsAt('/repository/branches'),
    tags: () => refsAt('/repository/tags'),
    pullRequests: async () => {
      const requests = await pagesByLink(connection, list('/merge_requests', { state: 'opened' }), MergeRequestShape);
      return allOpen(requests.map((request) => pullRequestOf(request, request.sha ?? '', request.web_url)));
    },
    pullRequest: async (number) => {
      const reply = await unlessMissing(connection.ask({ path: at + pathOf`/merge_requests/${number}` }));
      const request = reply?.read(MergeRequestShape);
      return request && pullRequestOf(request, request.sha ?? '', request.web_url);
    },
    gitAccess: async () => {
      const { name } = await found();
      return { url: web + gitPathOf(name), username: 'oauth2', password: token };
    },
    reportStatus: (status) => reportStatus(connection, at, status),
    keepComment: (comment) => keepOneComment(comments, comment),
    rotateToken: (expiresAt) => rotate(connection, expiresAt),
  };
}

async function projectAt(connection: HostConnection, at: string): Promise<Repository> {
  const { id, path_with_namespace: name, default_branch, web_url: url } = (await connection.ask({ path: at })).read(ProjectShape);
  return { id: String(id), name, defaultBranch: default_branch ?? 'main', url };
}

const expiryOf = async (connection: HostConnection): Promise<string | undefined> =>
  (await connection.ask({ path: '/personal_access_tokens/self' })).read(TokenShape).expires_at ?? undefined;

/** Asked for once, whatever happens: GitLab takes a second rotation of the same token for a theft, and revokes the new one too. */
async function rotate(connection: HostConnection, expiresAt: string) {
  const reply = await connection.ask({
    method: 'POST',
    path: '/personal_access_tokens/self/rotate',
    body: { expires_at: expiresAt.slice(0, 10) },
  });
  const { token, expires_at } = reply.read(RotatedShape);
  return { token, expiresAt: expires_at };
}

const webhooksOf = (connection: HostConnection, at: string): Webhooks => {
  const bodyOf = ({ url, secret }: { url: string; secret: string }) => ({
    url,
    token: secret,
    push_events: true,
    tag_push_events: true,
    merge_requests_events: true,
    enable_ssl_verification: true,
  });
  return {
    list: async () =>
      (await pagesByLink(connection, { path: `${at}/hooks`, query: perPage }, HookShape)).map(({ id, url }) => ({ id: String(id), url })),
    create: async (wanted) => void (await connection.ask({ method: 'POST', path: `${at}/hooks`, body: bodyOf(wanted) })),
    update: async (id, wanted) => void (await connection.ask({ method: 'PUT', path: at + pathOf`/hooks/${id}`, body: bodyOf(wanted) })),
    remove: async (id) => void (await connection.ask({ method: 'DELETE', path: at + pathOf`/hooks/${id}` })),
  };
};

const commentsOf = (connection: HostConnection, at: string): Comments => {
  const notesOf = (number: number) => at + pathOf`/merge_requests/${number}/notes`;
  return {
    hide: inHtmlComment,
    list: async (number) => {
      const query = { ...perPage, sort: 'asc', order_by: 'created_at' };
      const notes = await pagesByLink(connection, { path: notesOf(number), query }, NoteShape);
      return notes.map(({ id, body }) => ({ id: String(id), text: body }));
    },
    create: async (number, body) => {
      const reply = await connection.ask({ method: 'POST', path: notesOf(number), body: { body } });
      return String(reply.read(Type.Object({ id: Type.Integer() })).id);
    },
    update: async (number, id, body) =>
      void (await connection.ask({ method: 'PUT', path: notesOf(number) + pathOf`/${id}`, body: { body } })),
  };
};

const stateOf: Readonly<Record<StatusState, string>> = { pending: 'running', success: 'success', failure: 'failed' };

/** GitLab refuses to set a status to what it already is. */
async function reportStatus(
  connection: HostConnection,
  at: string,
  { commit, name, state, description, url }: CommitStatus,
): Promise<void> {
  const body = { state: stateOf[state], name, target_url: url, description: description.slice(0, descriptionCharactersMax) };
  await connection.ask({ method: 'POST', path: at + pathOf`/statuses/${commit}`, body }).catch((thrown: unknown) => {
    if (!isFailure(thrown, 'refused') || !thrown.message.includes('Cannot transition status')) throw thrown;
  });
}
