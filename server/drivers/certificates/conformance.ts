/** What every issuer must do, by example. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CertificateRequest, Issuance, Issuer, KeyedCertificate, OngoingIssuance } from './certificates.ts';
import { readCertificate } from './x509/read-certificate.ts';
import { setTimeout as pause } from 'node:timers/promises';

export interface IssuerWorld {
  /** Opens the issuer on the same data, as another process would. */
  open(): Issuer;
  /** The domain below which it issues certificates. */
  domain: string;
  /** A name for which it issues none. */
  foreignName: string;
  /** Clients that trust these roots, as PEM, trust what it issues. */
  roots(): Promise<readonly string[]>;
  /** Whether all proofs that were put up are taken down again. */
  isTidy(): boolean;
  close(): Promise<void>;
}

/** The value as another process would read it after it was stored. */
const stored = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T;

export async function waited(issuance: OngoingIssuance): Promise<OngoingIssuance> {
  await pause(Math.max(0, Date.parse(issuance.notBefore ?? '') - Date.now() || 0));
  return issuance;
}

export async function complete(issuer: Issuer, issuance: Issuance): Promise<Exclude<Issuance, OngoingIssuance>> {
  let current = issuance;
  while (current.status === 'ongoing') current = await issuer.advance(await waited(current));
  return current;
}

export async function issue(issuer: Issuer, request: CertificateRequest): Promise<KeyedCertificate> {
  return issuedBy(await complete(issuer, await issuer.begin(request)));
}

function issuedBy(end: Issuance): KeyedCertificate {
  if (end.status === 'issued') return end.issued;
  throw new Error(end.status === 'refused' ? end.faults.map(({ sentence }) => sentence).join('\n') : 'still under way');
}

export function issuerConformance(kind: string, openWorld: () => Promise<IssuerWorld>, runs = true) {
  describe.runIf(runs)(`an issuer: ${kind}`, () => {
    let world: IssuerWorld;
    beforeAll(async () => {
      world = await openWorld();
    });
    afterAll(() => world?.close());

    test('issues a certificate for all names, with its key and a chain to a root that clients know', async () => {
      const names = [`www.${world.domain}`, `api.${world.domain}`] as const;
      const keyed = await issue(world.open(), { names: [...names] as [string, ...string[]] });
      const read = readCertificate(keyed, { authorities: await world.roots() });
      expect(read).toMatchObject({
        isGood: true,
        facts: { names: expect.arrayContaining([...names]) as unknown, keyType: { algorithm: 'ecdsa', curve: 'P-256' } },
      });
      expect(world.isTidy()).toBe(true);
    });

    test('issues certificates with RSA keys too', async () => {
      const keyed = await issue(world.open(), { names: [`rsa.${world.domain}`], keyType: 'rsa' });
      expect(createPrivateKey(keyed.key)).toMatchObject({ asymmetricKeyType: 'rsa' });
    });

    test('whoever is killed at any step goes on from what was stored, also where the step was done and not stored', async () => {
      let current: Issuance = await world.open().begin({ names: [`killed.${world.domain}`] });
      const key = (current.data as { key: string }).key;
      const steps: string[] = [];
      while (current.status === 'ongoing') {
        steps.push(current.next);
        const before: OngoingIssuance = stored(await waited(current));
        await world.open().advance(before);
        current = await world.open().advance(before);
      }
      expect(steps.length).toBeGreaterThan(0);
      const { certificate } = issuedBy(current);
      expect(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))).toBe(true);
      expect(world.isTidy()).toBe(true);
    });

    test('a name that it does not issue for is refused, with the name and what to do', async () => {
      const issuer = world.open();
      const end = await complete(issuer, await issuer.begin({ names: [`good.${world.domain}`, world.foreignName] }));
      expect(end).toMatchObject({ status: 'refused' });
      if (end.status !== 'refused') return;
      expect(end.faults.map(({ name }) => name)).toEqual([world.foreignName]);
      expect(end.faults[0].sentence).toContain(world.foreignName);
      expect(world.isTidy()).toBe(true);
    });

    test('one that is given up leaves nothing behind', async () => {
      const issuer = world.open();
      let current: Issuance = await issuer.begin({ names: [`given-up.${world.domain}`] });
      for (let n = 0; n < 3 && current.status === 'ongoing'; n += 1) {
        const before = current;
        current = await issuer.advance(await waited(current));
        await issuer.abandon(before);
      }
      if (current.status === 'ongoing') await issuer.abandon(current);
      expect(world.isTidy()).toBe(true);
    });

    test('says when a certificate is to be replaced: always the same moment, before it expires', async () => {
      const issuer = world.open();
      const { certificate } = await issue(issuer, { names: [`renewed.${world.domain}`] });
      const [first, second] = [await issuer.renewal(certificate), await world.open().renewal(certificate)];
      expect(first.renewAt).toBe(second.renewAt);
      const { validFromDate, validToDate } = new X509Certificate(certificate);
      expect(Date.parse(first.renewAt)).toBeGreaterThan(validFromDate.getTime());
      expect(Date.parse(first.renewAt)).toBeLessThan(validToDate.getTime());
      expect(Date.parse(first.askAgainAt)).toBeGreaterThan(Date.now());
    });
  });
}
