/**
 * Whether an organization can take on what costs more. Whoever makes or changes a project asks, in the transaction that does so, and is answered by billing; those who ask
 * before are told the same sentence (rooms/billing/spending.ts).
 */
import { Problem } from './kernel/problem.ts';
import type { Db, Tx } from './kernel/sql.ts';
import type { Caller } from './platform.ts';

/** What a project is contracted for. */
export interface ContractTerms {
  plan: string;
  /** MiB. */
  storage: number;
  /** Levels of add-ons, by their names. */
  options: Record<string, string>;
}

export interface ContractChange {
  wanted: ContractTerms;
  /** Undefined: the project is new. */
  before: ContractTerms | undefined;
}

/** What whoever is refused has to do first, in the words that clients know. */
export interface RequiredAction {
  action: 'billing_details' | 'ticket';
  type: string;
  credentials: null;
  /** An address at which it is done. */
  reference: string | null;
}

export const requiredAction = (action: RequiredAction['action'], type: string, reference: string | null = null): RequiredAction => ({
  action,
  type,
  credentials: null,
  reference,
});

export interface SpendingHindrance {
  sentence: string;
  /** For those who may see what the organization pays and has. */
  sentenceWithAmounts: string;
  required_action: RequiredAction;
}

export interface Spending {
  hindrance(db: Db | Tx, organizationId: string, change: ContractChange): Promise<SpendingHindrance | undefined>;
}

export const sentenceFor = (caller: Pick<Caller, 'can'>, organizationId: string, hindrance: SpendingHindrance): string =>
  caller.can('billing:view', { organization: organizationId }) ? hindrance.sentenceWithAmounts : hindrance.sentence;

export async function refuseSpending(
  tx: Tx,
  spending: Spending,
  caller: Pick<Caller, 'can'>,
  organizationId: string,
  change: ContractChange,
): Promise<void> {
  const hindrance = await spending.hindrance(tx, organizationId, change);
  if (hindrance) throw new Problem('payment-required', sentenceFor(caller, organizationId, hindrance));
}
