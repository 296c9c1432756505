/**
 * The life of an invitation, to an organization or to a project. One that nobody accepted in time has failed from that moment on, though nothing is written
 * down then: `expire` is what everybody reads in it, and what is written where another takes its place.
 */
import { lifeCycle, type StateOf } from '../../kernel/life-cycle.ts';

/** `processing` is published, and nothing here takes that long. */
export const invitationLife = lifeCycle(['pending', 'processing', 'accepted', 'cancelled', 'error'], {
  /* What people do. */
  accept: {
    pending: 'accepted',
    processing: null,
    accepted: null,
    cancelled: null,
    error: null,
    otherwise: 'This invitation was used, cancelled or has expired.',
  },
  /** Also what has failed can be cleared away. Whoever would cancel another one is told that there is none. */
  cancel: { pending: 'cancelled', processing: null, accepted: null, cancelled: null, error: 'cancelled' },
  /** By inviting the same address with `force`, or by removing whom it would bring back. */
  revoke: { pending: 'cancelled', processing: null, accepted: null, cancelled: null, error: null },

  /* What happens to it: it cannot be mailed, or its time is over. */
  fail: { pending: 'error', processing: null, accepted: null, cancelled: null, error: null },
  expire: { pending: 'error', processing: null, accepted: null, cancelled: null, error: null },
});

export type InvitationState = StateOf<typeof invitationLife>;
