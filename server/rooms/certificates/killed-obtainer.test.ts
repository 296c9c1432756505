import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AcmeAccount } from '../../drivers/certificates/acme/account.ts';
import type { AcmeIssuer } from '../../drivers/certificates/acme/acme.ts';
import { openGoBetween, type GoBetween, type Heard } from '../../drivers/certificates/test-go-between.ts';
import { testZone } from '../../drivers/certificates/test-knot.ts';
import { canBringPrograms, whyNoPrograms } from '../../drivers/certificates/test-programs.ts';
import { openSecrets } from '../../kernel/secrets.ts';
import { sampleProject } from '../../testing/samples.ts';
import { openIssuers } from './issuers.ts';
import { shownFor } from './test-client.ts';
import { loadObtainer, type AskedOfObtainer } from './test-obtainer.ts';
import { openPublicAuthority, type PublicAuthority } from './test-public-authority.ts';

let authority: PublicAuthority | undefined;
let between: GoBetween | undefined;
const heard: Heard[] = [];
/** Decides which answers nobody hears. */
let isLost: (one: Heard) => boolean = () => false;
/** Of what is sealed in the database, for processes that share it. */
const key = randomBytes(32);
const trusts = join(tmpdir(), `offshoot-test-${randomBytes(8).toString('hex')}.pem`);

beforeAll(async () => {
  if (!canBringPrograms) return;
  authority = await openPublicAuthority();
  authority.home.platform.secrets = openSecrets([key]);
  // Nobody opens any more what was sealed before.
  await authority.home.platform.db.deleteFrom('authorities').execute();
  between = await openGoBetween(authority.pebble, (one) => {
    heard.push(one);
    // A nonce that Pebble does not like is no answer to what was asked.
    return one.status >= 400 || !isLost(one);
  });
  writeFileSync(trusts, between.root);
  setDefaultCACertificates([...getCACertificates('default'), between.root]);
});
afterEach(() => {
  isLost = () => false;
});
afterAll(async () => {
  between?.close();
  await authority?.close();
  rmSync(trusts, { force: true });
});

/** What Pebble is asked for on the way to a certificate, each by the first part of its path. */
const kinds = ['dir', 'nonce-plz', 'sign-me-up', 'order-plz', 'my-order', 'authZ', 'chalZ', 'finalize-order', 'certZ'];
const killsMax = 20;
/** A dozen processes are started, each of which loads half of the platform. */
const timeout = 300_000;

