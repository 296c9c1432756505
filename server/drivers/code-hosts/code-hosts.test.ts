/** Each driver is held to the suite; what only one of them has is below. */
import { describe, expect, test } from 'vitest';
import { openBitbucket } from './bitbucket/bitbucket.ts';
import { bitbucketWire, testAddon, testConsumer } from './bitbucket/test-bitbucket.ts';
import { openBitbucketServer } from './bitbucket-server/bitbucket-server.ts';
import { bitbucketServerWire } from './bitbucket-server/test-bitbucket-server.ts';
import { codeHostConformance, type OpenHost } from './conformance.ts';
import { openGitea } from './gitea/gitea.ts';
import { giteaWire } from './gitea/test-gitea.ts';
import { openGithub } from './github/github.ts';
import { githubWire, testApp } from './github/test-github.ts';
import { openGitlab } from './gitlab/gitlab.ts';
import { gitlabWire } from './gitlab/test-gitlab.ts';
import { openHostTokens } from './host-tokens.ts';
import { openCodeHost, type CodeHostSettings } from './open-code-host.ts';
import { waitAfter } from './rate-limits.ts';
import { withoutSecrets } from '../outbound/secrets-in-text.ts';
import { serveTestHost, testToken, type HostState, type HostWire } from './test-host.ts';

const nameOf = ({ owner, name }: HostState) => `${owner}/${name}`;

const openGithubWithToken: OpenHost = ({ state, send }, clock, repositoryId) => ({
  host: openGithub({ repository: nameOf(state), repositoryId, credential: { kind: 'token', token: testToken }, send, clock }),
  secrets: [testToken],
});
codeHostConformance('GitHub', githubWire, openGithubWithToken);

codeHostConformance('GitHub, by an App', githubWire, ({ state, send }, clock, repositoryId) => ({
  host: openGithub({ repository: nameOf(state), repositoryId, credential: { kind: 'app', ...testApp }, send, clock }),
  secrets: [testToken, testApp.privateKey],
}));

codeHostConformance('GitHub Enterprise Server', githubWire, ({ state, send }, clock, repositoryId) => ({
  host: openGithub({
    repository: nameOf(state),
    repositoryId,
    credential: { kind: 'token', token: testToken },
    baseUrl: `${state.origin}/`,
    send,
    clock,
  }),
  secrets: [testToken],
}));

codeHostConformance(
  'GitLab',
  gitlabWire,
  ({ state, send }, clock, repositoryId) => ({
    host: openGitlab({ project: nameOf(state), repositoryId, token: testToken, baseUrl: state.origin, send, clock }),
    secrets: [testToken],
  }),
  { signedBody: 'GitLab sends the secret itself, and signs nothing' },
);

codeHostConformance(
  'Bitbucket Cloud',
  bitbucketWire,
  ({ state, send }, clock, repositoryId) => ({
    host: openBitbucket({ repository: nameOf(state), repositoryId, credential: { kind: 'consumer', ...testConsumer }, send, clock }),
    secrets: [testToken, testConsumer.secret],
  }),
  { refOfPullRequest: 'Bitbucket Cloud keeps no refs of pull requests' },
);

codeHostConformance('Bitbucket Server', bitbucketServerWire, ({ state, send }, clock, repositoryId) => ({
  host: openBitbucketServer({
    url: state.origin,
    project: state.owner,
    repository: state.name,
    repositoryId,
    username: 'ada',
    token: testToken,
    send,
    clock,
  }),
  secrets: [testToken],
}));

codeHostConformance(
  'Gitea',
  giteaWire,
  ({ state, send }, clock, repositoryId) => ({
    host: openGitea({ repository: nameOf(state), repositoryId, token: testToken, baseUrl: state.origin, send, clock }),
    secrets: [testToken],
  }),
  { renamedDelivery: 'Gitea sends no delivery about a new name' },
);

