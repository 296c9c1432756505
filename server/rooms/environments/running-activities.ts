/** The durable work on what runs for environments. */
import { Type } from 'typebox';
import { activity } from '../../kernel/activity.ts';
import { pauseEnvironment, removeStack, resumeEnvironment } from '../deployments/room.ts';
import { deployBranch, Deploying } from './deploy-branch.ts';

const Input = Type.Object({ environment: Type.String() });

export const activateActivity = activity({
  type: 'environment.activate',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ environment: Type.String(), deploying: Deploying }),
  run: (work, platform) => deployBranch(work, platform, work.input.environment, { ...work.input.deploying, activate: true }),
});

export const redeployActivity = activity({
  type: 'environment.redeploy',
  queue: 'default',
  usesMachine: true,
  input: Type.Object({ environment: Type.String(), deploying: Deploying }),
  run: (work, platform) => deployBranch(work, platform, work.input.environment, { ...work.input.deploying, restart: true }),
});

export const pauseActivity = activity({
  type: 'environment.pause',
  queue: 'default',
  usesMachine: true,
  input: Input,
  run: (work, platform) => pauseEnvironment(work, platform, work.input.environment),
});

export const resumeActivity = activity({
  type: 'environment.resume',
  queue: 'default',
  usesMachine: true,
  input: Input,
  run: (work, platform) => resumeEnvironment(work, platform, work.input.environment),
});

/** What it destroys does not come back, so it is not stopped half way. */
export const deactivateActivity = activity({
  type: 'environment.deactivate',
  queue: 'default',
  usesMachine: true,
  cancellable: false,
  input: Input,
  run: (work, platform) => removeStack(work, platform, work.input.environment),
});
