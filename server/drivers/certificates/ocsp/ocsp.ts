/**
 * Whether certificates are still good, asked of their issuers by OCSP (RFC 6960). The answer is one that any client could check, so it can be sent along with the
 * certificate (“stapled”): clients then need not ask the issuer themselves, who would learn what they visit.
 */
import { X509Certificate } from 'node:crypto';
import { factsOf } from '../x509/facts.ts';
import { certificateIdOf, writeOcspRequest } from './ocsp-request.ts';
import { OcspFault, readOcspResponse } from './ocsp-response.ts';
import { openResponders, type RespondersOptions } from './responders.ts';

export interface Statuses {
  /** `chain` is from the issuer upwards. Undefined: the issuer answers no such questions. Throws nothing but what `signal` was aborted with. */
  ask(certificate: string, chain: readonly string[], signal?: AbortSignal): Promise<CertificateStatus | undefined>;
}

export type CertificateStatus =
  /** `stapled` is absent where the answer cannot be kept, as it does not say for how long it holds. */
  | { status: 'good'; stapled?: StapledAnswer; askAgainAt: string }
  | { status: 'revoked'; revokedAt: string; reason: string | undefined; askAgainAt: string }
  /** No answer that counts: `sentence` says why. */
  | { status: 'untold'; sentence: string };

export interface StapledAnswer {
  /** In base64. */
  response: string;
  until: string;
}

export function openStatuses(options: RespondersOptions): Statuses {
  const post = openResponders(options);
  return {
    ask: async (certificate, chain, signal) => {
      const asked = questionOf(certificate, chain);
      if (!asked) return undefined;
      const { leaf, issuer, url } = asked;
      try {
        const bytes = await post(url, writeOcspRequest(certificateIdOf(leaf, issuer)), signal);
        return statusIn(bytes, leaf, issuer);
      } catch (error) {
        signal?.throwIfAborted();
        if (!(error instanceof OcspFault)) throw error;
        return { status: 'untold', sentence: `The responder of its issuer, ${url}, ${error.message}.` };
      }
    },
  };
}

function questionOf(certificate: string, [above]: readonly string[]) {
  const leaf = new X509Certificate(certificate);
  const { ocspUrl: url } = factsOf(leaf);
  if (url === undefined || above === undefined) return undefined;
  return { leaf, issuer: new X509Certificate(above), url };
}

/** A day where the answer does not say for how long it holds. */
const unlimitedSeconds = 86_400;
const askAgainSeconds = { min: 30, max: 7 * 86_400 };

function statusIn(bytes: Buffer, certificate: X509Certificate, issuer: X509Certificate): CertificateStatus {
  const now = new Date();
  const { revoked, until } = readOcspResponse(bytes, { certificate, issuer, now });
  const halfSeconds = until ? (until.getTime() - now.getTime()) / 2000 : unlimitedSeconds;
  const pauseSeconds = Math.min(Math.max(halfSeconds, askAgainSeconds.min), askAgainSeconds.max);
  const askAgainAt = new Date(now.getTime() + pauseSeconds * 1000).toISOString();
  if (revoked) return { status: 'revoked', revokedAt: revoked.at.toISOString(), reason: revoked.reason, askAgainAt };
  return {
    status: 'good',
    ...(until && { stapled: { response: bytes.toString('base64'), until: until.toISOString() } }),
    askAgainAt,
  };
}
