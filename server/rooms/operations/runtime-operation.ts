/**
 * A runtime operation: a command that the configuration defines runs inside the first instance of an app or a worker that is live, once, also when the
 * platform is killed meanwhile. What it is given are arguments of its script, `$1` and on, and never a part of it.
 */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { activity, CommandFailed } from '../../kernel/activity.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Secrets } from '../../kernel/secrets.ts';
import type { Platform } from '../../platform.ts';
import { workersOf, type Operation, type ProjectModel } from '../builds/public.ts';
import { currentlyDeployed, shellScript, type Deployed } from '../deployments/public.ts';
import { runLasting, wakeForActivity } from '../deployments/work.ts';

const Input = Type.Object({
  environment: Type.String(),
  service: Type.String(),
  operation: Type.String(),
  /** Sealed, because parameters may be secrets. */
  parameters: Type.String(),
});
type Input = Static<typeof Input>;

/** The timeout of an operation whose configuration names none. */
const secondsUsual = 24 * 60 * 60;
/** How long an operation that is told to end may take, before it is killed. */
const stopSecondsMax = 10;

export const runtimeOperationActivity = activity({
  type: 'environment.operation',
  /** Operations share the queue of crons, so that long ones do not keep the deployments of other environments waiting. */
  queue: 'cron',
  usesMachine: true,
  isPatient: true,
  input: Input,
  run: async (work, platform) => {
    const { service, operation, environment } = work.input;
    await wakeForActivity(work, platform, environment);
    const { deployed, commands, timeout } = await definedIn(platform, work.activity.project_id, work.input);
    await work.step('announce', async () => work.log(`Running operation '${operation}' of ${service}`));
    const code = await runLasting(work, platform, {
      deployed,
      app: service,
      type: 'operation',
      argv: shellScript(commands.start, ...openParameters(platform.secrets, work.activity.project_id, work.input)),
      secondsMax: timeout ?? secondsUsual,
      stop: { script: commands.stop, secondsMax: stopSecondsMax },
    });
    if (code !== 0) throw new CommandFailed(`The operation '${operation}' of ${service} ended with exit code ${code}.`);
  },
});

/** The operation as it is deployed now: there may have been a deployment since somebody asked for it. */
async function definedIn(
  { db, secrets }: Platform,
  projectId: string,
  { environment, service, operation }: Input,
): Promise<Operation & { deployed: Deployed }> {
  const deployed = await currentlyDeployed(db, secrets, projectId, environment);
  if (!deployed) throw new Problem('conflict', `The environment ${environment} is not deployed any more.`);
  const defined = operationsOf(deployed.stack.model).get(service)?.[operation];
  if (!defined) throw new Problem('conflict', `There is no operation '${operation}' of ${service} any more.`);
  return { ...defined, deployed };
}

/** The operations of each app, and of each worker by its name `<app>--<worker>`. */
const operationsOf = ({ applications }: ProjectModel): Map<string, Record<string, Operation>> =>
  new Map(
    Object.values(applications).flatMap((app) => [app.name, ...Object.keys(workersOf(app))].map((name) => [name, app.operations] as const)),
  );

type Target = Pick<Input, 'environment' | 'service'>;

const purpose = (projectId: string, { environment, service }: Target) =>
  `parameters of an operation of ${service} in ${projectId} ${environment}`;

export const sealParameters = (secrets: Secrets, projectId: string, target: Target, parameters: readonly string[]): string =>
  secrets.seal(purpose(projectId, target), JSON.stringify(parameters));

const openParameters = (secrets: Secrets, projectId: string, input: Input): string[] =>
  Value.Parse(Type.Array(Type.String()), JSON.parse(secrets.open(purpose(projectId, input), input.parameters)));
