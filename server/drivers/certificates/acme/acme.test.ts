import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Issuance } from '../certificates.ts';
import { complete, issue, issuerConformance } from '../conformance.ts';
import { openDnsSolver, openPersistentDnsSolver, openStandingDnsSolver } from '../dns/dns-solver.ts';
import { openDynamicUpdate } from '../dns/dynamic-update.ts';
import { openTestKnot, type TestKnot, testZone } from '../test-knot.ts';
import { blockedName, externalAccount, openTestPebble, type TestPebble } from '../test-pebble.ts';
import { canBringPrograms, whyNoPrograms } from '../test-programs.ts';
import { factsOf } from '../x509/facts.ts';
import { type AcmeOptions, openAcmeIssuer } from './acme.ts';
import type { Solver } from './proofs.ts';
import { memoryStore } from './test-accounts.ts';

let knot: TestKnot;
let pebble: TestPebble;

beforeAll(async () => {
  if (!canBringPrograms) return;
  knot = await openTestKnot();
  pebble = await openTestPebble({ dnsServer: knot.server, env: { PEBBLE_AUTHZREUSE: '0', PEBBLE_ALTERNATE_ROOTS: '1' } });
});
afterAll(async () => {
  await pebble?.close();
  await knot?.close();
});

const open = (options: Partial<AcmeOptions> = {}, { directoryUrl, authorities, solvers } = pebble) =>
  openAcmeIssuer({ directoryUrl, authorities, store: memoryStore(), solvers: [solvers.http], ...options });

const records = () => openDynamicUpdate({ server: { host: '127.0.0.1', port: knot.port }, domains: [testZone], key: knot.key });
const dns = () => openDnsSolver({ records: records(), servers: [knot.server] });
const namesIn = (certificate: string) => [...factsOf(new X509Certificate(certificate)).names].toSorted();

issuerConformance(
  `ACME, names proven over HTTP${whyNoPrograms}`,
  () => {
    const store = memoryStore();
    return Promise.resolve({
      open: () => open({ store }),
      domain: testZone,
      foreignName: blockedName,
      roots: async () => [await pebble.rootOf()],
      isTidy: () => pebble.served.size === 0,
      close: () => Promise.resolve(),
    });
  },
  canBringPrograms,
);

describe.runIf(canBringPrograms)(`names are proven${whyNoPrograms}`, () => {
  test('by TLS', async () => {
    const { certificate } = await issue(open({ solvers: [pebble.solvers.tls] }), { names: [`tls.${testZone}`] });
    expect(namesIn(certificate)).toEqual([`tls.${testZone}`]);
  });

  test('by DNS: a domain and all below it, which share a record', async () => {
    const names = [`shop.${testZone}`, `*.shop.${testZone}`] as const;
    const { certificate } = await issue(open({ solvers: [dns()] }), { names: [...names] });
    expect(namesIn(certificate)).toEqual([...names].toSorted());
    expect(await knot.textsOf(`_acme-challenge.shop.${testZone}`)).toEqual([]);
  });

  test('by DNS, where the domain has handed it over with an alias', async () => {
    const { certificate } = await issue(open({ solvers: [dns()] }), { names: [`*.delegated.${testZone}`] });
    expect(namesIn(certificate)).toEqual([`*.delegated.${testZone}`]);
    expect(await knot.textsOf(`delegated.proofs.${testZone}`)).toEqual([]);
  });

  test('by a record that stays: set once by us, and found again by whoever may not change DNS', async () => {
    const store = memoryStore();
    const name = `*.lasting.${testZone}` as const;
    const setting = openPersistentDnsSolver({ records: records(), servers: [knot.server] });
    await issue(open({ store, solvers: [setting] }), { names: [name] });
    const { certificate } = await issue(open({ store, solvers: [openStandingDnsSolver({ servers: [knot.server] })] }), { names: [name] });
    expect(namesIn(certificate)).toEqual([name]);
    expect(await knot.textsOf(`_validation-persist.lasting.${testZone}`)).toEqual([
      expect.stringMatching(/^pebble\.test; accounturi=https:.*; policy=wildcard$/),
    ]);
  });

  test('an address, over HTTP', async () => {
    const { certificate } = await issue(open(), { names: ['127.0.0.1'] });
    expect(namesIn(certificate)).toEqual(['127.0.0.1']);
  });

  test('by the first way that the authority offers and we have: a wildcard by DNS, others over HTTP', async () => {
    const names = [`plain.${testZone}`, `*.wild.${testZone}`] as const;
    const { certificate } = await issue(open({ solvers: [pebble.solvers.http, dns()] }), { names: [...names] });
    expect(namesIn(certificate)).toEqual([...names].toSorted());
  });
});

