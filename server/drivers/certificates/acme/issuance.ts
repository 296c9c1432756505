/**
 * A certificate from an authority that speaks ACME, step by step. Each step takes the value that the last one left, and can be taken again: what the
 * authority was told already it says, and proofs are written down before they are put up.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateRequest, Issuance, IssuanceFault } from '../certificates.ts';
import { factsOf } from '../x509/facts.ts';
import { writeRequest } from '../x509/write-certificate.ts';
import { AcmeTrouble, type Order } from './messages.ts';
import {
  allProofs,
  pause,
  readOrder,
  refused,
  wordsOf,
  type Faults,
  type OngoingOrder,
  type OrderData,
  type Ordering,
  type Outcome,
  type Step,
  type StepName,
} from './order-step.ts';
import { answer, choose, look, serve, withdraw } from './proving.ts';
import { certificateId } from './renewal-information.ts';
import { faultOf } from './words.ts';

const restartsMax = 3;
const looksMax = 100;

const steps: Record<StepName, (step: Step) => Promise<Outcome>> = { order, choose, serve, answer, look, withdraw, finalize, download };

export async function takeStep(ordering: Ordering, issuance: OngoingOrder, signal?: AbortSignal): Promise<Issuance> {
  const { next, data, request } = issuance;
  const signer = await ordering.accounts.ensure(signal);
  const outcome = await steps[next]({ ...ordering, request, data, signer, troubles: issuance.trouble?.times ?? 0, signal });
  if ('end' in outcome) return outcome.end;
  const looks = outcome.next === next ? data.looks + 1 : 0;
  if (looks > looksMax)
    return startAgain(issuance) ?? givenUp(issuance, [{ cause: 'other', sentence: 'The authority did not come to an end.' }]);
  const { notBefore } = outcome;
  return ongoing(request, outcome.next, { ...data, ...outcome.data, looks }, notBefore);
}

export const ongoing = (request: CertificateRequest, next: StepName, data: OrderData, notBefore?: Date): OngoingOrder => ({
  status: 'ongoing',
  request,
  next,
  data,
  ...(notBefore && { notBefore: notBefore.toISOString() }),
});

/** The issuance is refused only after its proofs are taken down. */
export const givenUp = ({ request, data }: OngoingOrder, faults: Faults): Issuance =>
  allProofs(data).length > 0 ? ongoing(request, 'withdraw', { ...data, faults }) : refused(faults);

/** Goes on with a new order, as the old one leads nowhere; undefined where that was tried often enough. */
export function startAgain({ request, data }: OngoingOrder): OngoingOrder | undefined {
  const { url: _, ...kept } = data;
  if (data.restarts >= restartsMax) return undefined;
  return ongoing(request, 'order', { ...kept, proofs: [], left: allProofs(data), looks: 0, restarts: data.restarts + 1 });
}

async function order({ connection, request, data, signer, signal }: Step): Promise<Outcome> {
  const { newOrder, meta, renewalInfo } = await connection.directory(signal);
  const { profile, replaces } = request;
  if (profile !== undefined && !Object.hasOwn(meta?.profiles ?? {}, profile))
    return { next: 'withdraw', data: { faults: [unknownProfile(profile, meta?.profiles)] } };
  const payload = {
    identifiers: request.names.map((name) => ({ type: isIP(name) ? 'ip' : 'dns', value: name })),
    ...(profile !== undefined && { profile }),
    ...(replaces !== undefined && renewalInfo !== undefined && !data.isPlain && { replaces: certificateId(replaces) }),
  };
  const { location } = await connection.post<Order>(newOrder, signer, payload, signal);
  if (location === undefined) throw new AcmeTrouble('The authority took an order and did not say where it is.');
  return { next: 'choose', data: { url: location } };
}

function unknownProfile(profile: string, profiles: Record<string, string> = {}): IssuanceFault {
  const names = Object.keys(profiles);
  return {
    cause: 'other',
    sentence: `The authority has no profile ${profile}; ${names.length > 0 ? `it has ${names.join(', ')}` : 'it has none at all'}.`,
  };
}

async function finalize(step: Step): Promise<Outcome> {
  const { connection, data, request, signer, signal } = step;
  const { body: current, retryAt } = await readOrder(step);
  if (current.status === 'valid') return { next: 'download' };
  if (current.status === 'pending') return { next: 'choose' };
  if (current.status === 'invalid') return { end: refused([faultOf(current.error ?? {}, { name: undefined }, await wordsOf(step))]) };
  if (current.status === 'ready') {
    const key = createPrivateKey(data.key);
    const csr = writeRequest(request.names, key, createPublicKey(key)).toString('base64url');
    await connection.post(current.finalize, signer, { csr }, signal);
    return { next: 'finalize' };
  }
  return { next: 'finalize', notBefore: pause(data, retryAt) };
}

async function download(step: Step): Promise<Outcome> {
  const { connection, data, request, signer, signal, preferredChain } = step;
  const { body: current } = await readOrder(step);
  const { text, links } = await connection.post(current.certificate ?? '', signer, undefined, signal);
  let chosen = certificatesIn(text);
  for (const url of preferredChain === undefined || leadsTo(chosen, preferredChain) ? [] : links('alternate')) {
    const other = certificatesIn((await connection.post(url, signer, undefined, signal)).text);
    if (leadsTo(other, preferredChain ?? '')) chosen = other;
  }
  const [certificate, ...chain] = chosen;
  if (!certificate || !isAsAsked(certificate, request, data.key))
    throw new AcmeTrouble('The authority gave out a certificate that nobody asked for.');
  const plain = (each: X509Certificate) => each.toString();
  return { end: { status: 'issued', issued: { certificate: plain(certificate), key: data.key, chain: chain.map(plain) } } };
}

function certificatesIn(text: string): X509Certificate[] {
  try {
    return (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((pem) => new X509Certificate(pem));
  } catch (cause) {
    throw new AcmeTrouble('The authority gave out a certificate that cannot be read.', { cause });
  }
}

const leadsTo = (chain: readonly X509Certificate[], commonName: string) =>
  chain.slice(-1).some((last) => factsOf(last).issuer.some(({ alias, value }) => alias === 'commonName' && value === commonName));

function isAsAsked(certificate: X509Certificate, { names }: CertificateRequest, key: string): boolean {
  const certified = new Set(factsOf(certificate).names);
  return certificate.checkPrivateKey(createPrivateKey(key)) && names.every((name) => certified.has(name));
}
