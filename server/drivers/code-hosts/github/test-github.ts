/** GitHub's wire, as its public documentation and examples of deliveries show it. */
import { createHmac, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
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
  type WireRequest,
} from '../test-host.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  // As GitHub gives keys out.
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
});
export const testApp = { appId: '12345', privateKey };

const at = (rest: string) => new RegExp(`^(?:/api/v3)?/repos/acme/shop${rest}$`);
const bearerIn = ({ headers }: WireRequest) => String(headers['authorization']).replace(/^Bearer /, '');

export const githubWire: HostWire = {
  isAuthorized: (request, { token }) => (isOfApp(request) ? isSignedByApp(bearerIn(request)) : bearerIn(request) === token),
  routes: [
    ['GET', at('/installation'), () => ({ body: { id: 99, app_id: 12345 } })],
    [
      'POST',
      /^(?:\/api\/v3)?\/app\/installations\/99\/access_tokens$/,
      ({ token }) => ({
        status: 201,
        body: { token, expires_at: new Date(Date.now() + 3_600_000).toISOString(), permissions: { contents: 'read' } },
      }),
    ],
    [
      'GET',
      at(''),
      (state) => ({ body: repositoryOf(state), headers: { 'github-authentication-token-expiration': '2031-01-02 03:04:05 UTC' } }),
    ],
    [
      'GET',
      at('/branches'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.branches).map(({ name, commit }) => ({ name, protected: false, commit: { sha: commit } })),
        ),
    ],
    [
      'GET',
      at('/tags'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.tags).map(({ name, commit }) => ({ name, node_id: 'x', commit: { sha: commit } })),
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
    ['POST', at('/hooks'), (state, { body }) => ({ status: 201, body: hookOf(keepHook(state, body), body) })],
    [
      'PATCH',
      at('/hooks/(\\d+)'),
      (state, { body }, id) => ({
        body: hookOf(Number(id), state.hooks.set(Number(id), { ...state.hooks.get(Number(id)), ...body }).get(Number(id)) ?? {}),
      }),
    ],
    ['DELETE', at('/hooks/(\\d+)'), (state, _request, id) => (state.hooks.delete(Number(id)) ? { status: 204 } : notFound)],
    ['POST', at('/statuses/([0-9a-f]+)'), (state, { body }, commit = '') => ({ status: 201, body: state.statuses.push({ commit, body }) })],
    [
      'GET',
      at('/issues/(\\d+)/comments'),
      (state, request, number) =>
        pageByLink(
          state,
          request,
          state.comments.filter(({ pullRequest: of }) => of === Number(number)).map(({ id, text }) => ({ id, body: text })),
        ),
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

const isOfApp = ({ path }: WireRequest) => /^(\/api\/v3)?\/app\//.test(path) || path.endsWith('/installation');

function isSignedByApp(jwt: string): boolean {
  const [header = '', payload = '', signature = ''] = jwt.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as { iss: string; iat: number; exp: number };
  const isWithinTenMinutes = claims.exp - claims.iat <= 600;
  const isGenuine = verify('sha256', Buffer.from(`${header}.${payload}`), createPublicKey(publicKey), Buffer.from(signature, 'base64url'));
  return claims.iss === testApp.appId && isWithinTenMinutes && isGenuine;
}

/** The secret is not shown. */
const hookOf = (id: number, { config, events, active }: Record<string, unknown>) => ({
  type: 'Repository',
  id,
  name: 'web',
  active,
  events,
  config: { ...(config as object), secret: '********' },
});

const repositoryOf = ({ id, owner, name }: HostState) => ({
  id,
  node_id: 'MDEwOlJlcG9zaXRvcnk=',
  name,
  full_name: `${owner}/${name}`,
  private: true,
  html_url: `https://github.com/${owner}/${name}`,
  default_branch: 'main',
});

function pullRequest(state: HostState, { number, title, state: is, isDraft, isFromFork, source, target, commit }: TestPullRequest) {
  const repository = repositoryOf(state);
  return {
    id: 279_147_000 + number,
    number,
    title,
    state: is === 'open' ? 'open' : 'closed',
    draft: isDraft,
    merged_at: is === 'merged' ? '2026-05-15T15:20:33Z' : null,
    html_url: `${repository.html_url}/pull/${number}`,
    head: { label: `acme:${source}`, ref: source, sha: commit, repo: isFromFork ? { ...repository, id: 815, fork: true } : repository },
    base: { label: `acme:${target}`, ref: target, sha: 'b'.repeat(40), repo: repository },
  };
}

const actionOf = { opened: 'opened', changed: 'synchronize', closed: 'closed' } as const;

function deliver(state: HostState, happening: Happening, secret: string) {
  const [event, payload] = payloadOf(state, happening);
  const body = Buffer.from(JSON.stringify({ ...payload, repository: repositoryOf(state), sender: { login: 'ada', id: 1 } }));
  return jsonDelivery(
    { 'x-github-event': event, 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
    body,
  );
}

function payloadOf(state: HostState, happening: Happening): [event: string, payload: object] {
  switch (happening.kind) {
    case 'ref':
      return ['push', { ref: happening.ref, before: nothing, after: happening.commit ?? nothing, deleted: !happening.commit, commits: [] }];
    case 'pull-request': {
      const found = state.pullRequests.get(happening.number);
      return [
        'pull_request',
        { action: actionOf[happening.as], number: happening.number, pull_request: found && pullRequest(state, found) },
      ];
    }
    case 'renamed':
      return ['repository', { action: 'renamed', changes: { repository: { name: { from: state.formerName } } } }];
    case 'unrelated':
      return ['star', { action: 'created' }];
  }
}
