/** An authority that speaks ACME (RFC 8555) as an issuer: any public one, or a private one of a company. */
import { X509Certificate } from 'node:crypto';
import { Problem } from '../../../kernel/problem.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import type { Issuance, Issuer, OngoingIssuance, RevocationReason } from '../certificates.ts';
import { renewalByLifetime } from '../renewal-by-lifetime.ts';
import { keyPem, newKey } from '../x509/write-certificate.ts';
import { AccountRefused, type AccountStore, type ExternalAccount, openAccounts } from './account.ts';
import { type Connection, openConnection } from './connection.ts';
import { openHttps, type Send } from './https.ts';
import { givenUp, ongoing, startAgain, takeStep } from './issuance.ts';
import { AcmeRefusal, AcmeTrouble, type RenewalInformation } from './messages.ts';
import { allProofs, type OngoingOrder, type Ordering, wordsOf } from './order-step.ts';
import type { Solver } from './proofs.ts';
import { takeDown } from './proving.ts';
import { certificateId, renewalByAuthority } from './renewal-information.ts';
import { faultsOfRefusal } from './words.ts';

export interface AcmeOptions {
  directoryUrl: string;
  store: AccountStore;
  /** In the order of preference. */
  solvers: readonly Solver[];
  /** The address that the authority writes to. */
  email?: string;
  externalAccount?: ExternalAccount;
  preferredChain?: string;
  /** The profile of certificates that are asked for without one. */
  profile?: string;
  /** Certificates, as PEM, to trust beside those that this process trusts: for an authority whose own certificate is private. */
  authorities?: readonly string[];
  /** How it is reached where users choose the directory; what the operator has chosen may be anywhere. */
  outbound?: Outbound;
  /** What records of names should hold, in words for people: `an A record with 203.0.113.7`. */
  pointTo?: string;
  /** The program with its version, as the authority is told. */
  userAgent?: string;
}

export interface AcmeIssuer extends Issuer {
  /** The authority's profiles by name, each with a description; none where it offers no choice. Throws a Problem. */
  profiles(signal?: AbortSignal): Promise<Readonly<Record<string, string>>>;
  /** The URL of the account, which CAA and DNS-PERSIST-01 records name. An account is made where there is none. Throws a Problem. */
  accountUrl(signal?: AbortSignal): Promise<string>;
  /** Gives the account another key. Throws a Problem. */
  changeAccountKey(signal?: AbortSignal): Promise<void>;
  /** Closes the account for ever; the next issuance makes another. Throws a Problem. */
  deactivateAccount(signal?: AbortSignal): Promise<void>;
}

export const openAcmeIssuer = (options: AcmeOptions): AcmeIssuer =>
  issuerOver(openHttps({ ...options, userAgent: options.userAgent ?? 'Offshoot' }), options);

/** An issuer that sends its requests by `send` rather than over the network. */
export function issuerOver(send: Send, options: AcmeOptions): AcmeIssuer {
  const { directoryUrl, solvers, profile, pointTo = 'an A or AAAA record with the address of this platform' } = options;
  const connection = openConnection(directoryUrl, send);
  const accounts = openAccounts(connection, options);
  const ordering: Ordering = { connection, accounts, solvers, pointTo, preferredChain: options.preferredChain };

  return {
    begin: async (request) =>
      ongoing({ ...(profile !== undefined && { profile }), ...request }, 'order', {
        key: keyPem(await newKey(request.keyType)),
        proofs: [],
        looks: 0,
        restarts: 0,
      }),
    advance: async (issuance, signal) => {
      const current = issuance as OngoingOrder;
      try {
        return await takeStep(ordering, current, signal);
      } catch (error) {
        signal?.throwIfAborted();
        return afterFailure(ordering, current, error);
      }
    },
    abandon: (issuance, signal) => telling(() => takeDown(allProofs((issuance as OngoingOrder).data), solvers, signal)),
    renewal: async (certificate, signal) => {
      const told = await askForRenewal(connection, certificate, signal).catch(() => signal?.throwIfAborted());
      return told ?? renewalByLifetime(certificate);
    },
    revoke: (certificate, reason = 'unspecified', signal) =>
      telling(async () => {
        const signer = await accounts.ensure(signal);
        const { revokeCert } = await connection.directory(signal);
        const payload = { certificate: new X509Certificate(certificate).raw.toString('base64url'), reason: reasonNumbers[reason] };
        await connection.post(revokeCert, signer, payload, signal).catch(unlessRevoked);
      }),
    profiles: (signal) => telling(async () => (await connection.directory(signal)).meta?.profiles ?? {}),
    accountUrl: (signal) => telling(async () => (await accounts.ensure(signal)).account),
    changeAccountKey: (signal) => telling(() => accounts.changeKey(signal)),
    deactivateAccount: (signal) => telling(() => accounts.deactivate(signal)),
  };
}

