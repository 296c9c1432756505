/**
 * A certificate from an authority that speaks ACME, step by step. Each step takes the value that the last one left, and can be taken again: what the
 * authority was told already it says, and proofs are written down before they are put up.
 */
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateRequest, Issuance, IssuanceFault, OngoingIssuance } from '../certificates.ts';
import { factsOf } from '../x509/facts.ts';
import { writeRequest } from '../x509/write-certificate.ts';
import type { Accounts } from './account.ts';
import type { Connection, Reply, Signer } from './connection.ts';
import { AcmeRefusal, AcmeTrouble, type Authorization, type Order } from './messages.ts';
import { chooseProof, nameOf, type Proof, type Solver } from './proofs.ts';
import { certificateId } from './renewal-information.ts';
import { faultOf, type Words } from './words.ts';

export interface Ordering {
  connection: Connection;
  accounts: Accounts;
  solvers: readonly Solver[];
  /** The common name of an authority that the chain should lead to, where there are several chains. */
  preferredChain?: string | undefined;
  /** What records of names should hold, in words for people. */
  pointTo: string;
}

export type StepName = 'order' | 'choose' | 'serve' | 'answer' | 'look' | 'withdraw' | 'finalize' | 'download';

export interface OrderData {
  key: string;
  /** The URL of the order. */
  url?: string;
  proofs: StandingProof[];
  /** Proofs of an earlier order, to be taken down with the others. */
  left?: StandingProof[];
  /** How often this step was taken without getting further. */
  looks: number;
  restarts: number;
  /** Set where the authority does not know the certificate that is to be replaced: then a new one is ordered. */
  isPlain?: true;
  /** Why the order failed, to be reported once the proofs are taken down. */
  faults?: Faults;
}

interface StandingProof {
  proof: Proof;
  challenge: string;
  authorization: string;
}

export interface OngoingOrder extends OngoingIssuance {
  next: StepName;
  data: OrderData;
}

interface Step extends Ordering {
  request: CertificateRequest;
  data: OrderData;
  signer: Signer & { account: string };
  /** How often this step went wrong. */
  troubles: number;
  signal: AbortSignal | undefined;
}

/** What a step comes to: another step, at once or later; or the end. */
type Outcome = { next: StepName; data?: Partial<OrderData>; notBefore?: Date } | { end: Issuance };

const restartsMax = 3;
const looksMax = 100;
const looksForProofMax = 30;

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

type Faults = [IssuanceFault, ...IssuanceFault[]];
const refused = (faults: Faults): Issuance => ({ status: 'refused', faults });

/** The issuance is refused only after its proofs are taken down. */
export const givenUp = ({ request, data }: OngoingOrder, faults: Faults): Issuance =>
  allProofs(data).length > 0 ? ongoing(request, 'withdraw', { ...data, faults }) : refused(faults);

/** Goes on with a new order, as the old one leads nowhere; undefined where that was tried often enough. */
export function startAgain({ request, data }: OngoingOrder): OngoingOrder | undefined {
  const { url: _, ...kept } = data;
  if (data.restarts >= restartsMax) return undefined;
  return ongoing(request, 'order', { ...kept, proofs: [], left: allProofs(data), looks: 0, restarts: data.restarts + 1 });
}

export const allProofs = ({ proofs, left = [] }: OrderData) => [...left, ...proofs];

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

async function readOrder({ connection, data, signer, signal }: Step): Promise<Reply<Order>> {
  const reply = await connection.post<Order>(data.url ?? '', signer, undefined, signal);
  if (!Array.isArray(reply.body.authorizations)) throw new AcmeTrouble('The authority answered with something that is no order.');
  return reply;
}

async function readAuthorization({ connection, signer, signal }: Step, url: string): Promise<Reply<Authorization>> {
  const reply = await connection.post<Authorization>(url, signer, undefined, signal);
  const { identifier, challenges } = reply.body;
  if (typeof identifier?.value !== 'string' || !Array.isArray(challenges))
    throw new AcmeTrouble('The authority answered with something that is no authorization.');
  return reply;
}

async function choose(step: Step): Promise<Outcome> {
  const { data, signer, solvers } = step;
  const { body: current } = await readOrder(step);
  if (current.status !== 'pending') return { next: 'withdraw' };
  const proofs: StandingProof[] = [];
  for (const url of current.authorizations) {
    const { body: authorization } = await readAuthorization(step, url);
    if (authorization.status !== 'pending') continue;
    const chosen = await chooseProof(authorization, signer, solvers);
    if (!chosen) return { next: 'withdraw', data: { faults: [noWay(authorization, solvers)] } };
    proofs.push({ proof: chosen.proof, challenge: chosen.challenge.url, authorization: url });
  }
  return { next: proofs.length > 0 ? 'serve' : 'look', data: { proofs, left: allProofs(data) } };
}

