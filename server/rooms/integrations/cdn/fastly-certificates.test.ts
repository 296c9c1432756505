import { X509Certificate } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { testCertificate, type TestCertificate } from '../../../drivers/certificates/x509/test-certificates.ts';
import { deliveryKindsOf } from '../../../kernel/room.ts';
import { rooms } from '../../../rooms.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../../testing/platform.ts';
import { keepIssued, setServes } from '../../certificates/work.ts';
import { deliverDue } from '../../deliveries/work.ts';
import { openProject, pausesAreOver } from '../test-receiver.ts';
import { certificateDelivery, putCertificatesOnCdns } from './put-certificates-on-cdns.ts';
import { openTestFastly } from './test-fastly.ts';

const authorityUrl = 'https://acme.example/directory';
let home: TestPlatform;
let owner: Person;
let authority: TestCertificate;

beforeAll(async () => {
  home = await openTestPlatform(undefined, undefined, { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1' });
  owner = await home.person();
  authority = await testCertificate('Test authority', { isAuthority: true });
});

const token = 'fastly-token';
const body = { type: 'cdn.fastly', token, service_id: 'SU1Z0isxPaozGVKXdv0eY', events: ['nothing.that.happens'], tls_certificates: true };

/** A project with a CDN and a domain that a certificate is presented for. */
async function connect(change: object = {}) {
  const { db, secrets } = home.platform;
  const fastly = await openTestFastly(token);
  const { project, projectId, first } = await openProject(owner, { ...body, ...change });
  const hosts = [`www.${projectId}.example`, `shop.${projectId}.example`];
  for (const name of hosts) expect((await owner.send('POST', `${project}/domains`, { name })).status).toBeLessThan(300);
  const kinds = [...deliveryKindsOf(rooms).filter(({ kind }) => kind !== certificateDelivery().kind), certificateDelivery(fastly.origin)];
  const id = `cert${projectId}`;
  return {
    ...fastly,
    first,
    id,
    hosts,
    /** An authority gives a certificate, the first time or in the place of the former one. */
    issue: async ({ issued_by = authorityUrl, serves = hosts } = {}) => {
      const { pem, keyPem } = await testCertificate('Shop', { by: authority, names: hosts });
      const renewal = { renewAt: new Date(Date.now() + 1e9).toISOString(), askAgainAt: new Date(Date.now() + 1e9).toISOString() };
      const keyed = { certificate: pem, chain: [authority.pem], key: keyPem };
      await keepIssued(db, secrets, { id, project_id: projectId, keyed, issued_by, renewal } as unknown as Parameters<
        typeof keepIssued
      >[2]);
      await setServes(db, id, serves);
      return pem;
    },
    look: async () => {
      await putCertificatesOnCdns.run(home.platform, new AbortController().signal);
      await deliverDue(kinds, home.platform);
    },
    // oxlint-disable-next-line typescript/no-explicit-any -- a test reads the JSON it expects
    told: async (): Promise<any[]> => (await owner.send('GET', `${first}/activities`)).json,
  };
}

const serialOf = (pem: string | undefined) => new X509Certificate(pem ?? '').serialNumber;

test('a certificate of the domains is put on the CDN with its key and chain, and each domain is switched to it; once, and again when it is renewed', async () => {
  const { issue, look, hosts, id, keys, certificates, activations, requests, told } = await connect();
  const first = await issue();
  await look();
  const [[remote, put] = ['', undefined]] = certificates;
  expect(put).toMatchObject({ name: `Offshoot ${id}` });
  expect([serialOf(put?.pem), put?.pem.match(/BEGIN CERTIFICATE/g)?.length]).toEqual([serialOf(first), 2]);
  expect(hosts.map((host) => activations.get(host)?.certificate)).toEqual([remote, remote]);
  const asked = requests.length;
  await look();
  expect(requests).toHaveLength(asked);
  const second = await issue();
  await look();
  expect([...certificates.keys()]).toEqual([remote]);
  expect(serialOf(certificates.get(remote)?.pem)).toBe(serialOf(second));
  // The key of the former certificate is gone with it.
  expect(keys.size).toBe(1);
  const [delivery] = await told();
  expect(delivery).toMatchObject({
    type: 'integration.cdn.fastly',
    result: 'success',
    payload: { certificate: id, hosts: hosts.toSorted() },
  });
});

test('whatever Fastly does not answer, the certificate is there in the end, once', async () => {
  const { issue, look, hosts, state, keys, certificates, activations } = await connect();
  await issue();
  // Each attempt gets one request further than the one before; each second time Fastly does what it is asked for, and does not say so.
  for (let answered = 0; answered < 14; answered += 1) {
    state.away.length = 0;
    state.away.push(...Array<undefined>(answered), answered % 2 === 0 ? 'after' : 'before');
    await pausesAreOver(home);
    await look();
  }
  state.away.length = 0;
  await pausesAreOver(home);
  await look();
  expect([keys.size, certificates.size, hosts.map((host) => activations.has(host))]).toEqual([1, 1, [true, true]]);
});

test('a token that is refused is told, and with another one the certificate is put there', async () => {
  const { issue, look, first, id, certificates, told } = await connect({ token: 'wrong-token' });
  await issue();
  await look();
  await look();
  const failed = await told();
  expect(failed).toMatchObject([{ state: 'complete', result: 'failure' }]);
  const { text } = await owner.send('GET', `${first}/activities/${failed[0].id}`);
  expect(text).toContain('HTTP 401');
  expect(text).not.toMatch(/wrong-token|PRIVATE KEY/);
  // A day later it is tried again, in case that something was put right at the CDN.
  await sql`update cdn_certificates set again_at = again_at - interval '1 day' where certificate_id = ${id}`.execute(home.platform.db);
  await look();
  await look();
  expect(await told()).toHaveLength(2);
  await owner.send('PATCH', first, body);
  await look();
  expect(certificates.size).toBe(1);
});

test('a domain that had another certificate there is switched, which is not touched', async () => {
  const { issue, look, hosts, certificates, activations } = await connect();
  const { pem } = await testCertificate('By hand', { by: authority, names: hosts });
  certificates.set('by-hand', { name: 'made by hand', pem });
  activations.set(hosts[0] ?? '', { id: 'activation-0', certificate: 'by-hand' });
  await issue();
  await look();
  expect(activations.get(hosts[0] ?? '')).toMatchObject({ id: 'activation-0', certificate: expect.stringMatching(/^certificate-/) });
  expect(certificates.get('by-hand')).toEqual({ name: 'made by hand', pem });
});

test.for([
  ['where nobody asked for it', { tls_certificates: false }, {}],
  ['that the installation has signed itself', {}, { issued_by: 'authority 1' }],
  ['that stands for no domain of the project', {}, { serves: ['main.example.org'] }],
] as const)('a certificate %s stays here', async ([, change, issued]) => {
  const { issue, look, requests } = await connect(change);
  await issue(issued as Parameters<typeof issue>[0]);
  await look();
  expect(requests).toEqual([]);
});

test('what was put is forgotten with the integration', async () => {
  const { issue, look, first } = await connect();
  await issue();
  await look();
  await owner.send('DELETE', first);
  const integration = first.split('/').at(-1) ?? '';
  const { rows } = await sql`select from cdn_certificates where integration_id = ${integration}`.execute(home.platform.db);
  expect(rows).toEqual([]);
});
