/** GitLab's wire, as its public documentation and examples of deliveries show it. */
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

const at = (rest: string) => new RegExp(`^/api/v4/projects/acme%2Fshop${rest}$`);

export const gitlabWire: HostWire = {
  isAuthorized: ({ headers }, { token }) => headers['private-token'] === token,
  routes: [
    [
      'GET',
      /^\/api\/v4\/personal_access_tokens\/self$/,
      () => ({ body: { id: 7, name: 'offshoot', scopes: ['api'], active: true, expires_at: '2031-01-02' } }),
    ],
    [
      'POST',
      /^\/api\/v4\/personal_access_tokens\/self\/rotate$/,
      (state, { body }) => {
        state.token = 'secret-token-2';
        return { body: { id: 8, token: state.token, active: true, expires_at: body['expires_at'] } };
      },
    ],
    ['GET', at(''), (state) => ({ body: { ...projectOf(state), web_url: 'https://gitlab.com/acme/shop' } })],
    [
      'GET',
      at('/repository/branches'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.branches).map(({ name, commit }) => ({ name, merged: false, commit: { id: commit, short_id: commit.slice(0, 8) } })),
        ),
    ],
    [
      'GET',
      at('/repository/tags'),
      (state, request) =>
        pageByLink(
          state,
          request,
          refsOf(state.tags).map(({ name, commit }) => ({ name, target: commit, commit: { id: commit } })),
        ),
    ],
    [
      'GET',
      at('/merge_requests'),
      (state, request) =>
        pageByLink(
          state,
          request,
          pullRequestsIn(state, ({ state: is }) => is === 'open').map((each) => mergeRequest(state, each)),
        ),
    ],
    [
      'GET',
      at('/merge_requests/(\\d+)'),
      (state, _request, number) => {
        const found = state.pullRequests.get(Number(number));
        return found ? { body: mergeRequest(state, found) } : notFound;
      },
    ],
    [
      'GET',
      at('/hooks'),
      (state, request) =>
        pageByLink(
          state,
          request,
          [...state.hooks].map(([id, { url }]) => ({ id, url, push_events: true })),
        ),
    ],
    ['POST', at('/hooks'), (state, { body }) => ({ status: 201, body: { id: keepHook(state, body), url: body['url'] } })],
    [
      'PUT',
      at('/hooks/(\\d+)'),
      (state, { body }, id) => ({ body: { id: Number(id), ...state.hooks.set(Number(id), body).get(Number(id)) } }),
    ],
    ['DELETE', at('/hooks/(\\d+)'), (state, _request, id) => (state.hooks.delete(Number(id)) ? { status: 204 } : notFound)],
    [
      'POST',
      at('/statuses/([0-9a-f]+)'),
      (state, { body }, commit = '') => {
        const last = state.statuses.findLast((each) => each.commit === commit && each.body['name'] === body['name']);
        if (last?.body['state'] === body['state'])
          return {
            status: 400,
            body: { message: 'Cannot transition status via :run from :running (Reason(s): Status cannot transition via "run")' },
          };
        return { status: 201, body: { id: state.statuses.push({ commit, body }) } };
      },
    ],
    [
      'GET',
      at('/merge_requests/(\\d+)/notes'),
      (state, request, number) =>
        pageByLink(
          state,
          request,
          state.comments.filter(({ pullRequest: of }) => of === Number(number)).map(({ id, text }) => ({ id, body: text, system: false })),
        ),
    ],
    [
      'POST',
      at('/merge_requests/(\\d+)/notes'),
      (state, { body }, number) => ({ status: 201, body: { id: keepComment(state, Number(number), String(body['body'])).id } }),
    ],
    [
      'PUT',
      at('/merge_requests/(\\d+)/notes/(\\d+)'),
      (state, { body }, _number, id) => {
        const found = state.comments.find((comment) => comment.id === Number(id));
        if (!found) return { status: 404, body: { message: '404 Note Not Found' } };
        found.text = String(body['body']);
        return { body: { id: found.id, body: found.text } };
      },
    ],
  ],
  deliver,
};

const projectOf = ({ id, owner, name }: HostState) => ({ id, name, path_with_namespace: `${owner}/${name}`, default_branch: 'main' });
const stateOf = { open: 'opened', merged: 'merged', closed: 'closed' } as const;

const commonOf = (state: HostState, { number, title, state: is, isDraft, isFromFork, source, target }: TestPullRequest) => ({
  id: number + 1000,
  iid: number,
  title: isDraft ? `Draft: ${title}` : title,
  state: stateOf[is],
  draft: isDraft,
  work_in_progress: isDraft,
  source_branch: source,
  target_branch: target,
  source_project_id: isFromFork ? 815 : state.id,
  target_project_id: state.id,
});

const urlOf = (number: number) => `https://gitlab.com/acme/shop/-/merge_requests/${number}`;
const mergeRequest = (state: HostState, request: TestPullRequest) => ({
  ...commonOf(state, request),
  sha: request.commit,
  web_url: urlOf(request.number),
});

const actionOf = { opened: 'open', changed: 'update', closed: 'close' } as const;

function deliver(state: HostState, happening: Happening, secret: string) {
  const [event, payload] = payloadOf(state, happening);
  const body = Buffer.from(JSON.stringify({ ...payload, project: projectOf(state), repository: { name: state.name } }));
  return jsonDelivery({ 'x-gitlab-event': event, 'x-gitlab-token': secret }, body);
}

function payloadOf(state: HostState, happening: Happening): [event: string, payload: object] {
  switch (happening.kind) {
    case 'ref': {
      const isTag = happening.ref.startsWith('refs/tags/');
      const after = happening.commit ?? nothing;
      const payload = {
        object_kind: isTag ? 'tag_push' : 'push',
        before: nothing,
        after,
        ref: happening.ref,
        checkout_sha: happening.commit ?? null,
        project_id: state.id,
        commits: [],
      };
      return [isTag ? 'Tag Push Hook' : 'Push Hook', payload];
    }
    case 'pull-request': {
      const found = state.pullRequests.get(happening.number);
      const attributes = found && {
        ...commonOf(state, found),
        url: urlOf(found.number),
        last_commit: { id: found.commit },
        action: actionOf[happening.as],
      };
      return ['Merge Request Hook', { object_kind: 'merge_request', event_type: 'merge_request', object_attributes: attributes }];
    }
    case 'renamed':
      return [
        'Push Hook',
        { object_kind: 'push', before: nothing, after: 'c'.repeat(40), ref: 'refs/heads/main', project_id: state.id, commits: [] },
      ];
    case 'unrelated':
      return ['Issue Hook', { object_kind: 'issue' }];
  }
}
