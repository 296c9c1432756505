/**
 * The verbs that change whether, and with what, an environment runs: one row each. Its operation, its link, the moment at which its activity is started and
 * the test that walks the life cycle all follow from the row. In which states a verb is possible, and what is said otherwise, is the row of the same name in
 * life-cycle.ts.
 */
import { Type, type Static, type TObject } from 'typebox';
import type { ActivityDefinition } from '../../kernel/activity.ts';
import type { Endpoint } from '../../kernel/operation.ts';
import { closed } from '../../kernel/schema.ts';
import type { Tx } from '../../kernel/sql.ts';
import { sentence, strong, type environment as named, type person } from '../activities/public.ts';
import { rollbackTarget } from '../deployments/public.ts';
import { areMet, hasCode, hindrance, isNotOfDefaultBranch, isQuiet, type Condition } from './conditions.ts';
import { noRolling } from './deploy-branch.ts';
import { InitialResources } from './initial-resources.ts';
import { environmentLife, type EnvironmentEvent } from './life-cycle.ts';
import type { Environment } from './queries.ts';
import {
  activateActivity,
  deactivateActivity,
  deployActivity,
  maintainActivity,
  pauseActivity,
  redeployActivity,
  resumeActivity,
  rollbackActivity,
} from './running-activities.ts';

/** What a verb deploys, and so what there must be room for before its activity is started. */
export type Deploys =
  | 'nothing'
  /** The code of its branch. */
  | 'code'
  /** The code, or what runs where deployments are manual: nobody restarts an environment to get what is staged. */
  | 'code unless manual'
  /** What ran until it was paused. */
  | 'what ran'
  /** Whether there is room for it is for the activity to find out. */
  | 'an earlier deployment';

interface Asked<Body> {
  tx: Tx;
  target: Environment;
  body: Body;
  who: ReturnType<typeof person>;
  where: ReturnType<typeof named>;
}

/** The values that an activity of a verb is started with. */
interface Beginning {
  input: unknown;
  sentence: ReturnType<typeof sentence>;
  /** Where containers that are new get their sizes from, if somebody says so. */
  init?: 'default' | 'minimum' | 'parent' | undefined;
  parameters?: Record<string, unknown>;
  payload?: Record<string, unknown>;
}

export interface Verb<Body = unknown> {
  /** The name of the operation in the published API. */
  operation: string;
  endpoint: Endpoint;
  summary: string;
  permission: 'environment:admin' | 'environment:push';
  /** What the verb needs beside the right state. */
  needs?: readonly Condition[];
  deploys: Deploys;
  /** For a verb that cannot be asked for twice in a row: what the environment is about to be, such as paused. */
  once?: string;
  activity: ActivityDefinition;
  body?: TObject;
  example?: Record<string, unknown>;
  begin(asked: Asked<Body>): Beginning | Promise<Beginning>;
}

/** Gives `begin` the type of the body. */
const withBody = <Body extends TObject>(verb: Omit<Verb<Static<Body>>, 'body'> & { body: Body; example: Static<Body> }): Verb => verb;

const Strategy = Type.Optional(Type.Unsafe<'stopstart' | 'rolling'>({ type: 'string', enum: ['stopstart', 'rolling'] }));

function refuseRolling({ can_rolling_deploy }: Environment, strategy: 'stopstart' | 'rolling') {
  if (strategy === 'rolling' && !can_rolling_deploy) throw noRolling();
}

export type VerbName = 'activate' | 'deactivate' | 'pause' | 'resume' | 'redeploy' | 'maintain' | 'deploy' | 'rollBack';