const faultsOf = (end: Issuance) => (end.status === 'refused' ? end.faults : []);

describe.runIf(canBringPrograms)(`what goes wrong is told by name, with what to change${whyNoPrograms}`, () => {
  test('somebody else answers at the name', async () => {
    const lying: Solver = {
      ...pebble.solvers.http,
      serve: (proof) => pebble.solvers.http.serve({ ...proof, body: 'hello' } as typeof proof),
    };
    const issuer = open({ solvers: [lying], pointTo: 'an A record with 203.0.113.7' });
    const [fault, ...others] = faultsOf(await complete(issuer, await issuer.begin({ names: [`elsewhere.${testZone}`] })));
    expect(fault).toMatchObject({ name: `elsewhere.${testZone}`, cause: 'wrong-answer' });
    expect(fault?.sentence).toContain('with an A record with 203.0.113.7');
    expect(others).toEqual([]);
    expect(pebble.served.size).toBe(0);
  });

  test('a name that is not in DNS', async () => {
    const issuer = open();
    const [fault] = faultsOf(await complete(issuer, await issuer.begin({ names: ['nowhere.example'] })));
    expect(fault).toMatchObject({ name: 'nowhere.example' });
    expect(['dns', 'connection']).toContain(fault?.cause);
  });

  test('a wildcard without a way to change DNS', async () => {
    const issuer = open();
    const [fault] = faultsOf(await complete(issuer, await issuer.begin({ names: [`*.${testZone}`] })));
    expect(fault).toMatchObject({ name: `*.${testZone}`, cause: 'no-way-to-prove' });
    expect(fault?.sentence).toContain('A wildcard takes DNS-01');
  });

  test('a profile that the authority does not have', async () => {
    const issuer = open();
    const [fault] = faultsOf(await complete(issuer, await issuer.begin({ names: [`www.${testZone}`], profile: 'eternal' })));
    expect(fault?.sentence).toBe('The authority has no profile eternal; it has default, short.');
  });
});

describe.runIf(canBringPrograms)(`certificates are as they were asked for${whyNoPrograms}`, () => {
  test('by profile', async () => {
    const { certificate } = await issue(open(), { names: [`short.${testZone}`], profile: 'short' });
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    expect(Math.round((validToDate.getTime() - validFromDate.getTime()) / 86_400_000)).toBe(6);
  });

  test('with the chain that is preferred', async () => {
    const root = new X509Certificate(await pebble.rootOf(1));
    const preferredChain = root.subject.replace(/^CN=/, '');
    const { chain } = await issue(open({ preferredChain }), { names: [`chain.${testZone}`] });
    expect(new X509Certificate(chain.at(-1) ?? '').verify(root.publicKey)).toBe(true);
  });
});

describe.runIf(canBringPrograms)(`renewal${whyNoPrograms}`, () => {
  test('the authority is asked; once a certificate is revoked it wants another at once, in its place', async () => {
    const issuer = open();
    const request = { names: [`renewed.${testZone}`] as [string] };
    const { certificate } = await issue(issuer, request);
    const before = await issuer.renewal(certificate);
    expect(before.by).toBe('issuer');
    expect(Date.parse(before.renewAt)).toBeGreaterThan(Date.now());
    await issuer.revoke(certificate, 'superseded');
    await issuer.revoke(certificate, 'superseded');
    const after = await issuer.renewal(certificate);
    expect(after.by).toBe('issuer');
    expect(Date.parse(after.renewAt)).toBeLessThan(Date.now());
    const { certificate: next } = await issue(issuer, { ...request, replaces: certificate });
    expect(next).not.toBe(certificate);
    // The authority takes one replacement for each certificate; a second one is ordered as a new certificate.
    await issue(issuer, { ...request, replaces: certificate });
  });
});

