/**
 * The life of an activity. Two things that people can ask for depend on more than its state, and whoever asks looks at them beside it: one that runs is
 * cancelled only where its definition lets it, and only once.
 */
import { lifeCycle, type EventOf, type StateOf } from './life-cycle.ts';

export const activityLife = lifeCycle(['pending', 'in_progress', 'complete', 'cancelled', 'staged', 'scheduled'], {
  /** Its time has come, and it takes its place in its lanes. */
  comeDue: { scheduled: 'pending', pending: null, in_progress: null, staged: null, complete: null, cancelled: null },
  /** A runner takes it: for the first time, or from another that was lost or gave it back. */
  begin: { scheduled: null, pending: 'in_progress', in_progress: null, staged: null, complete: null, cancelled: null },
  goOn: { scheduled: null, pending: null, in_progress: 'in_progress', staged: null, complete: null, cancelled: null },

  /** It has come to its end, well or not; to where nobody sees it yet; or to the end of undoing what it did before it was cancelled. */
  complete: { scheduled: null, pending: null, in_progress: 'complete', staged: null, complete: null, cancelled: null },
  stage: { scheduled: null, pending: null, in_progress: 'staged', staged: null, complete: null, cancelled: null },
  stop: { scheduled: null, pending: null, in_progress: 'cancelled', staged: null, complete: null, cancelled: null },
  /** What it waited for, done as far as nobody saw it, has been done. */
  release: { scheduled: null, pending: null, in_progress: null, staged: 'complete', complete: null, cancelled: null },
  /** The installation was restored from a backup of itself: what was open then is not any more. */
  lose: { scheduled: 'complete', pending: 'complete', in_progress: 'complete', staged: 'complete', complete: null, cancelled: null },

  /** Somebody does not want it: where nobody has begun it, that is its end; otherwise its runner is asked to stop. */
  cancel: {
    scheduled: 'cancelled',
    pending: 'cancelled',
    in_progress: 'in_progress',
    staged: null,
    complete: null,
    cancelled: null,
    /** In these words: clients look for them. */
    otherwise: 'The activity cannot be cancelled in its current state.',
  },

  /** Nobody has begun it. */
  wait: { scheduled: 'scheduled', pending: 'pending', in_progress: null, staged: null, complete: null, cancelled: null },
  /** It does something, or will as soon as it is its turn. */
  beUnderWay: { scheduled: null, pending: 'pending', in_progress: 'in_progress', staged: null, complete: null, cancelled: null },
  /** It does something, or will. */
  beToCome: { scheduled: 'scheduled', pending: 'pending', in_progress: 'in_progress', staged: null, complete: null, cancelled: null },
  /** It is not over, and what it is about belongs to it. */
  beOpen: { scheduled: 'scheduled', pending: 'pending', in_progress: 'in_progress', staged: 'staged', complete: null, cancelled: null },
  /** Nothing happens in it any more. */
  beOver: { scheduled: null, pending: null, in_progress: null, staged: null, complete: 'complete', cancelled: 'cancelled' },
  /** Its log has come to an end. */
  beQuiet: { scheduled: null, pending: null, in_progress: null, staged: 'staged', complete: 'complete', cancelled: 'cancelled' },
  /** It never began, or was undone. */
  beForNothing: { scheduled: null, pending: null, in_progress: null, staged: null, complete: null, cancelled: 'cancelled' },
});

export type ActivityState = StateOf<typeof activityLife>;

/** How what a runner has in hand ends. */
export type ActivityEnd = Extract<EventOf<typeof activityLife>, 'complete' | 'stage' | 'stop'>;

/** With which its life begins. */
export const firstState = (isLater: boolean): ActivityState => (isLater ? 'scheduled' : 'pending');

/** Of rows in `activities`, or in another name of that table. */
export const activitiesThat = (event: EventOf<typeof activityLife>, table = 'activities') =>
  activityLife.sqlPossible(`${table}.state`, event);
