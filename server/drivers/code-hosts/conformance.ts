/** What every driver of a code host must do, by example, against a server that speaks the host's own wire. */
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CodeHost } from './code-host.ts';
import { CodeHostFailure } from './code-host-failure.ts';
import type { Clock } from './host-connection.ts';
import { serveTestHost, testToken, type HostState, type HostWire, type TestHost, type TestPullRequest } from './test-host.ts';

export interface OpenedHost {
  host: CodeHost;
  /** What must occur in no sentence. */
  secrets: readonly string[];
}

export type OpenHost = (served: TestHost, clock: Clock, repositoryId?: string) => OpenedHost;

const hookUrl = 'https://platform.example.org/api/projects/p/integrations/i/hook';
const secret = 'secret-of-the-hook';
const aPullRequest: TestPullRequest = {
  number: 7,
  title: 'A better shop',
  state: 'open',
  isDraft: false,
  isFromFork: false,
  source: 'feature/better',
  target: 'main',
  commit: '0123456789abcdef0123456789abcdef01234567',
};

/** `differs` says by name what a host cannot do, and why. */
export function codeHostConformance(
  kind: string,
  wire: HostWire,
  open: OpenHost,
  differs: { renamedDelivery?: string; refOfPullRequest?: string; signedBody?: string } = {},
) {
  describe(`code host: ${kind}`, () => {
    let served: TestHost;
    let state: HostState;
    let host: CodeHost;
    let secrets: readonly string[];
    let waited: number[];
    let begun: number;
    const clock: Clock = {
      now: () => begun + waited.reduce((sum, each) => sum + each, 0),
      wait: async (milliseconds) => void waited.push(milliseconds),
    };

    beforeEach(async () => {
      served = await serveTestHost(wire);
      ({ state } = served);
      [begun, waited] = [Date.now(), []];
      ({ host, secrets } = open(served, clock));
    });
    afterEach(() => served.close());

    const put = (request: Partial<TestPullRequest>) => {
      const whole = { ...aPullRequest, ...request };
      state.pullRequests.set(whole.number, whole);
      return whole;
    };
    const failure = async (asking: Promise<unknown>): Promise<CodeHostFailure> => {
      const thrown: unknown = await asking.then(
        () => undefined,
        (cause: unknown) => cause,
      );
      expect(thrown).toBeInstanceOf(CodeHostFailure);
      const text = inspect(thrown, { depth: 10 });
      for (const each of secrets) expect(text).not.toContain(each);
      return thrown as CodeHostFailure;
    };

    test('a good credential and repository are verified, with the name and the default branch', async () => {
      const { repository } = await host.verify();
      expect(repository).toMatchObject({ name: 'acme/shop', defaultBranch: 'main' });
      expect(repository.id).not.toBe('');
      expect(repository.url).toMatch(/^https?:/);
    });

    test('a revoked credential is told apart from everything else, and the sentence has no secret', async () => {
      await host.verify();
      state.token = 'another-token';
      state.instead = Array.from({ length: 6 }, () => ({
        status: 401,
        body: { message: `Bad credentials: ${testToken} ${secrets.join(' ')}` },
      }));
      const { kind: told, message } = await failure(host.verify());
      expect(told).toBe('credential');
      expect(message).toMatch(/Give a new one\./);
    });

    test('rights that are missing and repositories that are not there are told', async () => {
      await host.verify();
      state.instead = [{ status: 403, body: { message: `Resource not accessible by ${testToken}` } }];
      expect((await failure(host.verify())).kind).toBe('permission');
      state.instead = [{ status: 404, body: { message: 'Not Found' } }];
      expect((await failure(host.verify())).kind).toBe('missing');
    });

    test('what is no JSON, or of another shape, is trouble of the host', async () => {
      await host.verify();
      state.instead = [{ body: '<html>maintenance</html>' }];
      expect((await failure(host.verify())).kind).toBe('unavailable');
      state.instead = [{ body: { id: 'x' } }];
      expect((await failure(host.verify())).kind).toBe('unavailable');
    });

    test('branches, tags and pull requests are listed over all pages', async () => {
      for (let n = 0; n < 10; n += 1) state.branches.set(`topic/${n}`, String(n).repeat(40));
      for (let n = 0; n < 7; n += 1) state.tags.set(`v${n}`, String(n).repeat(40));
      for (let n = 1; n <= 8; n += 1) put({ number: n, state: n === 8 ? 'closed' : 'open' });
      const branches = await host.branches();
      expect(new Map(branches.map(({ name, commit }) => [name, commit]))).toEqual(state.branches);
      expect((await host.tags()).map(({ name }) => name).toSorted()).toEqual([...state.tags.keys()].toSorted());
      expect((await host.pullRequests()).open.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    });

    test('a pull request says where it comes from and leads to, and whether it is a draft or from a fork', async () => {
      put({});
      put({ number: 8, isFromFork: true, isDraft: true, state: 'merged' });
      const plain = await host.pullRequest(7);
      expect(plain).toMatchObject({
        number: 7,
        state: 'open',
        isDraft: false,
        isFromFork: false,
        sourceBranch: 'feature/better',
        targetBranch: 'main',
      });
      expect(aPullRequest.commit.startsWith(plain?.commit ?? 'none')).toBe(true);
      expect(plain?.source.head).toMatch(differs.refOfPullRequest ? /^refs\/heads\/feature\/better$/ : /^refs\/[a-z-]+\/7\/[a-z]+$/);
      expect(await host.pullRequest(8)).toMatchObject({ state: 'merged', isDraft: true, isFromFork: true });
      expect(await host.pullRequest(9)).toBeUndefined();
    });

    test('a short wait that the host asks for is waited, also before a change', async () => {
      put({});
      await host.verify();
      state.instead = [{ status: 429, headers: { 'retry-after': '3' }, body: {} }];
      expect(await host.pullRequest(7)).toBeDefined();
      state.instead = [{ status: 429, headers: { 'retry-after': '2' }, body: {} }];
      await host.reportStatus({
        commit: aPullRequest.commit,
        name: 'offshoot',
        state: 'success',
        description: 'x',
        url: 'https://x.example.org',
      });
      expect(waited).toEqual([3000, 2000]);
      expect(state.statuses).toHaveLength(1);
    });

    test('a long wait is left to the caller, and nothing is sent until it is over', async () => {
      await host.verify();
      const reset = Math.floor(begun / 1000) + 900;
      state.instead = [
        {
          status: 403,
          headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) },
          body: { message: 'API rate limit exceeded' },
        },
      ];
      const refused = await failure(host.branches());
      expect([refused.kind, refused.retryAt?.getTime()]).toEqual(['rate-limited', reset * 1000]);
      const before = state.requests.length;
      expect((await failure(host.tags())).kind).toBe('rate-limited');
      expect(state.requests.length).toBe(before);
      waited.push(901_000);
      expect(await host.branches()).toHaveLength(1);
    });

    test('trouble that passes is asked through once more, but a change is not repeated', async () => {
      await host.verify();
      state.instead = [{ status: 502, body: 'bad gateway' }];
      expect(await host.branches()).toHaveLength(1);
      state.instead = [{ status: 502, body: 'bad gateway' }];
      const reported = host.reportStatus({
        commit: 'a'.repeat(40),
        name: 'offshoot',
        state: 'success',
        description: 'x',
        url: 'https://x.example.org',
      });
      expect((await failure(reported)).kind).toBe('unavailable');
      expect(state.statuses).toEqual([]);
    });

    test('a renamed repository is found under its old name, and tells the new one', async () => {
      Object.assign(state, { formerName: 'store' });
      const renamed = open({ ...served, state: { ...state, name: 'store' } }, clock).host;
      expect((await renamed.verify()).repository.name).toBe('acme/shop');
      expect((await renamed.gitAccess()).url).toMatch(/acme\/shop\.git$/);
      expect(await renamed.branches()).toHaveLength(1);
    });

    test('another repository that has the name by now is refused, and Git is not led there', async () => {
      const { id } = (await host.verify()).repository;
      const ours = open(served, clock, id).host;
      expect((await ours.verify()).repository.id).toBe(id);
      Object.assign(state, { id: 1234 });
      expect((await failure(ours.verify())).kind).toBe('replaced');
      expect((await failure(ours.gitAccess())).kind).toBe('replaced');
    });

    test('the credential is not taken to another host', async () => {
      await host.verify();
      state.instead = [{ status: 302, headers: { location: 'https://elsewhere.example.org/' } }];
      expect((await failure(host.verify())).kind).toBe('refused');
    });

    test('there is one webhook for an address, which is made right again, and goes without a trace', async () => {
      for (let n = 0; n < 5; n += 1)
        state.hooks.set(n + 50, { url: `https://other.example.org/${n}`, config: { url: `https://other.example.org/${n}` } });
      await host.ensureWebhook({ url: hookUrl, secret: 'first-secret' });
      await host.ensureWebhook({ url: hookUrl, secret });
      const ours = [...state.hooks.values()].filter((hook) => JSON.stringify(hook).includes(hookUrl));
      expect(ours).toHaveLength(1);
      expect(JSON.stringify(ours)).toContain(secret);
      await host.removeWebhook(hookUrl);
      await host.removeWebhook(hookUrl);
      expect(state.hooks.size).toBe(5);
    });

    test('whoever registers at the same moment as another leaves one webhook', async () => {
      await Promise.all(Array.from({ length: 3 }, () => host.ensureWebhook({ url: hookUrl, secret })));
      expect([...state.hooks.values()].filter((hook) => JSON.stringify(hook).includes(hookUrl))).toHaveLength(1);
    });

    test('a webhook that the credential must not register is told as a lack of rights', async () => {
      await host.verify();
      state.instead = [{ status: 403, body: { message: 'Must have admin rights' } }];
      expect((await failure(host.ensureWebhook({ url: hookUrl, secret }))).kind).toBe('permission');
    });

    test('deliveries tell of branches and tags that came and went', () => {
      const commit = 'c'.repeat(40);
      const told = (ref: string, at?: string) => host.readDelivery(served.deliver({ kind: 'ref', ref, commit: at }, secret), secret);
      expect(told('refs/heads/feature/x', commit)).toEqual([{ kind: 'branch-pushed', branch: 'feature/x', commit }]);
      expect(told('refs/heads/feature/x')).toEqual([{ kind: 'branch-deleted', branch: 'feature/x' }]);
      expect(told('refs/tags/v1', commit)).toEqual([{ kind: 'tag-pushed', tag: 'v1', commit }]);
      expect(told('refs/tags/v1')).toEqual([{ kind: 'tag-deleted', tag: 'v1' }]);
    });

    test('a delivery tells of a pull request just what the list does', async () => {
      for (const request of [{}, { isDraft: true }, { isFromFork: true }]) {
        put(request);
        const [event] = host.readDelivery(served.deliver({ kind: 'pull-request', number: 7, as: 'changed' }, secret), secret);
        expect(event).toEqual({ kind: 'pull-request', pullRequest: (await host.pullRequests()).open[0] });
      }
      for (const is of ['merged', 'closed'] as const) {
        put({ state: is });
        const [event] = host.readDelivery(served.deliver({ kind: 'pull-request', number: 7, as: 'closed' }, secret), secret);
        expect(event).toMatchObject({ pullRequest: { number: 7, state: is } });
      }
    });

    test('a delivery without the right secret is refused, and any for an empty secret', () => {
      const delivery = served.deliver({ kind: 'ref', ref: 'refs/heads/x', commit: 'c'.repeat(40) }, secret);
      const refused = [
        () => host.readDelivery(delivery, 'another-secret'),
        () => host.readDelivery({ ...delivery, headers: {} }, secret),
        () => host.readDelivery(served.deliver({ kind: 'unrelated' }, ''), ''),
      ];
      for (const reading of refused) expect(reading).toThrow(/does not bear the secret/);
    });

    test('a delivery that was changed on its way is refused, where the host signs what it sends', () => {
      const { headers, body } = served.deliver({ kind: 'ref', ref: 'refs/heads/x', commit: 'c'.repeat(40) }, secret);
      const changed = Buffer.from(body.toString('utf8').replace('refs/heads/x', 'refs/heads/y'));
      const isRefused = (() => {
        try {
          host.readDelivery({ headers, body: Buffer.concat([changed, Buffer.from(' ')]) }, secret);
          return false;
        } catch (error) {
          return /does not bear the secret/.test(String(error));
        }
      })();
      expect(isRefused).toBe(differs.signedBody === undefined);
    });

    test('deliveries about what is not our business, or not our repository, are no events', () => {
      expect(host.readDelivery(served.deliver({ kind: 'unrelated' }, secret), secret)).toEqual([]);
      const { id } = state;
      const ours = open(served, clock, kind === 'Bitbucket Cloud' ? `{${id}}` : String(id)).host;
      Object.assign(state, { id: 1234 });
      expect(ours.readDelivery(served.deliver({ kind: 'ref', ref: 'refs/heads/x', commit: 'c'.repeat(40) }, secret), secret)).toEqual([]);
    });

    test('a delivery of another shape than the documented one has everything looked at', () => {
      const delivery = served.deliver({ kind: 'pull-request', number: 404, as: 'opened' }, secret);
      expect(host.readDelivery(delivery, secret)).toEqual([{ kind: 'look-at-everything' }]);
    });

    test('a delivery tells that the repository has another name, where the host sends one', () => {
      const { id } = state;
      const ours = open(served, clock, kind === 'Bitbucket Cloud' ? `{${id}}` : String(id)).host;
      Object.assign(state, { formerName: 'shop', name: 'store' });
      const told = ours
        .readDelivery(served.deliver({ kind: 'renamed' }, secret), secret)
        .filter((event) => event.kind === 'repository-renamed');
      expect(told).toEqual(differs.renamedDelivery === undefined ? [{ kind: 'repository-renamed', name: 'acme/store' }] : []);
    });

    test('a status is reported on a commit, each time anew, with the address', async () => {
      const status = { commit: aPullRequest.commit, name: 'offshoot/pr-7', description: 'Deployed', url: 'https://pr-7.example.org/' };
      for (const is of ['pending', 'pending', 'success', 'failure'] as const) await host.reportStatus({ ...status, state: is });
      const last = state.statuses.at(-1);
      expect(last?.commit).toBe(aPullRequest.commit);
      expect(JSON.stringify(last?.body)).toContain('https://pr-7.example.org/');
      expect(new Set(state.statuses.map(({ body }) => body['state'])).size).toBe(3);
    });

    test('one comment is kept up to date, found again without its number, and written anew if somebody removed it', async () => {
      put({});
      for (let n = 0; n < 7; n += 1) state.comments.push({ id: n + 1, pullRequest: 7, text: `talk ${n}`, version: 0 });
      const comment = { pullRequest: 7, key: 'offshoot:3f2a' };
      const id = await host.keepComment({ ...comment, text: 'It builds.' });
      expect(await host.keepComment({ ...comment, text: 'It runs.' })).toBe(id);
      expect(await host.keepComment({ ...comment, text: 'It runs well.', id })).toBe(id);
      expect(state.comments.filter(({ text }) => text.includes('offshoot:3f2a'))).toHaveLength(1);
      expect(state.comments.at(-1)?.text).toMatch(/^It runs well\./);
      state.comments.pop();
      await host.keepComment({ ...comment, text: 'Again.', id });
      expect(state.comments.at(-1)?.text).toMatch(/^Again\./);
    });

    test('Git is told where to fetch, with a password, and neither stands in the address', async () => {
      const { url, username, password } = await host.gitAccess();
      expect(url).toMatch(/acme\/shop\.git$/);
      expect(username).not.toBe('');
      expect(password).toBe(testToken);
      expect(url).not.toContain(testToken);
    });
  });
}
