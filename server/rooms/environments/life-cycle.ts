/**
 * The life of an environment: in which states it can be, what can happen in each, and what a caller is told otherwise. What more a verb needs, such as
 * code, is with the verb (verbs.ts).
 */
import { lifeCycle, type EventOf } from '../../kernel/life-cycle.ts';

const states = ['inactive', 'active', 'paused', 'deleting'] as const;
export type EnvironmentState = (typeof states)[number];

const sentences = {
  activate: 'Only an inactive environment that has code, and no activity pending or in progress, can be activated.',
  deactivate: 'Only an environment that is active or paused can be deactivated, and never that of the default branch.',
  pause: 'Only an active environment can be paused.',
  resume: 'Only a paused environment can be resumed.',
  redeploy: 'Only an environment that is active or paused can be redeployed; activate this one first.',
  maintain: 'Only an environment that is active or paused can be maintained; activate this one first.',
  deploy:
    'Changes are deployed automatically here; set enable_manual_deployments in the settings of an active environment to deploy by hand.',
  rollBack: 'Only an environment that is active or paused can be rolled back, to an earlier deployment whose builds are kept.',
  branch: 'Only an environment with code, which is not being deleted, can be branched.',
  merge: 'Only an environment that has code, no activity pending or in progress, and a parent that you administer can be merged.',
  synchronize: 'Only an environment that has code, no activity pending or in progress, and a parent that you may see can be synchronized.',
  initialize: 'The environment already has code, or an activity is pending or in progress; push to it instead.',
  runSourceOperation:
    'Source operations run on environments with code of their own, which the environment of a pull request does not have.',
  beingDeleted: 'The environment is being deleted.',
  delete: 'Only an inactive environment with no activity pending or in progress can be deleted, and never that of the default branch.',
  backUp: 'Only an active environment of which no backup is being made can be backed up.',
  deployByHand: 'Manual deployments are for active environments; activate this one first.',
  shareData: 'Data and resources are synchronized between active environments; this one and its parent have to be active.',
  runTask: 'Only tasks of an active environment can be run; activate or resume it first.',
  runCron: (state: EnvironmentState) => `The environment is ${state}.`,
  runOperation: (state: EnvironmentState) =>
    `Operations run in an active environment, and this one is ${state}; ${state === 'paused' ? 'resume it' : 'wait until it is active, or activate it'} first.`,
  /** The rest of a sentence that begins with the name of the environment. */
  enter: (state: EnvironmentState) => hindrances[state],
};

const hindrances: Record<EnvironmentState, string> = {
  inactive: 'is not active: activate it first',
  active: 'is active',
  paused: 'is paused: resume it first',
  deleting: 'is being deleted',
};

export const environmentLife = lifeCycle(states, {
  /* Events that decide whether an environment runs, and with what. */
  activate: { inactive: 'active', active: null, paused: null, deleting: null, otherwise: sentences.activate },
  deactivate: { inactive: null, active: 'inactive', paused: 'inactive', deleting: null, otherwise: sentences.deactivate },
  pause: { inactive: null, active: 'paused', paused: null, deleting: null, otherwise: sentences.pause },
  resume: { inactive: null, active: null, paused: 'active', deleting: null, otherwise: sentences.resume },
  redeploy: { inactive: null, active: 'active', paused: 'active', deleting: null, otherwise: sentences.redeploy },
  maintain: { inactive: null, active: 'active', paused: 'active', deleting: null, otherwise: sentences.maintain },
  deploy: { inactive: null, active: 'active', paused: 'active', deleting: null, otherwise: sentences.deploy },
  rollBack: { inactive: null, active: 'active', paused: 'active', deleting: null, otherwise: sentences.rollBack },
  resize: { inactive: 'active', active: 'active', paused: 'active', deleting: null, otherwise: sentences.beingDeleted },
  /** Restores a backup. After the machine was lost, an environment that had been paused is paused again. */
  restore: { inactive: 'active', active: 'active', paused: 'active', deleting: null },

  /* Events that change the code. New code activates the default branch, and a branch whose push asks for it; other branches stay inactive. */
  initialize: { inactive: 'active', active: 'active', paused: 'active', deleting: null, otherwise: sentences.initialize },
  push: { inactive: 'inactive', active: 'active', paused: 'active', deleting: null, otherwise: sentences.beingDeleted },
  synchronize: { inactive: 'inactive', active: 'active', paused: 'active', deleting: null, otherwise: sentences.synchronize },
  runSourceOperation: { inactive: 'inactive', active: 'active', paused: 'active', deleting: null, otherwise: sentences.runSourceOperation },

  /* Events that do not touch what runs for the environment. */
  branch: { inactive: 'inactive', active: 'active', paused: 'paused', deleting: null, otherwise: sentences.branch },
  merge: { inactive: 'inactive', active: 'active', paused: 'paused', deleting: null, otherwise: sentences.merge },
  edit: { inactive: 'inactive', active: 'active', paused: 'paused', deleting: null, otherwise: sentences.beingDeleted },
  delete: { inactive: 'deleting', active: null, paused: null, deleting: null, otherwise: sentences.delete },

  /* Uses that need something that runs, or could run again, and that leave the state as it is. */
  serve: { inactive: null, active: 'active', paused: null, deleting: null },
  sleep: { inactive: null, active: 'active', paused: null, deleting: null },
  holdData: { inactive: null, active: 'active', paused: 'paused', deleting: null },
  backUp: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.backUp },
  deployByHand: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.deployByHand },
  shareData: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.shareData },
  runTask: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.runTask },
  runCron: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.runCron },
  runOperation: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.runOperation },
  enter: { inactive: null, active: 'active', paused: null, deleting: null, otherwise: sentences.enter },

  /* Events in the course of an activity: a deployment becomes current, the stack is forgotten, a deletion is taken back. */
  run: { inactive: 'active', active: 'active', paused: 'active', deleting: null },
  forget: { inactive: 'inactive', active: 'inactive', paused: 'inactive', deleting: 'deleting' },
  keep: { inactive: null, active: null, paused: null, deleting: 'inactive' },
});

export type EnvironmentEvent = EventOf<typeof environmentLife>;
