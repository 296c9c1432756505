/**
 * The life of a deployment: it is prepared, then it is what its environment runs or it has failed, and once another takes its place it is history that can be
 * gone back to.
 */
import { lifeCycle, type StateOf } from '../../kernel/life-cycle.ts';

export const deploymentLife = lifeCycle(['preparing', 'current', 'replaced', 'failed'], {
  /* Events that change the state of a deployment. */
  settle: { preparing: 'current', current: null, replaced: null, failed: null },
  fail: { preparing: 'failed', current: null, replaced: null, failed: null },
  /** Another deployment takes its place, or nothing runs in the environment any more. */
  replace: { preparing: null, current: 'replaced', replaced: null, failed: null },

  /* Uses of a deployment that leave its state as it is. */
  prepare: { preparing: 'preparing', current: null, replaced: null, failed: null },
  run: { preparing: null, current: 'current', replaced: null, failed: null },
  rollBackTo: { preparing: null, current: null, replaced: 'replaced', failed: null },
  /** The deployment came to run, so people may look at it. */
  show: { preparing: null, current: 'current', replaced: 'replaced', failed: null },
  /** Images and capacity are kept for the deployment. */
  occupy: { preparing: 'preparing', current: 'current', replaced: null, failed: null },
  /** What was built for the deployment is kept. */
  keepBuilds: { preparing: 'preparing', current: 'current', replaced: 'replaced', failed: null },
  prune: { preparing: null, current: null, replaced: 'replaced', failed: 'failed' },
  /** The deployment goes with a machine that was lost. */
  discard: { preparing: 'preparing', current: null, replaced: 'replaced', failed: 'failed' },
});

export type DeploymentState = StateOf<typeof deploymentLife>;
