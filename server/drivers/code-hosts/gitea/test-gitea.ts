/** The wire of Gitea and Forgejo, as their public documentation and examples of deliveries show it. */
import { createHmac } from 'node:crypto';
import {
  jsonDelivery,
  keepComment,
  keepHook,
  nothing,
  notFound,
  pageByLink,
  pullRequestsIn,
  refsOf,
  type Happening,
  type HostState,
  type HostWire,
  type TestPullRequest,
} from '../test-host.ts';

const at = (rest: string) => new RegExp(`^/api/v1/repos/acme/shop${rest}$`);

export const giteaWire: HostWire = {
  isAuthorized: ({ headers }, { token }) => headers['authorization'] === `token ${token}`,
  routes: [
    ['GET', at(''), (state) => ({ body: repositoryOf(state) })],
    [
      'GET',
      at('/branches'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.branches).map(({ name, commit }) => ({ name, commit: { id: commit, message: 'x' }, protected: false })),
        ),
    ],
    [
      'GET',
      at('/tags'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.tags).map(({ name, commit }) => ({ name, message: '', id: commit, commit: { sha: commit } })),
        ),
    ],
    [
      'GET',
      at('/pulls'),
      (state, request) =>
        pageByLink(
          state,
          request,
          pullRequestsIn(state, ({ state: is }) => is === 'open').map((each) => pullRequest(state, each)),
        ),
    ],
    [
      'GET',
      at('/pulls/(\\d+)'),
      (state, _request, number) => {
        const found = state.pullRequests.get(Number(number));
        return found ? { body: pullRequest(state, found) } : notFound;
      },
    ],
    [
      'GET',
      at('/hooks'),
      (state, request) =>
        pageByLink(
          state,
          request,
          [...state.hooks].map(([id, hook]) => hookOf(id, hook)),
        ),
    ],
    [
      'POST',
      at('/hooks'),
      (state, { body }) => (body['type'] === 'gitea' ? { status: 201, body: hookOf(keepHook(state, body), body) } : { status: 422 }),
    ],
    [
      'PATCH',
      at('/hooks/(\\d+)'),
      (state, { body }, id) => ({ body: hookOf(Number(id), state.hooks.set(Number(id), body).get(Number(id)) ?? {}) }),
    ],
    ['DELETE', at('/hooks/(\\d+)'), (state, _request, id) => (state.hooks.delete(Number(id)) ? { status: 204 } : notFound)],
    [
      'POST',
      at('/statuses/([0-9a-f]+)'),
      (state, { body }, commit = '') => ({ status: 201, body: { id: state.statuses.push({ commit, body }) } }),
    ],
    [
      'GET',
      at('/issues/(\\d+)/comments'),
      (state, _request, number) => ({
        body: state.comments.filter(({ pullRequest: of }) => of === Number(number)).map(({ id, text }) => ({ id, body: text })),
      }),
    ],
    [
      'POST',
      at('/issues/(\\d+)/comments'),
      (state, { body }, number) => ({ status: 201, body: { id: keepComment(state, Number(number), String(body['body'])).id } }),
    ],
    [
      'PATCH',
      at('/issues/comments/(\\d+)'),
      (state, { body }, id) => {
        const found = state.comments.find((comment) => comment.id === Number(id));
        if (!found) return notFound;
        found.text = String(body['body']);
        return { body: { id: found.id, body: found.text } };
      },
    ],
  ],
  deliver,
};

const hookOf = (id: number, { config, events }: Record<string, unknown>) => {
  const { url, content_type } = config as { url: string; content_type: string };
  return { id, type: 'gitea', active: true, events, config: { url, content_type } };
};

const repositoryOf = ({ id, owner, name }: HostState) => ({
  id,
  owner: { id: 1, login: owner, username: owner },
  name,
  full_name: `${owner}/${name}`,
  html_url: `https://gitea.example.org/${owner}/${name}`,
  default_branch: 'main',
  empty: false,
});

const pullRequest = (state: HostState, { number, title, state: is, isDraft, isFromFork, source, target, commit }: TestPullRequest) => ({
  id: number + 1000,
  number,
  title: isDraft ? `WIP: ${title}` : title,
  state: is === 'open' ? 'open' : 'closed',
  merged: is === 'merged',
  html_url: `https://gitea.example.org/acme/shop/pulls/${number}`,
  head: { label: source, ref: source, sha: commit, repo_id: isFromFork ? 815 : state.id },
  base: { label: target, ref: target, sha: 'b'.repeat(40), repo_id: state.id, repo: repositoryOf(state) },
  merge_base: 'b'.repeat(40),
});

const actionOf = { opened: 'opened', changed: 'synchronized', closed: 'closed' } as const;

function deliver(state: HostState, happening: Happening, secret: string) {
  const [event, payload] = payloadOf(state, happening);
  const body = Buffer.from(JSON.stringify({ ...payload, repository: repositoryOf(state), sender: { id: 1, login: 'ada' } }));
  return jsonDelivery({ 'x-gitea-event': event, 'x-gitea-signature': createHmac('sha256', secret).update(body).digest('hex') }, body);
}

function payloadOf(state: HostState, happening: Happening): [event: string, payload: object] {
  switch (happening.kind) {
    case 'ref': {
      const [, folder, name] = happening.ref.match(/^refs\/(heads|tags)\/(.*)$/) ?? [];
      return happening.commit
        ? ['push', { ref: happening.ref, before: nothing, after: happening.commit, commits: [] }]
        : ['delete', { ref: name, ref_type: folder === 'tags' ? 'tag' : 'branch', pusher_type: 'user' }];
    }
    case 'pull-request': {
      const found = state.pullRequests.get(happening.number);
      return [
        'pull_request',
        { action: actionOf[happening.as], number: happening.number, pull_request: found && pullRequest(state, found) },
      ];
    }
    case 'renamed':
      return ['push', { ref: 'refs/heads/main', before: nothing, after: 'c'.repeat(40), commits: [] }];
    case 'unrelated':
      return ['fork', {}];
  }
}
