import { sql } from 'kysely';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../edge/testing/ports.ts';
import { startRunningEdge, type RunningEdge } from '../../../edge/testing/running-edge.ts';
import { rooms } from '../../rooms.ts';
import { openMemoryMachine } from '../../testing/memory-machine.ts';
import { openTestPlatform, type TestPlatform } from '../../testing/platform.ts';
import { openOwnAuthority } from './public.ts';
import { keepCertificates, tellCertificates, tellWhenOpen } from './reconcilers.ts';
import { shownFor } from './test-client.ts';

const { signal } = new AbortController();
let home: TestPlatform;
let running: RunningEdge;
let port: number;

beforeAll(async () => {
  port = await freePort();
  running = await startRunningEdge({ listeners: [{ host: '127.0.0.1', port, scheme: 'https' }] });
  const machine = { ...openMemoryMachine(tmpdir()), edge: running.edge };
  home = await openTestPlatform(rooms, () => Promise.resolve(machine));
  await tellWhenOpen.listen(home.platform, signal);
});
afterAll(() => running[Symbol.asyncDispose]());

async function settle() {
  await keepCertificates.run(home.platform, signal);
  await tellCertificates.run(home.platform, signal);
}

const shown = (host: string | undefined) => shownFor(port, host, [home.platform.authority.certificate]);

describe('the certificate of the platform', () => {
  test.for(['offshoot.localhost', 'main-abc.offshoot.localhost', 'localhost'])('whoever trusts the authority trusts %s', async (host) => {
    await settle();
    expect(await shown(host)).toMatchObject({ isTrusted: true });
  });

  test('it is shown to whoever asks for a name that nobody has, and for none', async () => {
    await settle();
    const { certificate } = await shown('localhost');
    expect((await shown('www.example.org')).certificate.fingerprint256).toBe(certificate.fingerprint256);
    expect((await shown(undefined)).certificate.fingerprint256).toBe(certificate.fingerprint256);
  });

  test('an edge that has lost it is told again, and what the edge should not have is taken from it', async () => {
    await settle();
    const { certificate } = await shown('localhost');
    await running.edge.removeCertificate('platform');
    const { certificate: pem, chain, key } = await foreign();
    await running.edge.putCertificate({
      id: 'leftover',
      version: 1,
      names: ['left.example.org'],
      certificate: pem,
      chain: [...chain],
      key,
    });
    await settle();
    expect((await shown('localhost')).certificate.fingerprint256).toBe(certificate.fingerprint256);
    expect(Object.keys(await running.edge.certificates())).toEqual(['platform']);
  });

  test('a database that came back from a backup has the last word', async () => {
    await settle();
    await sql`update certificates set version = 1 where id = 'platform'`.execute(home.platform.db);
    await settle();
    expect(await running.edge.certificates()).toEqual({ platform: 1 });
  });

  test('it is signed anew after two thirds of its life, and only then', async () => {
    await settle();
    const { certificate } = await shown('localhost');
    const { rows } = await sql<{ renew_at: string }>`select renew_at from certificates where id = 'platform'`.execute(home.platform.db);
    const [from, to, at] = [certificate.validFrom, certificate.validTo, rows[0]?.renew_at ?? ''].map((time) => Date.parse(time));
    expect(((at ?? 0) - (from ?? 0)) / ((to ?? 0) - (from ?? 0))).toBeCloseTo(2 / 3, 1);
    await settle();
    expect((await shown('localhost')).certificate.fingerprint256).toBe(certificate.fingerprint256);
    await sql`update certificates set renew_at = now() - interval '1 minute' where id = 'platform'`.execute(home.platform.db);
    await settle();
    const renewed = await shown('localhost');
    expect(renewed.certificate.fingerprint256).not.toBe(certificate.fingerprint256);
    expect(renewed.isTrusted).toBe(true);
  });

  test('its key lies in the database sealed', async () => {
    await settle();
    const { rows } = await sql<{ row: string }>`
      select row_to_json(certificates)::text as row from certificates union all select row_to_json(authorities)::text from authorities`.execute(
      home.platform.db,
    );
    expect(rows.length).toBeGreaterThan(1);
    for (const { row } of rows) expect(row).not.toMatch(/PRIVATE KEY/);
  });
});

/** A certificate of our own authority that no row knows. */
async function foreign() {
  const { issuer } = home.platform.authority;
  const issuance = await issuer.advance(await issuer.begin({ names: ['left.offshoot.localhost'] }));
  if (issuance.status !== 'issued') throw new Error('The authority signed nothing');
  return issuance.issued;
}

describe('the authority of the installation', () => {
  const opened = (changes: Partial<TestPlatform['platform']['config']> = {}) =>
    openOwnAuthority({ ...home.platform, config: { ...home.platform.config, ...changes } });

  test('it is the same after each start, and for processes that start together', async () => {
    const url = 'https://together.example.org';
    const [one, ...others] = await Promise.all([opened({ url }), opened({ url }), opened({ url })]);
    expect(new Set(others.map(({ certificate }) => certificate))).toEqual(new Set([one.certificate]));
    expect((await opened()).certificate).toBe(home.platform.authority.certificate);
  });

  test('it may sign for the names of the installation and no others', () => {
    const { authority } = home.platform;
    expect(['offshoot.localhost', '*.x.offshoot.localhost', 'localhost', '127.0.0.1'].every((name) => authority.mayIssue(name))).toBe(true);
    expect(['example.org', 'notlocalhost', '192.0.2.1'].some((name) => authority.mayIssue(name))).toBe(false);
    expect(new X509Certificate(authority.certificate).ca).toBe(true);
  });

  test('settings that name other hosts get another one, which the log tells of; changed back, the one that people trust is found again', async () => {
    const moved = await opened({ domain: 'apps.example.org' });
    expect(moved.certificate).not.toBe(home.platform.authority.certificate);
    expect(moved.mayIssue('main-abc.apps.example.org')).toBe(true);
    expect(home.logLines.join()).toContain('has to be trusted anew');
    expect((await opened({ domain: 'apps.example.org' })).certificate).toBe(moved.certificate);
    expect((await opened()).certificate).toBe(home.platform.authority.certificate);
  });

  test('one that ends within a year gives way in time', async () => {
    const url = 'https://old.example.org';
    const { id, certificate } = await opened({ url });
    await sql`update authorities set expires_at = now() + interval '11 months' where id = ${id}`.execute(home.platform.db);
    expect((await opened({ url })).certificate).not.toBe(certificate);
  });
});
