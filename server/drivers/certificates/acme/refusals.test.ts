/** What no authority does for a test: refuse for good, ask to wait, send nonsense. */
import { describe, expect, test } from 'vitest';
import type { Issuance, OngoingIssuance } from '../certificates.ts';
import { issuerOver, openAcmeIssuer } from './acme.ts';
import type { HttpsReply, Send } from './https.ts';
import { AcmeTrouble } from './messages.ts';
import { openOutbound } from '../../outbound/outbound.ts';
import type { Solver } from './proofs.ts';
import { memoryStore } from './test-accounts.ts';

const base = 'https://authority.example';
const directory = {
  newNonce: `${base}/nonce`,
  newAccount: `${base}/account`,
  newOrder: `${base}/order`,
  revokeCert: `${base}/revoke`,
  keyChange: `${base}/key`,
  meta: { caaIdentities: ['authority.example'] },
};

const json = (body: unknown, headers: Record<string, string> = {}, status = 200): HttpsReply => ({
  status,
  headers: { 'content-type': 'application/json', 'replay-nonce': 'nonce', ...headers },
  body: JSON.stringify(body),
});
const refusal = (type: string, detail: string, headers: Record<string, string> = {}, status = 403, more = {}) =>
  json({ type: `urn:ietf:params:acme:error:${type}`, detail, ...more }, headers, status);

/** An authority that gives these replies at their paths, and the usual ones at all others. */
function authority(replies: Record<string, HttpsReply | (() => HttpsReply)>, solvers: readonly Solver[] = []) {
  const usual: Record<string, HttpsReply> = {
    '/directory': json(directory),
    '/nonce': json({}),
    '/account': json({ status: 'valid' }, { location: `${base}/account/1` }, 201),
  };
  const send: Send = (_, url) => {
    if (!URL.parse(url)) return Promise.reject(new AcmeTrouble('no address'));
    const reply = replies[new URL(url).pathname] ?? usual[new URL(url).pathname] ?? refusal('malformed', `nothing at ${url}`, {}, 404);
    return Promise.resolve(typeof reply === 'function' ? reply() : reply);
  };
  return issuerOver(send, { directoryUrl: `${base}/directory`, store: memoryStore(), solvers });
}

const names: [string] = ['www.example.org'];

async function advanced(replies: Record<string, HttpsReply | (() => HttpsReply)>, steps = 1): Promise<Issuance> {
  const issuer = authority(replies);
  let current: Issuance = await issuer.begin({ names });
  for (let n = 0; n < steps && current.status === 'ongoing'; n += 1) current = await issuer.advance(current);
  return current;
}

const secondsUntil = ({ notBefore = '' }: Pick<OngoingIssuance, 'notBefore'>) => (Date.parse(notBefore) - Date.now()) / 1000;

describe('an authority that wants us to wait', () => {
  test('is asked again when it said, and the value says why', async () => {
    const issuance = await advanced({ '/order': refusal('rateLimited', 'too many certificates', { 'retry-after': '7200' }, 429) });
    expect(issuance).toMatchObject({ status: 'ongoing', next: 'order', trouble: { times: 1 } });
    expect(secondsUntil(issuance as OngoingIssuance)).toBeCloseTo(7200, -1);
  });

  test('is given more time with each failure, up to an hour', async () => {
    const replies = { '/order': { status: 503, headers: { 'replay-nonce': 'n' }, body: 'busy' } };
    const waits = await Promise.all([1, 2, 3, 20].map(async (times) => secondsUntil((await advanced(replies, times)) as OngoingIssuance)));
    expect(waits.map((wait) => Math.round(wait / 5) * 5)).toEqual([5, 10, 20, 3600]);
  });

  test('is heard with a date too', async () => {
    const date = new Date(Date.now() + 600_000).toUTCString();
    const issuance = await advanced({ '/order': { status: 503, headers: { 'retry-after': date }, body: '' } });
    expect(secondsUntil(issuance as OngoingIssuance)).toBeCloseTo(600, -1);
  });
});

describe('an authority that says no', () => {
  test('to one name of several names that one', async () => {
    const subproblems = [
      { type: 'urn:ietf:params:acme:error:caa', detail: 'CAA forbids', identifier: { type: 'dns', value: 'www.example.org' } },
    ];
    const end = await advanced({ '/order': refusal('compound', 'several', {}, 403, { subproblems }) });
    expect(end).toMatchObject({ status: 'refused', faults: [{ name: 'www.example.org', cause: 'caa' }] });
    expect(end.status === 'refused' && end.faults[0].sentence).toContain('www.example.org. CAA 0 issue "authority.example"');
  });

  test('to the account for good is not evaded with another account', async () => {
    const end = await advanced({ '/account': refusal('unauthorized', 'Account has been revoked', {}, 401) }, 10);
    expect(end).toMatchObject({ status: 'refused', faults: [{ cause: 'account' }] });
    expect(end.status === 'refused' && end.faults[0].sentence).toContain('Account has been revoked');
  });

  test('because its terms have changed says where they are', async () => {
    const help = { link: '<https://authority.example/terms>;rel="help"' };
    const end = await advanced({ '/order': refusal('userActionRequired', 'Terms have changed', help) });
    expect(end.status === 'refused' && end.faults[0].sentence).toContain('(https://authority.example/terms)');
  });

  test('to a nonce is asked again, but not for ever', async () => {
    let asked = 0;
    const badNonce = () => {
      asked += 1;
      return refusal('badNonce', 'old', {}, 400);
    };
    expect(await advanced({ '/account': badNonce })).toMatchObject({ status: 'refused' });
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(50);
  });

  test('to an order that it has forgotten gets a new one, three times', async () => {
    let orders = 0;
    const forgetful = () => json({ status: 'pending' }, { location: `${base}/order/${(orders += 1)}` }, 201);
    expect(await advanced({ '/order': forgetful }, 20)).toMatchObject({ status: 'refused' });
    expect(orders).toBe(4);
  });
});

