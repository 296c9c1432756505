/** The wire of Bitbucket Server, as its public documentation and examples of deliveries show it. */
import { createHmac } from 'node:crypto';
import {
  jsonDelivery,
  keepComment,
  keepHook,
  nothing,
  notFound,
  pullRequestsIn,
  refsOf,
  type Happening,
  type HostState,
  type HostWire,
  type TestPullRequest,
  type WireReply,
  type WireRequest,
} from '../test-host.ts';

const at = (rest: string) => new RegExp(`^/rest/api/1\\.0/projects/acme/repos/shop${rest}$`);

export const bitbucketServerWire: HostWire = {
  isAuthorized: ({ headers }, { token }) => headers['authorization'] === `Bearer ${token}`,
  routes: [
    ['GET', at(''), (state) => ({ body: repositoryOf(state) })],
    ['GET', at('/default-branch'), () => ({ body: { id: 'refs/heads/main', displayId: 'main', type: 'BRANCH' } })],
    [
      'GET',
      at('/branches'),
      (state, request) =>
        page(
          state,
          request,
          refsOf(state.branches).map(({ name, commit }) => ({
            id: `refs/heads/${name}`,
            displayId: name,
            type: 'BRANCH',
            latestCommit: commit,
          })),
        ),
    ],
    [
      'GET',
      at('/tags'),
      (state, request) =>
        page(
          state,
          request,
          refsOf(state.tags).map(({ name, commit }) => ({ id: `refs/tags/${name}`, displayId: name, type: 'TAG', latestCommit: commit })),
        ),
    ],
    [
      'GET',
      at('/pull-requests'),
      (state, request) =>
        page(
          state,
          request,
          pullRequestsIn(state, ({ state: is }) => is === 'open').map((each) => pullRequest(state, each)),
        ),
    ],
    [
      'GET',
      at('/pull-requests/(\\d+)'),
      (state, _request, number) => {
        const found = state.pullRequests.get(Number(number));
        return found ? { body: pullRequest(state, found) } : missing;
      },
    ],
    [
      'GET',
      at('/webhooks'),
      (state, request) =>
        page(
          state,
          request,
          [...state.hooks].map(([id, { url }]) => ({ id, name: 'Offshoot', url })),
        ),
    ],
    ['POST', at('/webhooks'), (state, { body }) => ({ status: 201, body: { id: keepHook(state, body), url: body['url'] } })],
    [
      'PUT',
      at('/webhooks/(\\d+)'),
      (state, { body }, id) => ({ body: { id: Number(id), ...state.hooks.set(Number(id), body).get(Number(id)) } }),
    ],
    ['DELETE', at('/webhooks/(\\d+)'), (state, _request, id) => (state.hooks.delete(Number(id)) ? { status: 204 } : missing)],
    ['POST', at('/commits/([0-9a-f]+)/builds'), (state, { body }, commit = '') => (state.statuses.push({ commit, body }), { status: 204 })],
    ['GET', at('/pull-requests/(\\d+)/activities'), (state, request, number) => page(state, request, happenedTo(state, Number(number)))],
    [
      'POST',
      at('/pull-requests/(\\d+)/comments'),
      (state, { body }, number) => ({ status: 201, body: keepComment(state, Number(number), String(body['text'])) }),
    ],
    ['GET', at('/pull-requests/(\\d+)/comments/(\\d+)'), (state, _request, _number, id) => ({ ...missing, ...found(state, id) })],
    [
      'PUT',
      at('/pull-requests/(\\d+)/comments/(\\d+)'),
      (state, { body }, _number, id) => {
        const comment = state.comments.find((each) => each.id === Number(id));
        if (!comment) return missing;
        if (comment.version !== body['version']) return { status: 409, body: { errors: [{ message: 'The comment is out of date.' }] } };
        Object.assign(comment, { text: body['text'], version: comment.version + 1 });
        return { body: comment };
      },
    ],
  ],
  deliver,
};

