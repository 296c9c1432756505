import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { RunningEdge } from '../../../edge/testing/running-edge.ts';
import type { AcmeIssuer } from '../../drivers/certificates/acme/acme.ts';
import type { Issuance, Issuer } from '../../drivers/certificates/certificates.ts';
import { testZone, type TestKnot } from '../../drivers/certificates/test-knot.ts';
import { blockedName, type TestPebble } from '../../drivers/certificates/test-pebble.ts';
import { canBringPrograms, whyNoPrograms } from '../../drivers/certificates/test-programs.ts';
import { testCertificate } from '../../drivers/certificates/x509/test-certificates.ts';
import { activityRow, workThrough } from '../../testing/activities.ts';
import type { Person, TestPlatform } from '../../testing/platform.ts';
import { sampleProject } from '../../testing/samples.ts';
import { allIssuances, type StoredIssuance } from './issuances.ts';
import { openIssuers } from './issuers.ts';
import { goOn, planIssuances, sourcesOf } from './obtain-certificates.ts';
import { openOwnAuthority } from './own-authority.ts';
import { keepCertificates, obtainCertificates, tellCertificates } from './reconcilers.ts';
import { shownFor } from './test-client.ts';
import { openPublicAuthority, type PublicAuthority } from './test-public-authority.ts';
import { sourceOf } from './wanted-certificates.ts';

const { signal } = new AbortController();
let authority: PublicAuthority | undefined;
let home: TestPlatform;
let ada: Person;
let running: RunningEdge;
let knot: TestKnot;
let pebble: TestPebble;
let securePort: number;
let root: string;

beforeAll(async () => {
  if (!canBringPrograms) return;
  authority = await openPublicAuthority();
  ({ home, running, knot, pebble, securePort, root } = authority);
  ada = await home.person();
});
afterAll(() => authority?.close());

/** Names of one zone belong to one project at a time. */
afterEach(async () => {
  if (home) await home.platform.db.deleteFrom('hosts').execute();
});

async function pass() {
  for (const reconciler of [keepCertificates, obtainCertificates, keepCertificates, tellCertificates])
    await reconciler.run(home.platform, signal);
}

const soon = { timeout: 30_000, interval: 100 };

async function projectAt(...hosts: string[]) {
  const { projectId } = await sampleProject(ada);
  for (const host of hosts)
    await sql`insert into hosts (host, project_id, environment_id) values (${host}, ${projectId}, 'main')`.execute(home.platform.db);
  return { projectId, certificates: () => ada.send('GET', `/projects/${projectId}/certificates`).then(({ json }) => json) };
}

const shown = (host: string) => shownFor(securePort, host, [root]);

/** Until a client that trusts the authority is shown a certificate for the host. */
async function served(host: string) {
  await expect
    .poll(async () => {
      await pass();
      return shown(host);
    }, soon)
    .toMatchObject({ isTrusted: true });
  return (await shown(host)).certificate;
}

const proofsLeft = async () => (await home.platform.db.selectFrom('edge_proofs').select('question').execute()).length;
const issuancesOf = async (projectId: string) =>
  (await allIssuances(home.platform.db)).filter(({ project_id }) => project_id === projectId);

