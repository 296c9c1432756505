/**
 * The life of an invitation, to an organization or to a project. An invitation that nobody accepted in time has failed from that moment on, although its row
 * does not change then: every reader applies `expire` to it, and the row is only written when another invitation takes its place.
 */
import { lifeCycle, type StateOf } from '../../kernel/life-cycle.ts';

/** The published API has the state `processing`; nothing here takes long enough to need it. */
export const invitationLife = lifeCycle(['pending', 'processing', 'accepted', 'cancelled', 'error'], {
  /* What people do. */
  accept: {
    pending: 'accepted',
    processing: null,
    accepted: null,
    cancelled: null,
    error: null,
    otherwise: 'This invitation was already used, was cancelled, or has expired.',
  },
  /** A failed invitation can be cancelled, too, to clear it away. Cancelling any other one is answered as if there were none. */
  cancel: { pending: 'cancelled', processing: null, accepted: null, cancelled: null, error: 'cancelled' },
  /** An invitation is revoked by inviting the same address with `force`, or by removing the person whom it would bring back. */
  revoke: { pending: 'cancelled', processing: null, accepted: null, cancelled: null, error: null },

  /* What happens to an invitation: it cannot be mailed, or its time is over. */
  fail: { pending: 'error', processing: null, accepted: null, cancelled: null, error: null },
  expire: { pending: 'error', processing: null, accepted: null, cancelled: null, error: null },
});

export type InvitationState = StateOf<typeof invitationLife>;
