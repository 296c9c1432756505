/** The steps by which the names of an order are proven: a proof is chosen for each, put up, looked at by the authority, and taken down. */
import { calculateJwkThumbprint } from 'jose';
import type { IssuanceFault } from '../certificates.ts';
import type { Reply } from './connection.ts';
import { AcmeRefusal, AcmeTrouble, type Authorization } from './messages.ts';
import {
  allProofs,
  pause,
  readOrder,
  refused,
  wordsOf,
  type BarredWay,
  type Faults,
  type Outcome,
  type StandingProof,
  type Step,
} from './order-step.ts';
import { chooseProof, nameOf, type Proof, type Solver } from './proofs.ts';
import { faultOf, type Words } from './words.ts';

const looksForProofMax = 30;

async function readAuthorization({ connection, signer, signal }: Step, url: string): Promise<Reply<Authorization>> {
  const reply = await connection.post<Authorization>(url, signer, undefined, signal);
  const { identifier, challenges } = reply.body;
  if (typeof identifier?.value !== 'string' || !Array.isArray(challenges))
    throw new AcmeTrouble('The authority answered with something that is no authorization.');
  return reply;
}

export async function choose(step: Step): Promise<Outcome> {
  const { data, signer, solvers } = step;
  const { body: current } = await readOrder(step);
  if (current.status !== 'pending') return { next: 'withdraw' };
  const proofs: StandingProof[] = [];
  for (const url of current.authorizations) {
    const { body: authorization } = await readAuthorization(step, url);
    if (authorization.status !== 'pending') continue;
    const barred = (data.barred ?? []).filter(({ name }) => name === nameOf(authorization));
    const passable = solvers.filter(({ kind }) => !barred.some((way) => way.kind === kind));
    const chosen = await chooseProof(authorization, signer, passable);
    if (!chosen) return { next: 'withdraw', data: { faults: faultsOf(barred) ?? [noWay(authorization, solvers)] } };
    proofs.push({ proof: chosen.proof, challenge: chosen.challenge.url, authorization: url });
  }
  const thumbprint = await calculateJwkThumbprint(signer.key);
  return { next: proofs.length > 0 ? 'serve' : 'look', data: { proofs, thumbprint, left: allProofs(data) } };
}

/** Every way was tried: what the authority said of each is told. */
function faultsOf(barred: readonly BarredWay[]): Faults | undefined {
  const [first, ...others] = barred.map(({ fault }) => fault);
  return first && [first, ...others];
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

async function solverOf(proof: Proof, solvers: readonly Solver[]): Promise<Solver | undefined> {
  for (const solver of solvers) if (solver.kind === proof.kind && (await solver.canServe(proof))) return solver;
  return undefined;
}

export async function serve({ data, solvers, signal }: Step): Promise<Outcome> {
  for (const { proof } of data.proofs) await (await solverOf(proof, solvers))?.serve(proof, signal);
  return { next: 'answer' };
}

export async function answer({ connection, data, signer, solvers, signal }: Step): Promise<Outcome> {
  if (data.thumbprint !== undefined && data.thumbprint !== (await calculateJwkThumbprint(signer.key))) return { next: 'choose' };
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

export async function look(step: Step): Promise<Outcome> {
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
  if (first) return otherWays(step, [first, ...others]);
  if (current.status === 'invalid')
    return { next: 'withdraw', data: { faults: [faultOf(current.error ?? {}, { name: undefined }, words)] } };
  return notBefore ? { next: 'look', notBefore } : { next: 'withdraw' };
}

/**
 * Where the authority could not reach the edge by one port, it may by another: the names are ordered once more, and proven in another way. An answer that was
 * wrong, or a name that is not in DNS, is the same by every port.
 */
function otherWays({ data }: Step, faults: Faults): Outcome {
  const barred = faults.flatMap((fault): BarredWay[] => {
    const standing = data.proofs.find(({ proof }) => proof.name === fault.name);
    return standing && fault.cause === 'connection' ? [{ name: standing.proof.name, kind: standing.proof.kind, fault }] : [];
  });
  if (barred.length < faults.length) return { next: 'withdraw', data: { faults } };
  return { next: 'order', data: { barred: [...(data.barred ?? []), ...barred], proofs: [], left: allProofs(data) } };
}

function whyInvalid(authorization: Authorization, { data }: Step, words: Words): IssuanceFault {
  const name = nameOf(authorization);
  const failed = authorization.challenges.find(({ error }) => error !== undefined);
  const standing = data.proofs.find(({ proof }) => proof.name === name && proof.kind === failed?.type);
  return faultOf(failed?.error ?? {}, { name, ...(standing && { proof: standing.proof }) }, words);
}

const withdrawalsMax = 5;

export async function withdraw({ data, solvers, signal, troubles }: Step): Promise<Outcome> {
  await takeDown(allProofs(data), solvers, signal).catch((error: unknown) => {
    if (troubles < withdrawalsMax) throw error;
  });
  return data.faults ? { end: refused(data.faults) } : { next: 'finalize', data: { proofs: [], left: [] } };
}

export async function takeDown(proofs: readonly StandingProof[], solvers: readonly Solver[], signal?: AbortSignal): Promise<void> {
  for (const { proof } of proofs) await (await solverOf(proof, solvers))?.withdraw(proof, signal);
}
