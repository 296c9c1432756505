/** Issuers are asked, where they answer, whether their certificates are still good. The answer goes along with the certificate, and what is wrong is told to the owner. */
import { openStatuses, type CertificateStatus, type Statuses } from '../../drivers/certificates/ocsp/ocsp.ts';
import { forEachAtMost } from '../../kernel/limits.ts';
import type { Platform } from '../../platform.ts';
import { dropEndedAnswers, setNobodyToAsk, statusesToAsk, storeTold, storeUntold, type AskedStatus } from './statuses.ts';

const atOnceMax = 4;
const pauseSeconds = { first: 300, max: 14_400 };

/** Answers whether anything was said, or has ended: what is presented may be another certificate now, or the same with another answer. */
export async function askForStatuses(platform: Platform, signal?: AbortSignal): Promise<boolean> {
  const { db, outbound } = platform;
  // Whoever gives a certificate chooses the address of the responder, which is in it.
  const statuses = openStatuses({ outbound });
  const hasEnded = await dropEndedAnswers(db);
  const asked = await statusesToAsk(db);
  await forEachAtMost(atOnceMax, asked, (one) => ask(platform, statuses, one, signal), signal);
  return hasEnded || asked.length > 0;
}

/** One that fails as nobody expected is asked about again later, and is not in the way of the others. */
async function ask({ db, log }: Platform, statuses: Statuses, one: AskedStatus, signal?: AbortSignal): Promise<void> {
  const { id: certificate, serves, status_failures } = one;
  const pause = Math.min(pauseSeconds.first * 2 ** Math.min(status_failures, 20), pauseSeconds.max);
  const status = await statuses.ask(one.certificate, one.chain, signal).catch((error: unknown): CertificateStatus => {
    signal?.throwIfAborted();
    log.error({ certificate, error }, 'the issuer of a certificate could not be asked about it; trying again later');
    return { status: 'untold', sentence: 'The platform failed to ask its issuer.' };
  });
  if (!status) await setNobodyToAsk(db, one, one.must_staple ? unstapled('Its issuer does not say where to ask for it.') : null);
  else if (status.status === 'untold') {
    log.warn({ certificate, serves, trouble: status.sentence }, 'the issuer of a certificate does not say whether it is good');
    await storeUntold(db, one, one.must_staple ? unstapled(status.sentence) : null, pause);
  } else await storeAnswer({ db, log }, one, status);
}

async function storeAnswer(
  { db, log }: Pick<Platform, 'db' | 'log'>,
  one: AskedStatus,
  status: Exclude<CertificateStatus, { status: 'untold' }>,
): Promise<void> {
  const { askAgainAt } = status;
  if (status.status === 'good') {
    const { stapled } = status;
    const trouble = one.must_staple && !stapled ? unstapled('Its issuer does not say for how long its answer holds.') : null;
    return void (await storeTold(db, one, { stapled, revokedAt: null, trouble, askAgainAt }));
  }
  const { revokedAt, reason } = status;
  log.warn({ certificate: one.id, serves: one.serves, revokedAt, reason }, 'the issuer of a certificate has revoked it');
  await storeTold(db, one, { stapled: undefined, revokedAt, trouble: revoked(revokedAt, reason), askAgainAt });
}

const revoked = (at: string, reason: string | undefined) =>
  `The certificate was revoked by its issuer on ${at.slice(0, 10)}${reason === undefined ? '' : ` (${reason})`}, and clients refuse it. Another one has to take its place.`;

const unstapled = (why: string) =>
  `The certificate may be presented only along with its issuer's answer that it is good (must staple), and there is none: clients refuse it. ${why}`;