export const verbs: Record<VerbName & EnvironmentEvent, Verb> = {
  activate: withBody({
    operation: 'activateEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/activate',
    summary: "Activate an environment: build its code and run it, with a clone of its parent's data",
    permission: 'environment:admin',
    needs: [hasCode, isQuiet],
    deploys: 'code',
    once: 'activated',
    activity: activateActivity,
    body: closed({ resources: InitialResources('default', 'minimum', 'parent') }),
    example: {},
    begin: ({ target, body, who, where }) => {
      const init = body.resources?.init ?? undefined;
      const input = { environment: target.id, deploying: init === undefined ? {} : { init } };
      return { input, init, sentence: sentence`${who} activated environment ${where}` };
    },
  }),
  deactivate: {
    operation: 'deactivateEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deactivate',
    summary: 'Deactivate an environment: all that runs, and all its data, is destroyed; its code stays',
    permission: 'environment:admin',
    needs: [isNotOfDefaultBranch],
    deploys: 'nothing',
    once: 'deactivated',
    activity: deactivateActivity,
    begin: ({ target, who, where }) => ({
      input: { environment: target.id },
      sentence: sentence`${who} deactivated environment ${where}`,
    }),
  },
  pause: {
    operation: 'pauseEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/pause',
    summary: 'Pause an environment: stop its containers, keep its data',
    permission: 'environment:admin',
    deploys: 'nothing',
    once: 'paused',
    activity: pauseActivity,
    begin: ({ target, who, where }) => ({ input: { environment: target.id }, sentence: sentence`${who} paused environment ${where}` }),
  },
  resume: {
    operation: 'resumeEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/resume',
    summary: 'Resume a paused environment',
    permission: 'environment:admin',
    deploys: 'what ran',
    once: 'resumed',
    activity: resumeActivity,
    begin: ({ target, who, where }) => ({ input: { environment: target.id }, sentence: sentence`${who} resumed environment ${where}` }),
  },
  redeploy: withBody({
    operation: 'redeployEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/redeploy',
    summary: 'Redeploy an environment: start its applications anew, from the builds that are there',
    permission: 'environment:push',
    deploys: 'code unless manual',
    activity: redeployActivity,
    body: closed({ strategy: Strategy }),
    example: {},
    begin: ({ target, body: { strategy }, who, where }) => ({
      input: { environment: target.id, deploying: strategy === undefined ? {} : { strategy } },
      sentence: sentence`${who} redeployed environment ${where}`,
    }),
  }),
  maintain: {
    operation: 'maintenanceRedeployEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/maintenance-redeploy',
    summary: 'Redeploy an environment, on the newest images of its applications and services',
    permission: 'environment:push',
    deploys: 'code unless manual',
    activity: maintainActivity,
    begin: ({ target, who, where }) => ({
      input: { environment: target.id },
      sentence: sentence`${who} redeployed environment ${where} for maintenance`,
    }),
  },
  deploy: withBody({
    operation: 'deployEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deploy',
    summary: 'Deploy all staged changes of an environment together',
    permission: 'environment:push',
    // The verb is offered even if nothing is staged: its link tells clients that what they push will be staged, and changes of the project wait for it, too.
    needs: [{ holds: ({ enable_manual_deployments }) => enable_manual_deployments }],
    deploys: 'code',
    activity: deployActivity,
    body: closed({ strategy: Strategy }),
    example: { strategy: 'stopstart' },
    begin: ({ target, body: { strategy = 'stopstart' }, who, where }) => {
      refuseRolling(target, strategy);
      const input = { environment: target.id, deploying: { strategy }, onlyStaged: false };
      return { input, sentence: sentence`${who} deployed the staged changes of ${where}` };
    },
  }),
  /** An extension of the published API. */
  rollBack: withBody({
    operation: 'rollBackEnvironment',
    endpoint: 'POST /projects/{projectId}/environments/{environmentId}/rollback',
    summary: 'Roll an environment back: an earlier deployment runs again, without a build, and with the data as it is now',
    permission: 'environment:push',
    needs: [{ holds: ({ can_rollback }) => can_rollback }],
    deploys: 'an earlier deployment',
    activity: rollbackActivity,
    body: closed({
      deployment: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9]{1,64}$',
          description: 'Its id or its number; without it, what ran before the code that runs now.',
        }),
      ),
      strategy: Strategy,
    }),
    example: {},
    begin: async ({ tx, target, body: { deployment: wanted, strategy = 'stopstart' }, who, where }) => {
      refuseRolling(target, strategy);
      const { id, number, commit, created_at } = await rollbackTarget(tx, target.project_id, target.id, wanted);
      return {
        input: { environment: target.id, deployment: { id, number, commit, created_at }, strategy },
        parameters: { deployment: id },
        payload: { deployment: { id, number, commit } },
        sentence: sentence`${who} rolled back environment ${where} to deployment ${strong(String(number))}`,
      };
    },
  }),
};

/** Whether a verb is possible: asked for the link, for the request, and again when the activity is started. */
export const isPossible = (name: VerbName, environment: Environment): boolean =>
  environmentLife.possible(environment.status, name) && areMet(verbs[name].needs ?? [], environment);

/** Why a verb is not possible: the state, or else what it needs beside it. */
export const notPossible = (name: VerbName, environment: Environment): string => hindrance(environment, name, verbs[name].needs ?? []);
