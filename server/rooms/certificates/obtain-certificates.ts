/**
 * Certificates that come by themselves: planned from what is wanted, then had step by step. What is under way is written down after each step, so a process that
 * is killed at any moment is followed by one that goes on.
 */
import { sql } from 'kysely';
import type { Issuance, Issuer, OngoingIssuance, RefusedIssuance } from '../../drivers/certificates/certificates.ts';
import { shortId } from '../../kernel/id.ts';
import { forEachAtMost } from '../../kernel/limits.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import {
  allIssuances,
  deleteIssuance,
  dueIssuances,
  insertIssuance,
  ongoingOf,
  setWanted,
  storeOngoing,
  storeRefused,
  type StoredIssuance,
} from './issuances.ts';
import type { Issuers } from './issuers.ts';
import { issuedByAuthority } from './platform-certificate.ts';
import { chosenDirectories, projectsWithoutAutomatic } from './provisioners.ts';
import { certificatePem, claimedHosts, keepIssued, knownCertificates, renewalsToAsk, setRenewal } from './queries.ts';
import { tellOfRenewal } from './renewals.ts';
import { keyOf, sourceOf, wantedCertificates, type Sources, type Wanted } from './wanted-certificates.ts';

export async function sourcesOf(platform: Platform): Promise<Sources> {
  const { config, db } = platform;
  return {
    config,
    authority: issuedByAuthority(platform),
    directories: await chosenDirectories(db),
    withoutAutomatic: await projectsWithoutAutomatic(db),
  };
}

/** Writes down what has to be had, and strikes what nobody wants any more. Answers whether anything is new. */
export async function planIssuances(platform: Platform): Promise<boolean> {
  const sources = await sourcesOf(platform);
  return platform.db.transaction().execute(async (tx) => {
    await lockPlan(tx);
    // Before certificates are looked at: what is under way may become one at any moment, and is then seen twice rather than not at all.
    const planned = await allIssuances(tx);
    const wanted = wantedCertificates(await claimedHosts(tx), await knownCertificates(tx), sources, new Date());
    const byKey = new Map(wanted.map((each) => [planKey(each), each]));
    const idsOf = (some: readonly StoredIssuance[]) => some.map(({ certificate_id }) => certificate_id);
    await setWanted(tx, idsOf(planned.filter((each) => !byKey.has(planKey(each)))), false);
    await setWanted(tx, idsOf(planned.filter((each) => byKey.has(planKey(each)))), true);
    for (const each of planned) byKey.delete(planKey(each));
    for (const fresh of byKey.values()) await insertIssuance(tx, fresh.replaces ?? shortId(), fresh);
    return byKey.size > 0;
  });
}

/** Two that plan at the same time, as at a start, would have the same certificate twice. */
const lockPlan = (tx: Tx) => sql`select pg_advisory_xact_lock(hashtextextended('issuances', 0))`.execute(tx);

const planKey = (each: Wanted | StoredIssuance) => `${each.issued_by} ${keyOf(each)}`;

const atOnceMax = 4;

/** Takes every step that is due now. Answers whether a certificate has come, or what stood in the way of another is gone. */
export async function obtainDue(platform: Platform, issuers: Issuers, signal?: AbortSignal): Promise<boolean> {
  const due = await dueIssuances(platform.db);
  if (due.length === 0) return false;
  const sources = await sourcesOf(platform);
  let ended = 0;
  const work = async (one: StoredIssuance) => {
    const { owner } = sourceOf(sources, one.project_id, one.names);
    const issuer = await issuers.of({ owner, issued_by: one.issued_by });
    if (await handled(platform, issuer, one, signal)) ended += 1;
  };
  // The first one alone: an account at the authority is made with it, which the others share.
  await forEachAtMost(1, due.slice(0, 1), work, signal);
  await forEachAtMost(atOnceMax, due.slice(1), work, signal);
  return ended > 0;
}

/** One that fails as nobody expected is begun anew later, and is not in the way of the others. Answers whether it has ended. */
async function handled(platform: Platform, issuer: Issuer, one: StoredIssuance, signal?: AbortSignal): Promise<boolean> {
  const { db, log } = platform;
  try {
    if (one.is_wanted) return (await goOn(platform, issuer, one, signal)) === 'issued';
    await giveUp(platform, issuer, one, signal);
    return true;
  } catch (error) {
    signal?.throwIfAborted();
    log.error({ certificate: one.certificate_id, error }, 'a certificate could not be asked for; trying again later');
    await storeRefused(db, one.certificate_id, 'The platform failed to ask for the certificate; it tries again later.', pauseSeconds.first);
    return false;
  }
}