function noWay(authorization: Authorization, solvers: readonly Solver[]): IssuanceFault {
  const name = nameOf(authorization);
  const offered = authorization.challenges.map(({ type }) => type.toUpperCase()).join(', ');
  const own = [...new Set(solvers.map(({ kind }) => kind.toUpperCase()))].join(', ') || 'nothing';
  const remedy = name.startsWith('*.')
    ? ' A wildcard takes DNS-01: let this platform change the DNS of the domain, or upload a certificate.'
    : '';
  return {
    name,
    cause: 'no-way-to-prove',
    sentence: `${name} cannot be proven to the authority, which wants ${offered}; for it this platform has ${own}.${remedy}`,
  };
}

export async function solverOf(proof: Proof, solvers: readonly Solver[]): Promise<Solver | undefined> {
  for (const solver of solvers) if (solver.kind === proof.kind && (await solver.canServe(proof))) return solver;
  return undefined;
}

async function serve({ data, solvers, signal }: Step): Promise<Outcome> {
  for (const { proof } of data.proofs) await (await solverOf(proof, solvers))?.serve(proof, signal);
  return { next: 'answer' };
}

async function answer({ connection, data, signer, solvers, signal }: Step): Promise<Outcome> {
  for (const { proof } of data.proofs) {
    const isSeen = (await (await solverOf(proof, solvers))?.isSeen?.(proof, signal)) ?? true;
    if (!isSeen && data.looks < looksForProofMax) return { next: 'answer', notBefore: pause(data) };
  }
  for (const { challenge } of data.proofs) await tolerating(connection.post(challenge, signer, {}, signal));
  return { next: 'look' };
}

/** An authority refuses to hear again of a challenge that is decided already. How it was decided is read later. */
async function tolerating(answered: Promise<unknown>): Promise<void> {
  await answered.catch((error: unknown) => {
    if (!(error instanceof AcmeRefusal) || error.type !== 'malformed') throw error;
  });
}

const lookSeconds = { first: 0.25, max: 60 };
/** Waits for as long as the authority asked for, and otherwise longer each time. */
function pause({ looks }: OrderData, retryAt?: Date): Date {
  const own = (seconds: number) => new Date(Date.now() + Math.min(seconds, lookSeconds.max) * 1000);
  return retryAt && retryAt > own(lookSeconds.first) ? retryAt : own(lookSeconds.first * 2 ** Math.min(looks, 20));
}

async function look(step: Step): Promise<Outcome> {
  const { body: current } = await readOrder(step);
  if (current.status !== 'pending' && current.status !== 'invalid') return { next: 'withdraw' };
  const words = await wordsOf(step);
  const faults: IssuanceFault[] = [];
  let notBefore: Date | undefined;
  for (const url of current.authorizations) {
    const { body: authorization, retryAt } = await readAuthorization(step, url);
    if (authorization.status === 'pending') notBefore = pause(step.data, retryAt);
    else if (authorization.status !== 'valid') faults.push(whyInvalid(authorization, step, words));
  }
  const [first, ...others] = faults;
  if (first) return { next: 'withdraw', data: { faults: [first, ...others] } };
  if (current.status === 'invalid')
    return { next: 'withdraw', data: { faults: [faultOf(current.error ?? {}, { name: undefined }, words)] } };
  return notBefore ? { next: 'look', notBefore } : { next: 'withdraw' };
}

export async function wordsOf({ connection, pointTo }: Pick<Ordering, 'connection' | 'pointTo'>): Promise<Words> {
  const directory = await connection.directory().catch(() => undefined);
  return { pointTo, caaIdentities: directory?.meta?.caaIdentities ?? [] };
}

function whyInvalid(authorization: Authorization, { data }: Step, words: Words): IssuanceFault {
  const name = nameOf(authorization);
  const failed = authorization.challenges.find(({ error }) => error !== undefined);
  const standing = data.proofs.find(({ proof }) => proof.name === name && proof.kind === failed?.type);
  return faultOf(failed?.error ?? {}, { name, ...(standing && { proof: standing.proof }) }, words);
}

const withdrawalsMax = 5;

async function withdraw({ data, solvers, signal, troubles }: Step): Promise<Outcome> {
  await takeDown(allProofs(data), solvers, signal).catch((error: unknown) => {
    if (troubles < withdrawalsMax) throw error;
  });
  return data.faults ? { end: refused(data.faults) } : { next: 'finalize', data: { proofs: [], left: [] } };
}

export async function takeDown(proofs: readonly StandingProof[], solvers: readonly Solver[], signal?: AbortSignal): Promise<void> {
  for (const { proof } of proofs) await (await solverOf(proof, solvers))?.withdraw(proof, signal);
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
