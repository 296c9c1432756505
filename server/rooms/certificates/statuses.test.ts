import { sql } from 'kysely';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { readOcspResponse } from '../../drivers/certificates/ocsp/ocsp-response.ts';
import { openTestResponder, type TestResponder } from '../../drivers/certificates/ocsp/test-responder.ts';
import { mustBeStapled, statusAt } from '../../drivers/certificates/x509/extensions.ts';
import { testCertificate, type TestCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import { rooms } from '../../rooms.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type Person, type TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { askStatuses, keepCertificates, tellCertificates, tellWhenOpen } from './reconcilers.ts';
import { shownFor } from './test-client.ts';

const { signal } = new AbortController();
let home: TestPlatform;
let ada: Person;
let running: RunningEdge;
let port: number;
let issuer: TestCertificate;
let responder: TestResponder;

beforeAll(async () => {
  port = await freePort();
  running = await startRunningEdge({ listeners: [{ host: '127.0.0.1', port, scheme: 'https' }] });
  const machine = { ...openMemoryMachine(tmpdir()), edge: running.edge };
  home = await openTestPlatform(rooms, () => Promise.resolve(machine), { OFFSHOOT_ALLOW_PRIVATE_ADDRESSES: '127.0.0.0/8' });
  ada = await home.person();
  await tellWhenOpen.listen(home.platform, signal);
  issuer = await testCertificate('Issuer', { isAuthority: true });
  responder = await openTestResponder(issuer);
  responder.start(60);
});
afterAll(async () => {
  await responder?.close();
  await running?.[Symbol.asyncDispose]();
});

async function pass() {
  for (const reconciler of [keepCertificates, askStatuses, keepCertificates, tellCertificates]) await reconciler.run(home.platform, signal);
}

const shown = (host: string) => shownFor(port, host, [issuer.pem]);
const soon = { timeout: 30_000, interval: 100 };

async function given(host: string, extensions: readonly Buffer[]) {
  const { projectId } = await sampleProject(ada);
  const made = await testCertificate('Given', { by: issuer, names: [host], extensions });
  await ada.send('POST', `/projects/${projectId}/domains`, { name: host });
  await sql`insert into hosts (host, project_id, environment_id) values (${host}, ${projectId}, 'main')`.execute(home.platform.db);
  const added = await ada.send('POST', `/projects/${projectId}/certificates`, {
    certificate: made.pem,
    key: made.keyPem,
    chain: [issuer.pem],
  });
  const { id } = added.json._embedded.entity;
  return {
    id,
    pem: made.pem,
    askNow: () => sql`update certificates set ask_status_at = now() where id = ${id}`.execute(home.platform.db),
    certificate: () => ada.send('GET', `/projects/${projectId}/certificates/${id}`).then(({ json }) => json),
    domain: () => ada.send('GET', `/projects/${projectId}/domains/${host}`).then(({ json }) => json),
  };
}

test('the answer of the issuer is sent along with a certificate, renewed at half of its life, and dropped at its end', async () => {
  const host = 'www.stapled.example';
  const { id, pem, askNow, certificate } = await given(host, [statusAt(responder.url)]);
  responder.says([{ certificate: pem }]);
  await expect
    .poll(async () => {
      await askNow();
      await pass();
      return (await shown(host)).stapled;
    }, soon)
    .not.toBeNull();
  const { stapled, isTrusted } = await shown(host);
  expect(isTrusted).toBe(true);
  const questioned = { certificate: new X509Certificate(pem), issuer: new X509Certificate(issuer.pem), now: new Date() };
  expect(readOcspResponse(stapled ?? Buffer.alloc(0), questioned)).toMatchObject({ revoked: undefined });
  const { rows } = await sql<{ minutes: number }>`
    select extract(epoch from ask_status_at - now())::float8 / 60 as minutes from certificates where id = ${id}`.execute(home.platform.db);
  expect(Math.round(rows[0]?.minutes ?? 0)).toBeOneOf([29, 30]);
  expect(await certificate()).not.toHaveProperty('trouble');

  await responder.stop();
  await askNow();
  await pass();
  expect((await shown(host)).stapled).toEqual(stapled);
  await sql`update certificates set stapled_until = now() where id = ${id}`.execute(home.platform.db);
  await pass();
  expect((await shown(host)).stapled).toBeNull();
  responder.start(60);
});

test('a certificate that its issuer has revoked is told of on it and on the domain, and is preferred to nothing else', async () => {
  const host = 'www.revoked.example';
  const { pem, askNow, certificate, domain } = await given(host, [statusAt(responder.url)]);
  responder.says([{ certificate: pem, revoked: 'keyCompromise' }]);
  await expect
    .poll(async () => {
      await askNow();
      await pass();
      return (await certificate()).trouble;
    }, soon)
    .toContain('was revoked by its issuer on 2026-11-01 (its key is known to others)');
  expect((await domain()).ssl.trouble).toContain('was revoked by its issuer');
  expect((await shown(host)).stapled).toBeNull();
  responder.says([{ certificate: pem }]);
  await expect
    .poll(async () => {
      await askNow();
      await pass();
      return certificate();
    }, soon)
    .not.toHaveProperty('trouble');
});

test('one that clients refuse without the answer says so as long as there is none', async () => {
  const host = 'www.must.example';
  const { domain, certificate } = await given(host, [statusAt('http://192.168.7.7:1/'), mustBeStapled]);
  await pass();
  expect((await certificate()).trouble).toMatch(/must staple.*192\.168\.7\.7 is not a public address/);
  expect((await domain()).ssl.trouble).toContain('must staple');
  const silent = await given('www.silent.example', [mustBeStapled]);
  await pass();
  expect((await silent.certificate()).trouble).toContain('does not say where to ask');
});