describe('what one host has alone', () => {
  test('GitLab tells when a token ends, and gives a new one in its place', async () => {
    const { state, send, close } = await serveTestHost(gitlabWire);
    const gitlab = (token: string) => openGitlab({ project: 'acme/shop', token, baseUrl: state.origin, send });
    expect((await gitlab(testToken).verify()).credentialExpiresAt).toBe('2031-01-02');
    const rotated = await gitlab(testToken).rotateToken?.('2030-06-01T00:00:00Z');
    expect(rotated).toEqual({ token: 'secret-token-2', expiresAt: '2030-06-01' });
    await expect(gitlab(testToken).verify()).rejects.toMatchObject({ kind: 'credential' });
    expect((await gitlab(rotated?.token ?? '').verify()).repository.name).toBe('acme/shop');
    close();
  });

  test('a token is rotated once, whatever the host answers, because a second time would revoke both', async () => {
    const { state, send, close } = await serveTestHost(gitlabWire);
    state.instead = [{ status: 502, body: '' }];
    await expect(
      openGitlab({ project: 'acme/shop', token: testToken, baseUrl: state.origin, send }).rotateToken?.('2030-06-01'),
    ).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(state.requests).toHaveLength(1);
    close();
  });

  test('GitHub tells when a token of a person ends', async () => {
    const { send, close } = await serveTestHost(githubWire);
    const github = openGithub({ repository: 'acme/shop', credential: { kind: 'token', token: testToken }, send });
    expect((await github.verify()).credentialExpiresAt).toBe('2031-01-02T03:04:05.000Z');
    close();
  });

  test('an App gets one token for all requests of an hour, and another when that one is revoked', async () => {
    const { state, send, close } = await serveTestHost(githubWire);
    let now = Date.now();
    const clock = { now: () => now, wait: async () => {} };
    const github = openGithub({ repository: 'acme/shop', credential: { kind: 'app', ...testApp }, send, clock });
    const tokensHad = () => state.requests.filter(({ path }) => path.endsWith('/access_tokens')).length;
    await Promise.all([github.branches(), github.tags()]);
    await github.verify();
    expect(tokensHad()).toBe(1);
    state.token = 'secret-token-3';
    now += 60_000;
    await github.verify();
    expect(tokensHad()).toBe(2);
    expect((await github.gitAccess()).password).toBe('secret-token-3');
    now += 3_500_000;
    await github.verify();
    expect(tokensHad()).toBe(3);
    close();
  });

  test('a host that quotes what it was sent gives nothing away, be it a statement that was signed a moment ago or cut off', async () => {
    const { state, send, close } = await serveTestHost(githubWire);
    const github = openGithub({ repository: 'acme/shop', credential: { kind: 'app', ...testApp, appId: 'another' }, send });
    await expect(github.verify()).rejects.toMatchObject({ kind: 'credential' });
    await expect(github.verify()).rejects.not.toThrow(/eyJ/);
    state.instead = [{ status: 401, body: { message: `${'x'.repeat(250)} ${testApp.privateKey}` } }];
    await expect(github.verify()).rejects.not.toThrow(/BEGIN/);
    close();
  });

  test('a key of an App that is none is refused without a word of it', () => {
    const credential = { kind: 'app', appId: '1', privateKey: '-----BEGIN SECRETS-----' } as const;
    expect(() => openGithub({ repository: 'acme/shop', credential, send: () => Promise.reject(new Error('unused')) })).toThrow(
      /^The private key of the App is not a key in PEM\.$/,
    );
  });

  test('Bitbucket Cloud knows add-ons, and consumers that it does not know are a matter of the credential', async () => {
    const { send, close } = await serveTestHost(bitbucketWire);
    const bitbucket = (credential: Parameters<typeof openBitbucket>[0]['credential']) =>
      openBitbucket({ repository: 'acme/shop', credential, send });
    expect((await bitbucket({ kind: 'addon', ...testAddon }).verify()).repository.name).toBe('acme/shop');
    const wrong = { kind: 'consumer', key: testConsumer.key, secret: 'wrong-secret-12345' } as const;
    await expect(bitbucket(wrong).verify()).rejects.toMatchObject({ kind: 'credential' });
    await expect(bitbucket(wrong).verify()).rejects.not.toThrow(/wrong-secret/);
    close();
  });

  test('no more pages of pull requests are read than somebody asked for', async () => {
    const { state, send, close } = await serveTestHost(bitbucketWire);
    for (let number = 1; number <= 9; number += 1)
      state.pullRequests.set(number, {
        number,
        title: 'x',
        state: 'open',
        isDraft: false,
        isFromFork: false,
        source: 's',
        target: 'main',
        commit: 'c'.repeat(40),
      });
    const credential = { kind: 'consumer', ...testConsumer } as const;
    const listed = async (pullRequestPagesMax: number) => {
      const { open, isWhole } = await openBitbucket({ repository: 'acme/shop', credential, send, pullRequestPagesMax }).pullRequests();
      return { open: open.length, isWhole };
    };
    expect(await listed(2)).toEqual({ open: 6, isWhole: false });
    expect(await listed(Math.ceil(state.pullRequests.size / state.itemsMax))).toEqual({ open: state.pullRequests.size, isWhole: true });
    close();
  });
});