describe.runIf(canBringPrograms)(`certificates that come by themselves${whyNoPrograms}`, () => {
  test('a host is served with one that a public authority gave, which looked at the edge for the proof', async () => {
    const host = `www.first.${testZone}`;
    const { projectId, certificates } = await projectAt(host);
    const { fingerprint256 } = await served(host);
    const [one, ...others] = await certificates();
    expect(others).toEqual([]);
    expect(one).toMatchObject({
      is_provisioned: true,
      domains: [host],
      issuer: [{ alias: 'commonName', value: expect.stringMatching(/pebble/i) }],
    });
    expect(one._links).not.toHaveProperty('#delete');
    expect((await ada.send('DELETE', `/projects/${projectId}/certificates/${one.id}`)).status).toBe(403);
    expect(await proofsLeft()).toBe(0);
    await pass();
    expect((await shown(host)).certificate.fingerprint256).toBe(fingerprint256);
  });

  test('the authority says when it is renewed; one that it revokes is replaced at once, in its place', async () => {
    const host = `www.renewed.${testZone}`;
    const { projectId, certificates } = await projectAt(host);
    const first = await served(host);
    const [before] = await certificates();
    const { rows } = await sql<{ renew_at: string; issued_by: string; certificate: string }>`
      select renew_at, issued_by, certificate from certificates where id = ${before.id}`.execute(home.platform.db);
    expect(Date.parse(rows[0]?.renew_at ?? '')).toBeLessThan(Date.parse(before.expires_at));
    const issuers = openIssuers(home.platform, running.edge);
    const issuer = (await issuers.of({ owner: '', issued_by: pebble.directoryUrl })) as AcmeIssuer;
    await issuer.revoke(rows[0]?.certificate ?? '', 'superseded');
    await pass();
    expect((await shown(host)).certificate.fingerprint256).toBe(first.fingerprint256);
    await sql`update certificates set ask_again_at = now() where id = ${before.id}`.execute(home.platform.db);
    await expect
      .poll(async () => {
        await pass();
        return (await shown(host)).certificate.fingerprint256;
      }, soon)
      .not.toBe(first.fingerprint256);
    const [after, ...others] = await certificates();
    expect([after.id, others]).toEqual([before.id, []]);
    expect((await shown(host)).isTrusted).toBe(true);
    const feed = (await ada.send('GET', `/projects/${projectId}/environments/main/activities?type=environment.certificate.renewal`)).json;
    expect(feed.map(({ text }: { text: string }) => text)).toEqual([
      `Offshoot Bot renewed the certificate for **${host}** of Main`,
      `Offshoot Bot obtained the certificate for **${host}** of Main`,
    ]);
    expect(feed[0].payload).toMatchObject({
      user: { id: 'admin' },
      environment: { id: 'main' },
      certificate: { id: after.id, domains: [host], expires_at: after.expires_at },
    });
    await workThrough(home.platform);
    expect(await activityRow(home.platform, feed[0].id)).toMatchObject({ state: 'complete', result: 'success' });
  });

  test('whoever is killed at any step, before or after it was written down, is followed by one that goes on', async () => {
    const host = `www.killed.${testZone}`;
    const { projectId } = await projectAt(host);
    await planIssuances(home.platform);
    const names: [string] = [host];
    const opened = async (): Promise<Issuer> =>
      openIssuers(home.platform, running.edge).of(sourceOf(await sourcesOf(home.platform), projectId, names));
    const steps = new Set<string>();
    await expect
      .poll(async () => {
        const [stored] = await issuancesOf(projectId);
        if (stored) await oneStepAndKilled(await opened(), stored, steps);
        return (await issuancesOf(projectId)).length;
      }, soon)
      .toBe(0);
    expect([...steps]).toEqual(expect.arrayContaining(['order', 'choose', 'serve', 'answer', 'look', 'withdraw', 'finalize', 'download']));
    expect((await served(host)).subjectAltName).toBe(`DNS:${host}`);
    expect(await proofsLeft()).toBe(0);
    const { rows } = await sql`
      select from activities where project_id = ${projectId} and type = 'environment.certificate.renewal'`.execute(home.platform.db);
    expect(rows).toHaveLength(1);
  });

  test('one that is refused says on the domain which name and why, and is not asked for again at once', async () => {
    const { projectId } = await projectAt();
    await ada.send('POST', `/projects/${projectId}/domains`, { name: blockedName });
    await sql`insert into hosts (host, project_id, environment_id) values (${blockedName}, ${projectId}, 'main')`.execute(home.platform.db);
    await expect
      .poll(async () => {
        await pass();
        return (await ada.send('GET', `/projects/${projectId}/domains/${blockedName}`)).json.ssl;
      }, soon)
      .toEqual({ has_certificate: false, trouble: expect.stringContaining(blockedName) });
    const [stored] = await issuancesOf(projectId);
    expect(Date.parse(stored?.not_before ?? '')).toBeGreaterThan(Date.now() + 300_000);
    const { refusals } = stored ?? {};
    await pass();
    expect((await issuancesOf(projectId))[0]?.refusals).toBe(refusals);
  });

  test('one that people gave is preferred, until it nears its end: then owners are told, and an automatic one takes its place', async () => {
    const host = `www.given.${testZone}`;
    const { projectId, certificates } = await projectAt(host);
    const { pem, keyPem } = await testCertificate('Given', { names: [host], days: { from: -20, to: 15 } });
    await ada.send('POST', `/projects/${projectId}/certificates`, { certificate: pem, key: keyPem });
    await pass();
    expect((await shown(host)).certificate.subject).toContain('Given');
    const told = (await home.mail(ada.user.email)).filter(({ text }) => text.includes(host));
    expect(told).toHaveLength(1);
    await pass();
    expect((await home.mail(ada.user.email)).filter(({ text }) => text.includes(host))).toHaveLength(1);
    await sql`update certificates set expires_at = now() + interval '6 days' where project_id = ${projectId}`.execute(home.platform.db);
    await served(host);
    expect(await certificates()).toMatchObject([{ is_provisioned: false }, { is_provisioned: true }]);
  });

  test('the profile of the settings is asked for; one that the authority does not have is told of on the domain', async () => {
    const { acme } = home.platform.config;
    const host = `www.short.${testZone}`;
    try {
      Object.assign(acme ?? {}, { profile: 'short' });
      const { projectId } = await projectAt(host);
      expect(Date.parse((await served(host)).validTo)).toBeLessThan(Date.now() + 7 * 86_400_000);
      Object.assign(acme ?? {}, { profile: 'eternal' });
      const other = `eternal.${testZone}`;
      await sql`insert into hosts (host, project_id, environment_id) values (${other}, ${projectId}, 'main')`.execute(home.platform.db);
      await expect
        .poll(async () => {
          await pass();
          return (await issuancesOf(projectId))[0]?.trouble;
        }, soon)
        .toBe('The authority has no profile eternal; it has default, short.');
    } finally {
      Object.assign(acme ?? {}, { profile: undefined });
    }
  });

  test('what nobody asks for any more is not had', async () => {
    const host = `www.gone.${testZone}`;
    const { projectId } = await projectAt(host);
    await planIssuances(home.platform);
    expect(await issuancesOf(projectId)).toHaveLength(1);
    await sql`delete from hosts where host = ${host}`.execute(home.platform.db);
    await pass();
    expect(await issuancesOf(projectId)).toEqual([]);
  });

  test('two processes that plan at the same time plan each certificate once', async () => {
    const { projectId } = await projectAt(`www.twice.${testZone}`);
    await Promise.all([planIssuances(home.platform), planIssuances(home.platform), planIssuances(home.platform)]);
    expect(await issuancesOf(projectId)).toHaveLength(1);
  });

  test('where DNS can be changed, all environments share a wildcard', async () => {
    const { config, authority: own } = home.platform;
    const { domain } = config;
    const [server, port] = ['127.0.0.1', knot.port];
    config.domain = `apps.${testZone}`;
    const dns = { kind: 'rfc2136' as const, host: server, port, key: knot.key, domains: [testZone] as [string], servers: [knot.server] };
    home.platform.authority = await openOwnAuthority(home.platform);
    if (config.acme) config.acme.dns = dns;
    try {
      const { certificates } = await projectAt(`main-abc.apps.${testZone}`);
      const { fingerprint256 } = await served(`main-abc.apps.${testZone}`);
      expect((await served(`other-def.apps.${testZone}`)).fingerprint256).toBe(fingerprint256);
      expect(await certificates()).toEqual([]);
      expect(await knot.textsOf(`_acme-challenge.apps.${testZone}`)).toEqual([]);
    } finally {
      config.domain = domain;
      home.platform.authority = own;
      if (config.acme) config.acme.dns = undefined;
    }
  });
});

class Killed extends Error {}

/** Takes one step and is killed before it is written down; the next one takes it again and is killed after that. */
async function oneStepAndKilled(issuer: Issuer, stored: StoredIssuance, steps: Set<string>): Promise<void> {
  let taken = 0;
  const killing: Issuer = {
    ...issuer,
    advance: async (issuance): Promise<Issuance> => {
      if (taken > 0) throw new Killed();
      taken += 1;
      steps.add(issuance.next);
      await issuer.advance(issuance);
      return issuer.advance(issuance);
    },
  };
  await goOn(home.platform, killing, stored).catch((error: unknown) => {
    if (!(error instanceof Killed)) throw error;
  });
}
