/** What the steps of an order have in common: what they are given, what they come to, and how an order is read. */
import type { CertificateRequest, Issuance, IssuanceFault, OngoingIssuance } from '../certificates.ts';
import type { Accounts } from './account.ts';
import type { Connection, Reply, Signer } from './connection.ts';
import { AcmeTrouble, type Order } from './messages.ts';
import type { Proof, ProofKind, Solver } from './proofs.ts';
import type { Words } from './words.ts';

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
  /** Of the account's key that the proofs were made with: with another key they prove nothing. */
  thumbprint?: string;
  /** Ways to prove a name that the authority could not come by, with what it said of each; they are not taken again. */
  barred?: BarredWay[];
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

export interface StandingProof {
  proof: Proof;
  challenge: string;
  authorization: string;
}

export interface BarredWay {
  name: string;
  kind: ProofKind;
  fault: IssuanceFault;
}

export interface OngoingOrder extends OngoingIssuance {
  next: StepName;
  data: OrderData;
}

export interface Step extends Ordering {
  request: CertificateRequest;
  data: OrderData;
  signer: Signer & { account: string };
  /** How often this step went wrong. */
  troubles: number;
  signal: AbortSignal | undefined;
}

/** What a step comes to: another step, at once or later; or the end. */
export type Outcome = { next: StepName; data?: Partial<OrderData>; notBefore?: Date } | { end: Issuance };

export type Faults = [IssuanceFault, ...IssuanceFault[]];
export const refused = (faults: Faults): Issuance => ({ status: 'refused', faults });

export const allProofs = ({ proofs, left = [] }: OrderData) => [...left, ...proofs];

export async function readOrder({ connection, data, signer, signal }: Step): Promise<Reply<Order>> {
  const reply = await connection.post<Order>(data.url ?? '', signer, undefined, signal);
  if (!Array.isArray(reply.body.authorizations)) throw new AcmeTrouble('The authority answered with something that is no order.');
  return reply;
}

const lookSeconds = { first: 0.25, max: 60 };
/** Waits for as long as the authority asked for, and otherwise longer each time. */
export function pause({ looks }: OrderData, retryAt?: Date): Date {
  const own = (seconds: number) => new Date(Date.now() + Math.min(seconds, lookSeconds.max) * 1000);
  return retryAt && retryAt > own(lookSeconds.first) ? retryAt : own(lookSeconds.first * 2 ** Math.min(looks, 20));
}

export async function wordsOf({ connection, pointTo }: Pick<Ordering, 'connection' | 'pointTo'>): Promise<Words> {
  const directory = await connection.directory().catch(() => undefined);
  return { pointTo, caaIdentities: directory?.meta?.caaIdentities ?? [] };
}