test('waits are read as hosts write them: seconds, dates, moments, and words', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  const secondsOf = (status: number, headers: Record<string, string>, body = '') => {
    const wait = waitAfter({ status, headers, body: Buffer.from(body) }, now);
    return wait && (wait.until.getTime() - now) / 1000;
  };
  expect(secondsOf(429, { 'retry-after': '7' })).toBe(7);
  expect(secondsOf(503, { 'retry-after': 'Thu, 01 Jan 2026 00:02:00 GMT' })).toBe(120);
  expect(secondsOf(429, { 'ratelimit-remaining': '0', 'ratelimit-reset': String(now / 1000 + 30) })).toBe(30);
  expect(secondsOf(403, {}, '{"message":"You have exceeded a secondary rate limit."}')).toBe(60);
  expect(secondsOf(429, { 'retry-after': '99999999' })).toBe(86_400);
  expect(secondsOf(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(now / 1000 + 5) })).toBe(5);
  expect([
    secondsOf(200, { 'x-ratelimit-remaining': '1' }),
    secondsOf(403, {}, '{}'),
    secondsOf(401, { 'x-ratelimit-remaining': '0' }),
  ]).toEqual([undefined, undefined, undefined]);
});

test('secrets are taken out of texts in every spelling that a host could quote', () => {
  const secret = 'p@ss/word+1"';
  const quoted = `${secret} ${encodeURIComponent(secret)} ${JSON.stringify(secret)} ${Buffer.from(secret).toString('base64')}`;
  expect(withoutSecrets(quoted, [secret])).toBe('[secret] [secret] "[secret]" [secret]');
});

test('each type of integration opens its host, by the settings that are published', async () => {
  const { key, secret } = testConsumer;
  const github = { type: 'github', repository: 'acme/shop', token: testToken } as const;
  const every: [HostWire, (origin: string) => CodeHostSettings][] = [
    [githubWire, () => github],
    [githubWire, () => ({ type: 'github', repository: 'acme/shop', app: { app_id: testApp.appId, private_key: testApp.privateKey } })],
    [gitlabWire, (base_url) => ({ type: 'gitlab', project: 'acme/shop', token: testToken, base_url })],
    [bitbucketWire, () => ({ type: 'bitbucket', repository: 'acme/shop', app_credentials: { key, secret }, addon_credentials: null })],
    [
      bitbucketServerWire,
      (url) => ({ type: 'bitbucket_server', url, project: 'acme', repository: 'shop', username: 'ada', token: testToken }),
    ],
    [giteaWire, (base_url) => ({ type: 'gitea', repository: 'acme/shop', token: testToken, base_url })],
  ];
  for (const [wire, settings] of every) {
    const { state, send, close } = await serveTestHost(wire);
    expect((await openCodeHost(settings(state.origin), { send, tokens: openHostTokens() }).verify()).repository.name).toBe('acme/shop');
    close();
  }
  const nowhere = { send: () => Promise.reject(new Error('unused')), tokens: openHostTokens() };
  expect(() => openCodeHost({ type: 'bitbucket', repository: 'acme/shop' }, nowhere)).toThrow(/app_credentials/);
  expect(() => openCodeHost({ ...github, repository: 'shop' }, nowhere)).toThrow(/owner\/name/);
});
