/** What all deliveries have in common: proven first, parsed then, and only if they are about our repository. */
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import type { Delivery, HostEvent } from './code-host.ts';
import { CodeHostFailure } from './code-host-failure.ts';

/** One kind of delivery: its shape, and what it tells. */
export interface DeliveryKind {
  read(value: unknown): HostEvent[];
}

/** What does not have the shape tells nothing that can be relied on, except that something happened. */
export const deliveryKind = <T extends TSchema>(schema: T, events: (value: Static<T>) => HostEvent[]): DeliveryKind => ({
  read: (value) => (Value.Check(schema, value) ? events(value) : [{ kind: 'look-at-everything' }]),
});

export type DeliveryKinds = Readonly<Record<string, DeliveryKind>>;

export function eventsOf(delivery: Delivery, name: string, isProven: boolean, kinds: DeliveryKinds): HostEvent[] {
  if (!isProven) throw new CodeHostFailure('unauthenticated', 'The delivery does not bear the secret of this webhook.');
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  return kind ? kind.read(parsed(delivery.body)) : [];
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (cause) {
    throw new CodeHostFailure('refused', 'The delivery is not valid JSON; have the webhook send application/json.', { cause });
  }
}

const nothing = /^0+$/;

/** `refs/heads/…` and `refs/tags/…`; a commit of zeros, or none, is a ref that is gone. */
export function refEvents(ref: string, commit: string | null | undefined): HostEvent[] {
  const isGone = !commit || nothing.test(commit);
  const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : undefined;
  const tag = ref.startsWith('refs/tags/') ? ref.slice('refs/tags/'.length) : undefined;
  if (branch !== undefined) return [isGone ? { kind: 'branch-deleted', branch } : { kind: 'branch-pushed', branch, commit }];
  if (tag !== undefined) return [isGone ? { kind: 'tag-deleted', tag } : { kind: 'tag-pushed', tag, commit }];
  return [];
}