const missing: Partial<WireReply> = {
  ...notFound,
  body: { errors: [{ context: null, message: 'It does not exist.', exceptionName: 'com.atlassian.NoSuch' }] },
};

const found = (state: HostState, id: string | undefined): Partial<WireReply> => {
  const comment = state.comments.find((each) => each.id === Number(id));
  return comment ? { status: 200, body: comment } : {};
};

/** The latest first. */
const happenedTo = (state: HostState, number: number) => [
  ...state.comments
    .filter(({ pullRequest }) => pullRequest === number)
    .map((comment) => ({ id: comment.id + 1000, action: 'COMMENTED', commentAction: 'ADDED', comment }))
    .toReversed(),
  { id: 1, action: 'OPENED' },
];

function page(state: HostState, { query }: WireRequest, items: readonly unknown[]): Partial<WireReply> {
  const start = Number(query.get('start') ?? 0);
  const isLastPage = start + state.itemsMax >= items.length;
  const values = items.slice(start, start + state.itemsMax);
  return {
    body: {
      size: values.length,
      limit: state.itemsMax,
      isLastPage,
      values,
      start,
      nextPageStart: isLastPage ? null : start + state.itemsMax,
    },
  };
}

const repositoryOf = ({ id, owner, name }: HostState) => ({
  id,
  slug: name,
  name,
  scmId: 'git',
  state: 'AVAILABLE',
  project: { key: owner, id: 2, name: owner, type: 'NORMAL' },
});
const stateOf = { open: 'OPEN', merged: 'MERGED', closed: 'DECLINED' } as const;

function pullRequest(state: HostState, { number, title, state: is, isDraft, isFromFork, source, target, commit }: TestPullRequest) {
  const repository = repositoryOf(state);
  return {
    id: number,
    version: 0,
    title,
    state: stateOf[is],
    open: is === 'open',
    closed: is !== 'open',
    draft: isDraft,
    fromRef: {
      id: `refs/heads/${source}`,
      displayId: source,
      latestCommit: commit,
      repository: isFromFork ? { ...repository, id: 815, project: { key: '~mallory' } } : repository,
    },
    toRef: { id: `refs/heads/${target}`, displayId: target, latestCommit: 'b'.repeat(40), repository },
    links: { self: [null] },
  };
}

const keyOf = { opened: 'pr:opened', changed: 'pr:from_ref_updated', closed: 'pr:declined' } as const;

function deliver(state: HostState, happening: Happening, secret: string) {
  const [eventKey, payload] = payloadOf(state, happening);
  const body = Buffer.from(JSON.stringify({ eventKey, date: '2026-03-01T10:31:15+0100', actor: { name: 'ada' }, ...payload }));
  return jsonDelivery(
    { 'x-event-key': eventKey, 'x-hub-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
    body,
  );
}

function payloadOf(state: HostState, happening: Happening): [event: string, payload: object] {
  switch (happening.kind) {
    case 'ref': {
      const type = happening.ref.startsWith('refs/tags/') ? 'TAG' : 'BRANCH';
      const change = {
        ref: { id: happening.ref, type },
        refId: happening.ref,
        fromHash: nothing,
        toHash: happening.commit ?? nothing,
        type: happening.commit ? 'UPDATE' : 'DELETE',
      };
      return ['repo:refs_changed', { repository: repositoryOf(state), changes: [change] }];
    }
    case 'pull-request': {
      const request = state.pullRequests.get(happening.number);
      return [request?.state === 'merged' ? 'pr:merged' : keyOf[happening.as], { pullRequest: request && pullRequest(state, request) }];
    }
    case 'renamed':
      return ['repo:modified', { old: { ...repositoryOf(state), slug: state.formerName }, new: repositoryOf(state) }];
    case 'unrelated':
      return ['repo:forked', { repository: repositoryOf(state) }];
  }
}