describe('an authority that cannot reach a name', () => {
  const kinds = ['http-01', 'tls-alpn-01'] as const;

  /** Sees of each order whether the name was proven by the last of its challenges that was answered: it never is, for this reason. */
  async function unreached(type: string) {
    let orders = 0;
    const tried: string[] = [];
    let answered: string | undefined;
    const answer = (kind: string) => () => {
      answered = kind;
      tried.push(kind);
      return json({});
    };
    const challenge = (kind: string) => ({
      type: kind,
      url: `${base}/${kind}`,
      token: 'a-token-of-length',
      ...(answered === kind && { error: { type: `urn:ietf:params:acme:error:${type}`, detail: `by ${kind}` } }),
    });
    const solver = (kind: (typeof kinds)[number]): Solver => ({
      kind,
      canServe: () => true,
      serve: () => Promise.resolve(),
      withdraw: () => Promise.resolve(),
    });
    const status = () => (answered === undefined ? 'pending' : 'invalid');
    const issuer = authority(
      {
        '/order': () => {
          answered = undefined;
          return json({ status: 'pending' }, { location: `${base}/order/${(orders += 1)}` }, 201);
        },
        ...Object.fromEntries([1, 2, 3].map((n) => [`/order/${n}`, () => json({ status: status(), authorizations: [`${base}/name`] })])),
        '/name': () => json({ status: status(), identifier: { type: 'dns', value: names[0] }, challenges: kinds.map(challenge) }),
        ...Object.fromEntries(kinds.map((kind) => [`/${kind}`, answer(kind)])),
      },
      kinds.map(solver),
    );
    let current: Issuance = await issuer.begin({ names });
    while (current.status === 'ongoing') current = await issuer.advance(current);
    return { tried, orders, sentences: current.status === 'refused' ? current.faults.map(({ sentence }) => sentence) : [] };
  }

  test('by one port is asked to look at the other, and then no more; what was wrong with each is told', async () => {
    const { tried, orders, sentences } = await unreached('connection');
    // The third order tells that there is no other way left.
    expect([tried, orders]).toEqual([['http-01', 'tls-alpn-01'], 3]);
    expect(sentences).toEqual([expect.stringMatching(/port 80 .*by http-01/), expect.stringMatching(/port 443 .*by tls-alpn-01/)]);
  });

  test('because it is not in DNS is not asked to look elsewhere', async () => {
    const { tried, orders, sentences } = await unreached('dns');
    expect([tried, orders, sentences.length]).toEqual([['http-01'], 1, 1]);
  });
});

describe('what is no authority', () => {
  test('is told as what it is', async () => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' };
    for (const reply of [page, { ...page, status: 404 }, { ...page, status: 301 }])
      expect(await advanced({ '/directory': reply })).toMatchObject({
        status: 'ongoing',
        trouble: { sentence: expect.stringMatching(/no ACME directory|answered 301/) as unknown },
      });
  });

  test('with answers that are not what they should be leaves a value to go on from', async () => {
    const page: HttpsReply = {
      status: 200,
      headers: { 'content-type': 'text/html', location: `${base}/order/1`, 'replay-nonce': 'n' },
      body: '<html>',
    };
    const elsewhere: HttpsReply = { ...page, status: 302, headers: { location: 'https://elsewhere.example/' } };
    const order = (body: unknown) => ({ '/order': page, '/order/1': json(body) });
    const wrong = [
      { '/order': elsewhere },
      order({}),
      order({ status: 'pending', authorizations: [`${base}/nonce`] }),
      order({ status: 'ready', authorizations: [] }),
    ];
    for (const replies of [...wrong, order({ status: 'valid', authorizations: [], certificate: `${base}/directory` })])
      expect(await advanced(replies, 5)).toMatchObject({ status: 'ongoing', trouble: { sentence: expect.any(String) as unknown } });
  });

  test('is not visited without TLS, nor at an address that is not allowed', async () => {
    const options = { store: memoryStore(), solvers: [] };
    await expect(openAcmeIssuer({ ...options, directoryUrl: 'http://authority.example' }).accountUrl()).rejects.toThrow('over TLS only');
    const outbound = openOutbound({ allowPrivateAddresses: [] });
    await expect(openAcmeIssuer({ ...options, directoryUrl: 'https://127.0.0.1:1', outbound }).accountUrl()).rejects.toThrow(
      'not a public address',
    );
  });

  test('cannot keep anybody who wants to stop', async () => {
    const issuer = openAcmeIssuer({ store: memoryStore(), solvers: [], directoryUrl: 'https://127.0.0.1:1' });
    const begun = await issuer.begin({ names });
    await expect(issuer.advance(begun, AbortSignal.abort(new Error('stopping')))).rejects.toThrow('stopping');
    expect(await issuer.advance(begun)).toMatchObject({ status: 'ongoing', trouble: { times: 1 } });
  });
});
