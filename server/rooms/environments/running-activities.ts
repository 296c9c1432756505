/** The durable work on what runs for environments. */
import { Type } from 'typebox';
import { activity } from '../../kernel/activity.ts';
import { pauseEnvironment, removeStack, resumeEnvironment } from '../deployments/room.ts';
import { deployBranch, Deploying } from './deploy-branch.ts';

/** All of them touch the machine, one environment at a time. */
const shared = { queue: 'default', usesMachine: true } as const;
const Input = Type.Object({ environment: Type.String() });
const DeployingInput = Type.Object({ environment: Type.String(), deploying: Deploying });

export const activateActivity = activity({
  ...shared,
  type: 'environment.activate',
  input: DeployingInput,
  run: (work, platform) => deployBranch(work, platform, work.input.environment, { ...work.input.deploying, activate: true }),
});

export const redeployActivity = activity({
  ...shared,
  type: 'environment.redeploy',
  input: DeployingInput,
  run: (work, platform) => deployBranch(work, platform, work.input.environment, { ...work.input.deploying, restart: true }),
});

export const pauseActivity = activity({
  ...shared,
  type: 'environment.pause',
  input: Input,
  run: (work, platform) => pauseEnvironment(work, platform, work.input.environment),
});

export const resumeActivity = activity({
  ...shared,
  type: 'environment.resume',
  input: Input,
  run: (work, platform) => resumeEnvironment(work, platform, work.input.environment),
});

/** What it destroys does not come back, so it is not stopped half way. */
export const deactivateActivity = activity({
  ...shared,
  type: 'environment.deactivate',
  cancellable: false,
  input: Input,
  run: (work, platform) => removeStack(work, platform, work.input.environment),
});
