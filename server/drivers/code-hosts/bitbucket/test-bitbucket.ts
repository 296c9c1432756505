/** The wire of Bitbucket Cloud, as its public documentation and examples of deliveries show it. */
import { createHmac } from 'node:crypto';
import {
  jsonDelivery,
  keepComment,
  keepHook,
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

const at = (rest: string) => new RegExp(`^/2\\.0/repositories/acme/shop${rest}$`);
export const testConsumer = { key: 'consumer-key', secret: 'consumer-secret-1' };
export const testAddon = { addonKey: 'addon', clientKey: 'client', sharedSecret: 'shared-secret-of-the-add-on-1234' };
const tokenPath = '/site/oauth2/access_token';

export const bitbucketWire: HostWire = {
  isAuthorized: (request, { token }) =>
    request.path === tokenPath ? isKnown(request) : request.headers['authorization'] === `Bearer ${token}`,
  routes: [
    [
      'POST',
      /^\/site\/oauth2\/access_token$/,
      ({ token }) => ({ body: { access_token: token, token_type: 'bearer', expires_in: 7200, scopes: 'repository' } }),
    ],
    ['GET', at(''), (state) => ({ body: { ...repositoryOf(state), mainbranch: { type: 'branch', name: 'main' } } })],
    [
      'GET',
      at('/refs/branches'),
      (state, request) =>
        page(
          state,
          request,
          refsOf(state.branches).map(({ name, commit }) => ({ type: 'branch', name, target: { type: 'commit', hash: commit } })),
        ),
    ],
    [
      'GET',
      at('/refs/tags'),
      (state, request) =>
        page(
          state,
          request,
          refsOf(state.tags).map(({ name, commit }) => ({ type: 'tag', name, target: { type: 'commit', hash: commit } })),
        ),
    ],
    [
      'GET',
      at('/pullrequests'),
      (state, request) =>
        page(
          state,
          request,
          pullRequestsIn(state, ({ state: is }) => is === 'open').map((each) => pullRequest(state, each)),
        ),
    ],
    [
      'GET',
      at('/pullrequests/(\\d+)'),
      (state, _request, number) => {
        const found = state.pullRequests.get(Number(number));
        return found ? { body: pullRequest(state, found) } : notFound;
      },
    ],
    [
      'GET',
      at('/hooks'),
      (state, request) =>
        page(
          state,
          request,
          [...state.hooks].map(([id, { url }]) => ({ uuid: `{${id}}`, url, secret_set: true })),
        ),
    ],
    ['POST', at('/hooks'), (state, { body }) => ({ status: 201, body: { uuid: `{${keepHook(state, body)}}`, url: body['url'] } })],
    [
      'PUT',
      at('/hooks/([^/]+)'),
      (state, { body }, uuid = '') => ({ body: { uuid, ...state.hooks.set(numberIn(uuid), body).get(numberIn(uuid)) } }),
    ],
    ['DELETE', at('/hooks/([^/]+)'), (state, _request, uuid = '') => (state.hooks.delete(numberIn(uuid)) ? { status: 204 } : notFound)],
    [
      'POST',
      at('/commit/([0-9a-f]+)/statuses/build'),
      (state, { body }, commit = '') => ({ status: 201, body: { uuid: String(state.statuses.push({ commit, body })) } }),
    ],
    [
      'GET',
      at('/pullrequests/(\\d+)/comments'),
      (state, request, number) =>
        page(
          state,
          request,
          state.comments
            .filter(({ pullRequest: of }) => of === Number(number))
            .map(({ id, text }) => ({ id, deleted: false, content: { raw: text, markup: 'markdown' } })),
        ),
    ],
    [
      'POST',
      at('/pullrequests/(\\d+)/comments'),
      (state, { body }, number) => ({ status: 201, body: { id: keepComment(state, Number(number), rawIn(body)).id } }),
    ],
    [
      'PUT',
      at('/pullrequests/(\\d+)/comments/(\\d+)'),
      (state, { body }, _number, id) => {
        const found = state.comments.find((comment) => comment.id === Number(id));
        if (!found) return notFound;
        found.text = rawIn(body);
        return { body: { id: found.id } };
      },
    ],
  ],
  deliver,
};

const numberIn = (uuid: string) => Number(uuid.slice(1, -1));
const rawIn = (body: Record<string, unknown>) => (body['content'] as { raw: string }).raw;

function isKnown({ headers, body }: WireRequest): boolean {
  const given = String(headers['authorization']);
  if (body['grant_type'] === 'client_credentials')
    return given === `Basic ${Buffer.from(`${testConsumer.key}:${testConsumer.secret}`).toString('base64')}`;
  const [head = '', claims = '', signature] = given.replace(/^JWT /, '').split('.');
  const { iss, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')) as { iss: string; sub: string };
  const expected = createHmac('sha256', testAddon.sharedSecret).update(`${head}.${claims}`).digest('base64url');
  return (
    body['grant_type'] === 'urn:bitbucket:oauth2:jwt' && iss === testAddon.addonKey && sub === testAddon.clientKey && signature === expected
  );
}

function page(state: HostState, { path, query }: WireRequest, items: readonly unknown[]): Partial<WireReply> {
  const number = Number(query.get('page') ?? 1);
  const next = new URLSearchParams(query);
  next.set('page', String(number + 1));
  const isLast = number * state.itemsMax >= items.length;
  const values = items.slice((number - 1) * state.itemsMax, number * state.itemsMax);
  return {
    body: {
      pagelen: state.itemsMax,
      page: number,
      size: items.length,
      values,
      ...(!isLast && { next: `https://api.bitbucket.org${path}?${next.toString()}` }),
    },
  };
}

const repositoryOf = ({ id, owner, name }: HostState) => ({
  type: 'repository',
  uuid: `{${id}}`,
  name,
  full_name: `${owner}/${name}`,
  links: { html: { href: `https://bitbucket.org/${owner}/${name}` } },
});

const stateOf = { open: 'OPEN', merged: 'MERGED', closed: 'DECLINED' } as const;

function pullRequest(state: HostState, { number, title, state: is, isDraft, isFromFork, source, target, commit }: TestPullRequest) {
  const repository = repositoryOf(state);
  const fork = { ...repository, uuid: '{815}', full_name: 'mallory/shop' };
  return {
    type: 'pullrequest',
    id: number,
    title,
    state: stateOf[is],
    draft: isDraft,
    // Hashes are told in short.
    source: { branch: { name: source }, commit: { type: 'commit', hash: commit.slice(0, 12) }, repository: isFromFork ? fork : repository },
    destination: { branch: { name: target }, commit: { type: 'commit', hash: 'b'.repeat(12) }, repository },
    links: { html: { href: `https://bitbucket.org/acme/shop/pull-requests/${number}` } },
  };
}

const keyOf = { opened: 'pullrequest:created', changed: 'pullrequest:updated', closed: 'pullrequest:rejected' } as const;

function deliver(state: HostState, happening: Happening, secret: string) {
  const [event, payload] = payloadOf(state, happening);
  const body = Buffer.from(JSON.stringify({ ...payload, repository: repositoryOf(state), actor: { display_name: 'Ada' } }));
  return jsonDelivery(
    { 'x-event-key': event, 'x-hub-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
    body,
  );
}

function payloadOf(state: HostState, happening: Happening): [event: string, payload: object] {
  switch (happening.kind) {
    case 'ref': {
      const [, folder, name] = happening.ref.match(/^refs\/(heads|tags)\/(.*)$/) ?? [];
      const type = folder === 'tags' ? 'tag' : 'branch';
      const tip = (hash: string) => ({ type, name, target: { type: 'commit', hash } });
      const change = happening.commit
        ? { new: tip(happening.commit), old: null, created: true }
        : { new: null, old: tip('d'.repeat(40)), closed: true };
      return ['repo:push', { push: { changes: [change] } }];
    }
    case 'pull-request': {
      const found = state.pullRequests.get(happening.number);
      const key = found?.state === 'merged' ? 'pullrequest:fulfilled' : keyOf[happening.as];
      return [key, { pullrequest: found && pullRequest(state, found) }];
    }
    case 'renamed':
      return ['repo:updated', { changes: { name: { new: state.name, old: state.formerName } } }];
    case 'unrelated':
      return ['issue:created', {}];
  }
}
