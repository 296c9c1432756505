/**
 * Something to be sent to others, which survives whoever was to send it. It is recorded in the transaction of what it tells of (`rooms/deliveries`), and sent once
 * that has committed: at least once, in the order of its key, and again where the receiver fails.
 */
import type { Platform } from '../platform.ts';
import type { Tx } from './sql.ts';

export interface DeliveryKind<Payload = any> {
  kind: string;
  /** Whether what was sent is of no use once that is over, and could be one to somebody else: a mail with a link, for instance. Such a delivery cannot be repeated. */
  forgetsPayload?: boolean;
  /** One attempt. What it throws counts as a failure of ours, and is tried again. */
  send(platform: Platform, payload: Payload, about: Sending): Promise<Sent>;
  /** Called in the transaction that gives it up. */
  onFailed?(tx: Tx, payload: Payload): Promise<void>;
}

export interface Sending {
  /** Of the delivery: the same for all attempts, so that a receiver can tell them from new ones. */
  id: string;
  attempt: number;
  signal: AbortSignal;
  /** Reads what others that are sent to the same receiver within the same fraction of a second need, too: once for all of them. */
  readOnce<T>(read: () => Promise<T>): Promise<T>;
}

export interface Sent {
  /** `refused`: it will never be taken, and is not tried again; `failed`: it may be later. */
  outcome: 'delivered' | 'refused' | 'failed';
  /** What went out and what came back, fit to be shown to the owner. */
  request?: Shown;
  response?: Shown;
  trouble?: string;
  /** When the receiver wants to be asked again. */
  retryAfterSeconds?: number;
}

type Shown = Readonly<Record<string, unknown>>;

export const deliveryKind = <Payload>(kind: DeliveryKind<Payload>): DeliveryKind<Payload> => kind;