const reasonNumbers: Record<RevocationReason, number> = {
  unspecified: 0,
  'key-compromise': 1,
  'affiliation-changed': 3,
  superseded: 4,
  'cessation-of-operation': 5,
};

function unlessRevoked(error: unknown): void {
  if (!(error instanceof AcmeRefusal) || error.type !== 'alreadyRevoked') throw error;
}

async function askForRenewal(connection: Connection, certificate: string, signal?: AbortSignal) {
  const { renewalInfo } = await connection.directory(signal);
  if (renewalInfo === undefined) return undefined;
  return renewalByAuthority(certificate, await connection.get<RenewalInformation>(`${renewalInfo}/${certificateId(certificate)}`, signal));
}

/** Turns what the authority says, or fails to say, into a Problem. */
async function telling<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AcmeTrouble) throw new Problem('unavailable', error.message, { cause: error });
    if (error instanceof AccountRefused) throw new Problem('invalid-request', error.message, { cause: error });
    if (error instanceof AcmeRefusal) {
      const [{ sentence }] = faultsOfRefusal(error, [], { pointTo: '', caaIdentities: [] });
      throw new Problem('invalid-request', sentence, { cause: error });
    }
    throw error;
  }
}

async function afterFailure(ordering: Ordering, issuance: OngoingOrder, error: unknown): Promise<Issuance> {
  if (error instanceof AcmeRefusal) return afterRefusal(ordering, issuance, error);
  if (error instanceof AccountRefused) return givenUp(issuance, [{ cause: 'account', sentence: error.message }]);
  if (error instanceof AcmeTrouble || error instanceof Problem)
    return triedAgain(issuance, error.message, error instanceof AcmeTrouble ? error.retryAt : undefined);
  throw error;
}

const rateSeconds = 3600;
const accountTypes: ReadonlySet<string> = new Set(['accountDoesNotExist', 'unauthorized']);

async function afterRefusal(ordering: Ordering, issuance: OngoingOrder, refusal: AcmeRefusal): Promise<Issuance> {
  const { request, next, data } = issuance;
  const faults = faultsOfRefusal(refusal, request.names, await wordsOf(ordering));
  if (refusal.type === 'rateLimited')
    return triedAgain(issuance, faults[0].sentence, refusal.retryAt ?? new Date(Date.now() + rateSeconds * 1000));
  if (refusal.type === 'orderNotReady') return ongoing(request, 'choose', { ...data, looks: data.looks + 1 });
  if (next === 'order' && request.replaces !== undefined && !data.isPlain) return ongoing(request, 'order', { ...data, isPlain: true });
  if (accountTypes.has(refusal.type)) await ordering.accounts.forget();
  const isWorthAnother = accountTypes.has(refusal.type) || (next !== 'order' && refusal.type !== 'badCSR');
  const another = isWorthAnother ? startAgain(issuance) : undefined;
  if (another) return another;
  return givenUp(issuance, faults);
}

const troubleSeconds = { first: 5, max: 3600 };

/** Tries again after a pause that doubles each time, or that the authority asked for. */
function triedAgain(issuance: OngoingIssuance, sentence: string, retryAt: Date | undefined): OngoingIssuance {
  const times = (issuance.trouble?.times ?? 0) + 1;
  const doubled = Math.min(troubleSeconds.first * 2 ** Math.min(times - 1, 20), troubleSeconds.max);
  const asked = retryAt ? Math.max((retryAt.getTime() - Date.now()) / 1000, troubleSeconds.first) : doubled;
  return { ...issuance, notBefore: new Date(Date.now() + asked * 1000).toISOString(), trouble: { times, sentence } };
}