/** Takes down what was put up for the authority to see. */
async function giveUp({ db, secrets }: Platform, issuer: Issuer, stored: StoredIssuance, signal?: AbortSignal): Promise<void> {
  const ongoing = ongoingOf(secrets, stored);
  if (ongoing) await issuer.abandon(ongoing, signal);
  await deleteIssuance(db, stored.certificate_id);
}

/** Goes on for as long as there is nothing to wait for. */
export async function goOn(platform: Platform, issuer: Issuer, stored: StoredIssuance, signal?: AbortSignal): Promise<Issuance['status']> {
  const { db, secrets } = platform;
  const { certificate_id } = stored;
  let current: Issuance = ongoingOf(secrets, stored) ?? (await begin(platform, issuer, stored));
  while (current.status === 'ongoing') {
    // Nobody wants it any more: the next look takes down what was put up.
    if (!(await storeOngoing(db, secrets, certificate_id, current))) return 'ongoing';
    if (current.notBefore !== undefined && Date.parse(current.notBefore) > Date.now()) return 'ongoing';
    signal?.throwIfAborted();
    current = await issuer.advance(current, signal);
  }
  if (current.status === 'refused') await refuse(platform, stored, current);
  else await accept(platform, issuer, stored, current.issued, signal);
  return current.status;
}

async function begin({ db }: Platform, issuer: Issuer, { certificate_id, names, issued_by }: StoredIssuance): Promise<OngoingIssuance> {
  const replaces = await certificatePem(db, certificate_id, issued_by);
  return issuer.begin({ names, ...(replaces !== undefined && { replaces }) });
}

const pauseSeconds = { first: 600, max: 14_400 };

async function refuse(
  { db, log }: Platform,
  { certificate_id, names, refusals }: StoredIssuance,
  { faults }: RefusedIssuance,
): Promise<void> {
  const trouble = faults.map(({ sentence }) => sentence).join(' ');
  log.warn({ certificate: certificate_id, names, trouble }, 'a certificate was refused; it is asked for again later');
  await storeRefused(db, certificate_id, trouble, Math.min(pauseSeconds.first * 2 ** Math.min(refusals, 20), pauseSeconds.max));
}

/** The certificate, the end of its issuance and the news of it are one transaction. */
async function accept(
  platform: Platform,
  issuer: Issuer,
  { certificate_id, project_id, issued_by, names }: StoredIssuance,
  keyed: Extract<Issuance, { status: 'issued' }>['issued'],
  signal?: AbortSignal,
): Promise<void> {
  const { db, secrets, log } = platform;
  const renewal = await issuer.renewal(keyed.certificate, signal);
  await db.transaction().execute(async (tx) => {
    const [gone] = await deleteIssuance(tx, certificate_id);
    if (gone && gone.numDeletedRows === 0n) return;
    const [had] = await knownCertificates(tx, certificate_id);
    await keepIssued(tx, secrets, { id: certificate_id, project_id, keyed, issued_by, renewal });
    const [kept] = await knownCertificates(tx, certificate_id);
    if (project_id !== null && kept) await tellOfRenewal(tx, { ...kept, project_id, isFirst: !had });
  });
  log.info({ certificate: certificate_id, names, issued_by, renew_at: renewal.renewAt }, 'a certificate has come');
}

/** Asks the authorities of certificates whether they are to be replaced earlier, or later, than they said. Answers whether one is due now. */
export async function askForRenewals(platform: Platform, issuers: Issuers, signal?: AbortSignal): Promise<boolean> {
  const { db } = platform;
  const asked = await renewalsToAsk(db);
  if (asked.length === 0) return false;
  const sources = await sourcesOf(platform);
  let isDue = false;
  await forEachAtMost(
    atOnceMax,
    asked,
    async ({ id, project_id, names, issued_by, certificate }) => {
      const source = sourceOf(sources, project_id, names);
      if (source.issued_by !== issued_by) return;
      const renewal = await (await issuers.of(source)).renewal(certificate, signal);
      await setRenewal(db, id, renewal);
      isDue ||= Date.parse(renewal.renewAt) <= Date.now();
    },
    signal,
  );
  return isDue;
}