describe.runIf(canBringPrograms)(`processes that are killed while they have a certificate${whyNoPrograms}`, () => {
  test(
    'when the authority has done what it was asked for and nobody heard the answer, another process goes on: one account, one key, one certificate',
    { timeout },
    async () => {
      const { home, running, securePort, root } = authority as PublicAuthority;
      const host = `www.murdered.${testZone}`;
      const { projectId } = await sampleProject(await home.person());
      const { db, config } = home.platform;
      await sql`insert into hosts (host, project_id, environment_id) values (${host}, ${projectId}, 'main')`.execute(db);
      const asked: AskedOfObtainer = {
        databaseUrl: home.databaseUrl,
        key: key.toString('hex'),
        edge: running.options,
        settings: {
          OFFSHOOT_DATA: config.data,
          OFFSHOOT_ACME_DIRECTORY: between?.directoryUrl ?? '',
          OFFSHOOT_ACME_EMAIL: 'a@example.org',
        },
      };
      const isHad = async () => (await db.selectFrom('certificates').select('id').where('project_id', '=', projectId).execute()).length > 0;

      /** Answers that nobody heard, by the kind of what was asked. */
      const lost = new Set<string>();
      let killNow: () => void = () => {};
      isLost = ({ kind }) => {
        if (lost.has(kind)) return false;
        lost.add(kind);
        killNow();
        return true;
      };
      let kills = 0;
      let next = loadObtainer(asked, trusts);
      onTestFinished(async () => void (await next.kill()));
      while (!(await isHad())) {
        expect(kills, `lost so far: ${[...lost].join(', ')}`).toBeLessThan(killsMax);
        const current = next;
        const killed = new Promise<void>((resolve) => (killNow = resolve));
        current.go();
        next = loadObtainer(asked, trusts);
        await Promise.race([killed, until(isHad)]);
        expect(await current.kill()).toBe('SIGKILL');
        kills += 1;
      }

      expect([...lost]).toEqual(expect.arrayContaining(kinds));
      const count = (kind: string, status?: number) =>
        heard.filter((one) => one.kind === kind && (status === undefined ? one.status < 400 : one.status === status)).length;
      expect(count('sign-me-up', 201)).toBe(1);
      // Nobody heard where the first order is, so there had to be another one, and no third.
      expect(count('order-plz', 201)).toBe(2);
      expect(count('finalize-order')).toBe(1);
      expect(new Set(heard.filter(({ kind }) => kind === 'certZ').map(({ path }) => path)).size).toBe(1);

      next.go();
      await expect.poll(() => shownFor(securePort, host, [root]), { timeout: 60_000 }).toMatchObject({ isTrusted: true });
      await next.kill();
      expect(await db.selectFrom('edge_proofs').select('question').execute()).toEqual([]);
      expect(await db.selectFrom('issuances').select('certificate_id').where('project_id', '=', projectId).execute()).toEqual([]);
      expect(count('order-plz', 201)).toBe(2);
      const told = db.selectFrom('activities').select('type').where('project_id', '=', projectId).execute();
      expect(await told).toEqual([{ type: 'environment.certificate.renewal' }]);
    },
  );

  test(
    'an operator who changes the key of the account is killed when the authority has taken it: both keys are kept, and the account is found again',
    { timeout },
    async () => {
      const { home, running } = authority as PublicAuthority;
      const { db, secrets, config } = home.platform;
      const source = { owner: '', issued_by: between?.directoryUrl ?? '' };
      const accountUrl = async () => ((await openIssuers(home.platform, running.edge).of(source)) as AcmeIssuer).accountUrl();
      const stored = async () => {
        const { sealed } = await db.selectFrom('acme_accounts').select('sealed').executeTakeFirstOrThrow();
        return JSON.parse(secrets.open(`acme_accounts  ${source.issued_by}`, sealed)) as AcmeAccount;
      };
      const url = await accountUrl();
      const before = await stored();
      const env = {
        DATABASE_URL: home.databaseUrl,
        OFFSHOOT_SECRET_KEY: key.toString('base64'),
        OFFSHOOT_DATA: config.data,
        OFFSHOOT_ACME_DIRECTORY: source.issued_by,
        NODE_EXTRA_CA_CERTS: trusts,
      };

      const killed = rollOver(env);
      isLost = ({ kind }) => kind === 'rollover-account-key' && killed.child.kill('SIGKILL');
      expect(await killed.ended).toMatchObject({ signal: 'SIGKILL' });
      const halfway = await stored();
      expect(halfway).toMatchObject({ key: before.key, url, nextKey: expect.anything() });
      isLost = () => false;
      expect(await accountUrl()).toBe(url);
      expect((await stored()).key).toEqual(halfway.nextKey);

      expect(await rollOver(env).ended).toEqual({ signal: null, said: `${source.issued_by}  of this installation  has another key\n` });
      const { key: last, nextKey } = await stored();
      expect(nextKey).toBeUndefined();
      expect(last).not.toEqual(halfway.nextKey);
      expect(await accountUrl()).toBe(url);
    },
  );
});

const program = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');

/** The operator's command, as a process of its own. */
function rollOver(env: Record<string, string>) {
  const child = spawn(process.execPath, [program, 'acme', 'rollover'], { stdio: ['ignore', 'pipe', 'pipe'], env });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return { child, ended: once(child, 'close').then(([, signal]: (string | null)[]) => ({ signal, said })) };
}

const lookMilliseconds = 50;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, lookMilliseconds));
}