describe.runIf(canBringPrograms)(`accounts${whyNoPrograms}`, () => {
  const name = `accounts.${testZone}`;

  test('one is made before the first order, and used from then on', async () => {
    const store = memoryStore();
    const [first, second] = [await open({ store }).accountUrl(), await open({ store }).accountUrl()];
    expect(first).toBe(second);
    // As after a kill between the answer of the authority and its storing.
    expect(await open({ store: memoryStore(store.written[0]) }).accountUrl()).toBe(first);
  });

  test('its e-mail address follows the settings, and at another authority it is another one', async () => {
    const store = memoryStore();
    const url = await open({ store, email: 'first@example.org' }).accountUrl();
    expect(await open({ store, email: 'second@example.org' }).accountUrl()).toBe(url);
    expect(store.written.at(-1)).toMatchObject({ url, email: 'second@example.org' });
    const elsewhere = memoryStore({ ...store.written.at(-1)!, directoryUrl: 'https://authority.example/directory' });
    expect(await open({ store: elsewhere }).accountUrl()).not.toBe(url);
  });

  test('its key is changed, also by whoever was killed while changing it', async () => {
    const store = memoryStore();
    const url = await open({ store }).accountUrl();
    await open({ store }).changeAccountKey();
    const [changing, changed] = store.written.slice(-2);
    expect(changing?.nextKey).toEqual(changed?.key);
    // The authority has changed the key, and the process was killed before it stored that.
    const killed = memoryStore(changing);
    expect(await open({ store: killed }).accountUrl()).toBe(url);
    expect(killed.written.at(-1)).toEqual(changed);
    await issue(open({ store: killed }), { names: [name] });
  });

  test('its key is changed in the middle of an order, whose proofs are made anew', async () => {
    const store = memoryStore();
    const issuer = open({ store });
    let issuance: Issuance = await issuer.begin({ names: [`rolled.${testZone}`] });
    while (issuance.status === 'ongoing' && issuance.next !== 'answer') issuance = await issuer.advance(issuance);
    await open({ store }).changeAccountKey();
    expect(await complete(issuer, issuance)).toMatchObject({ status: 'issued' });
    expect(pebble.served.size).toBe(0);
  });

  test('an account that is forgotten while its key is changed is found by either key', async () => {
    const store = memoryStore();
    const url = await open({ store }).accountUrl();
    await open({ store }).changeAccountKey();
    const [changing] = store.written.slice(-2);
    const { url: _, ...forgotten } = changing!;
    expect(await open({ store: memoryStore(forgotten) }).accountUrl()).toBe(url);
    expect(await open({ store: memoryStore({ ...forgotten, key: forgotten.nextKey!, nextKey: forgotten.key }) }).accountUrl()).toBe(url);
  });

  test('where the old one was closed, a new one takes its place', async () => {
    const store = memoryStore();
    const old = await open({ store }).accountUrl();
    const known = store.written.at(-1);
    await open({ store }).deactivateAccount();
    const left = memoryStore(known);
    await issue(open({ store: left }), { names: [name] });
    expect(await open({ store: left }).accountUrl()).not.toBe(old);
  });

  test('an authority for its own customers wants to know which; proven names need no further proof', async () => {
    const strict = await openTestPebble({ dnsServer: knot.server, takesOnlyCustomers: true, env: { PEBBLE_AUTHZREUSE: '100' } });
    try {
      const stranger = open({}, strict);
      const refused = await complete(stranger, await stranger.begin({ names: [name] }));
      expect(faultsOf(refused)[0]).toMatchObject({ cause: 'account' });
      expect(faultsOf(refused)[0]?.sentence).toContain('(EAB)');
      await expect(stranger.accountUrl()).rejects.toThrow('(EAB)');
      const store = memoryStore();
      await issue(open({ store, externalAccount }, strict), { names: [name] });
      await issue(open({ store, externalAccount, solvers: [] }, strict), { names: [name] });
    } finally {
      await strict.close();
    }
  });
});
