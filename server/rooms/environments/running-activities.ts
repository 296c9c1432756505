/** The durable work on what runs for environments. */
import { Type } from 'typebox';
import { activity } from '../../kernel/activity.ts';
import { deployStack, pauseStack, removeStack, resumeStack } from '../deployments/work.ts';
import { isOfSuspended } from '../organizations/public.ts';
import { deployBranch, DeployOptions, nothingWhileSuspended } from './deploy-branch.ts';
import { stagedTexts } from './queries.ts';

/** All activities in this file use the machine, and wait in the same queue. */
const shared = { queue: 'default', usesMachine: true } as const;
const Input = Type.Object({ environment: Type.String() });
const DeployingInput = Type.Object({ environment: Type.String(), deploying: DeployOptions });

export const activateActivity = activity({
  ...shared,
  type: 'environment.activate',
  input: DeployingInput,
  run: (work, platform) =>
    deployBranch(work, platform, work.input.environment, { ...work.input.deploying, occasion: 'code', activate: true }),
});

export const redeployActivity = activity({
  ...shared,
  type: 'environment.redeploy',
  input: DeployingInput,
  run: (work, platform) =>
    deployBranch(work, platform, work.input.environment, { ...work.input.deploying, occasion: 'restart', restart: 'apps' }),
});

/** A redeployment after which nothing runs on an outdated image: services are restarted for it, too. */
export const maintainActivity = activity({
  ...shared,
  type: 'maintenance.upgrade',
  input: Input,
  run: (work, platform) =>
    deployBranch(work, platform, work.input.environment, { occasion: 'restart', restart: 'apps and outdated services' }),
});

/** Applies all that is staged together, and with it ends the activities that staged it. */
export const deployActivity = activity({
  ...shared,
  type: 'environment.deploy',
  input: Type.Object({
    environment: Type.String(),
    deploying: DeployOptions,
    /** Whether to do nothing where nothing is staged. */
    onlyStaged: Type.Boolean(),
  }),
  run: async (work, platform) => {
    const { environment, deploying, onlyStaged } = work.input;
    const staged = await work.step('list staged changes', async () => {
      const texts = await stagedTexts(platform.db, work.activity.project_id, environment);
      for (const line of stagedLines(texts)) work.log(line);
      return texts.length;
    });
    if (staged > 0 || !onlyStaged) await deployBranch(work, platform, environment, { ...deploying, occasion: 'release' });
  },
});

const stagedLines = (texts: readonly string[]) =>
  texts.length === 0 ? ['Nothing is staged'] : ['Deploying the staged changes:', ...texts.map((text) => `  ${text}`)];

/** Runs an earlier deployment again: its code, configuration and sizes, with today's variables and settings, and the data as it is. */
export const rollbackActivity = activity({
  ...shared,
  type: 'environment.rollback',
  input: Type.Object({
    environment: Type.String(),
    deployment: Type.Object({ id: Type.String(), number: Type.Integer(), commit: Type.String(), created_at: Type.String() }),
    strategy: Type.Union([Type.Literal('stopstart'), Type.Literal('rolling')]),
  }),
  run: async (work, platform) => {
    const { environment, deployment, strategy } = work.input;
    const { id, number, commit, created_at } = deployment;
    const isHeldBack = await work.step('announce', async () => {
      const isSuspended = await isOfSuspended(platform.db, work.activity.project_id);
      work.log(
        isSuspended ? nothingWhileSuspended : `Rolling back to deployment ${number} of ${created_at} (commit ${commit.slice(0, 7)})`,
      );
      return isSuspended;
    });
    if (isHeldBack) return;
    await deployStack(work, platform, { kind: 'rollback', environment, commit, strategy, deployment: id });
  },
});

export const pauseActivity = activity({
  ...shared,
  type: 'environment.pause',
  input: Input,
  run: (work, platform) => pauseStack(work, platform, work.input.environment),
});

export const resumeActivity = activity({
  ...shared,
  type: 'environment.resume',
  input: Input,
  run: (work, platform) => resumeStack(work, platform, work.input.environment),
});

/** A deactivation destroys data for good, so it is not stopped halfway. */
export const deactivateActivity = activity({
  ...shared,
  type: 'environment.deactivate',
  cancellable: false,
  input: Input,
  run: (work, platform) => removeStack(work, platform, work.input.environment),
});
