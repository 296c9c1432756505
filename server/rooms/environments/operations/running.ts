import { Type } from 'typebox';
import { operation, updated } from '../../../kernel/operation.ts';
import { closed } from '../../../kernel/schema.ts';
import { EnvironmentEntity } from '../environment.ts';
import { InitialResources } from '../initial-resources.ts';
import { noRolling } from '../deploy-branch.ts';
import {
  activateActivity,
  deactivateActivity,
  deployActivity,
  pauseActivity,
  redeployActivity,
  resumeActivity,
} from '../running-activities.ts';
import { impossible, possibleWhen, startRunning } from '../start-running.ts';

const Strategy = Type.Optional(Type.Unsafe<'stopstart' | 'rolling'>({ type: 'string', enum: ['stopstart', 'rolling'] }));

export const activateEnvironment = operation({
  summary: "Activate an environment: build its code and run it, with a clone of its parent's data",
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/activate',
  on: EnvironmentEntity,
  rel: '#activate',
  permission: 'environment:admin',
  allowedWhen: possibleWhen.activate,
  otherwise: impossible.activate,
  body: closed({ resources: InitialResources('default', 'minimum', 'parent') }),
  example: {},
  returns: updated(EnvironmentEntity),
  handle: ({ target, body: { resources }, caller }, platform) => {
    const init = resources?.init ?? undefined;
    const input = { environment: target.id, deploying: init === undefined ? {} : { init } };
    return startRunning(platform, target, 'activate', { definition: activateActivity, input, init }, caller);
  },
});

export const deactivateEnvironment = operation({
  summary: 'Deactivate an environment: all that runs, and all its data, is destroyed; its code stays',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deactivate',
  on: EnvironmentEntity,
  rel: '#deactivate',
  permission: 'environment:admin',
  allowedWhen: possibleWhen.deactivate,
  otherwise: impossible.deactivate,
  returns: updated(EnvironmentEntity),
  handle: ({ target, caller }, platform) =>
    startRunning(platform, target, 'deactivate', { definition: deactivateActivity, input: { environment: target.id } }, caller),
});

export const pauseEnvironment = operation({
  summary: 'Pause an environment: stop its containers, keep its data',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/pause',
  on: EnvironmentEntity,
  rel: '#pause',
  permission: 'environment:admin',
  allowedWhen: possibleWhen.pause,
  otherwise: impossible.pause,
  returns: updated(EnvironmentEntity),
  handle: ({ target, caller }, platform) =>
    startRunning(platform, target, 'pause', { definition: pauseActivity, input: { environment: target.id } }, caller),
});

export const resumeEnvironment = operation({
  summary: 'Resume a paused environment',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/resume',
  on: EnvironmentEntity,
  rel: '#resume',
  permission: 'environment:admin',
  allowedWhen: possibleWhen.resume,
  otherwise: impossible.resume,
  returns: updated(EnvironmentEntity),
  handle: ({ target, caller }, platform) =>
    startRunning(platform, target, 'resume', { definition: resumeActivity, input: { environment: target.id } }, caller),
});

export const redeployEnvironment = operation({
  summary: 'Redeploy an environment: start its applications anew, from the builds that are there',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/redeploy',
  on: EnvironmentEntity,
  rel: '#redeploy',
  permission: 'environment:push',
  allowedWhen: possibleWhen.redeploy,
  otherwise: impossible.redeploy,
  body: closed({ strategy: Strategy }),
  example: {},
  returns: updated(EnvironmentEntity),
  handle: ({ target, body: { strategy }, caller }, platform) => {
    const input = { environment: target.id, deploying: strategy === undefined ? {} : { strategy } };
    return startRunning(platform, target, 'redeploy', { definition: redeployActivity, input }, caller);
  },
});

export const deployEnvironment = operation({
  summary: 'Deploy all staged changes of an environment together',
  endpoint: 'POST /projects/{projectId}/environments/{environmentId}/deploy',
  on: EnvironmentEntity,
  rel: '#deploy',
  permission: 'environment:push',
  allowedWhen: possibleWhen.deploy,
  otherwise: impossible.deploy,
  body: closed({ strategy: Strategy }),
  example: { strategy: 'stopstart' },
  returns: updated(EnvironmentEntity),
  handle: async ({ target, body: { strategy = 'stopstart' }, caller }, platform) => {
    if (strategy === 'rolling' && !target.can_rolling_deploy) throw noRolling();
    const input = { environment: target.id, deploying: { strategy }, onlyStaged: false };
    return startRunning(platform, target, 'deploy', { definition: deployActivity, input }, caller);
  },
});
