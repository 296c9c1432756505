/**
 * Hooks of apps, run inside: in an instance where there is one, else in a container that only waits. Their words go to the activity's log and to the
 * app's own, without what must not be seen.
 */
import { CommandFailed, type Work } from '../../../kernel/activity.ts';
import type { Machine } from '../../../machine.ts';
import type { App } from '../../builds/public.ts';
import { maskOf, openOutput } from '../../builds/work.ts';
import { addToLog, tellInLog } from '../inside/app-logs.ts';
import { instancesOf, onceContainerOf, runnablesOf, userCommand } from '../stack/containers.ts';
import { located, type StackLocations } from '../stack/located.ts';
import { followInside } from '../inside/inside.ts';
import type { Deployed } from '../queries.ts';
import { serviceAddresses } from './services.ts';
import { startBoosted } from './start-boost.ts';
import { hiddenValues } from '../stack/hidden-values.ts';

export type HookName = 'sanitize' | 'deploy' | 'post_deploy';

/** Hooks may take as long as they like, within reason. */
const hookSecondsMax = 24 * 60 * 60;

export interface HookRun {
  work: Pick<Work<unknown>, 'log' | 'command'>;
  machine: Machine;
  locations: StackLocations;
  deployed: Deployed;
  signal: AbortSignal;
}

export const appsWith = ({ stack: { model } }: Deployed, hook: HookName): App[] =>
  Object.values(model.applications).filter(({ hooks }) => hooks[hook] !== null && hooks[hook].trim() !== '');

/** A hook that fails is noted in the log, and the other hooks still run. */
export async function runHooks(run: HookRun, hook: 'deploy' | 'post_deploy'): Promise<void> {
  for (const app of appsWith(run.deployed, hook)) {
    run.work.log(`  Executing ${hook} hook for application ${app.name}`);
    const container = await firstInstance(run, app);
    const code = container === undefined ? await inOnceContainer(run, app, hook) : await runHook(run, app, hook, container);
    run.work.command({ app: app.name, type: hook, exit_code: code });
    if (code !== 0) run.work.log(`    W: The ${hook} hook of application ${app.name} ended with exit code ${code}.`);
  }
}

/** Runs before anything else uses the data: nobody may see personal data that was not taken out. */
export async function sanitize(run: HookRun): Promise<void> {
  for (const app of appsWith(run.deployed, 'sanitize')) {
    run.work.log(`  Executing sanitize hook for application ${app.name}`);
    const code = await inOnceContainer(run, app, 'sanitize');
    run.work.command({ app: app.name, type: 'sanitize', exit_code: code });
    if (code !== 0)
      throw new CommandFailed(
        `The sanitize hook of application '${app.name}' ended with exit code ${code}; the environment is not opened, because its data may still hold what the hook should remove. Repair the hook, and try again.`,
      );
  }
}

async function firstInstance({ machine: { runtime }, deployed: { stack, generations } }: HookRun, app: App): Promise<string | undefined> {
  const runnable = runnablesOf(stack).find(({ name }) => name === app.name);
  const [first] = runnable ? instancesOf(stack, generations, runnable, {}) : [];
  return first && (await runtime.state(first.name)).status === 'running' ? first.name : undefined;
}

async function inOnceContainer(run: HookRun, app: App, hook: HookName): Promise<number> {
  const { machine, locations, deployed } = run;
  const wanted = onceContainerOf(deployed.stack, app, await serviceAddresses(machine, deployed.stack));
  await machine.runtime.remove(wanted.name);
  try {
    await startBoosted(machine.runtime, located(wanted, locations), run.signal);
    return await runHook(run, app, hook, wanted.name);
  } finally {
    await machine.runtime.remove(wanted.name);
  }
}

async function runHook(run: HookRun, app: App, hook: HookName, container: string): Promise<number> {
  const { work, machine, deployed, signal } = run;
  const { stack } = deployed;
  let appended = tellInLog(machine, stack, app.name, hook, `Launching ${hook} hook`);
  const output = openOutput(
    (line) => {
      work.log(line);
      appended = appended.then(() => addToLog(machine, stack, app.name, hook, `${line.replace(/^ {4}/, '')}\n`));
    },
    maskOf(hiddenValues(stack, machine)),
  );
  try {
    const follow = (stdout: Parameters<typeof output.follow>[0], stderr: typeof stdout) => output.follow(stdout, stderr);
    return await followInside(machine.runtime, container, userCommand(app.hooks[hook] ?? ''), follow, {
      secondsMax: hookSecondsMax,
      signal,
    });
  } finally {
    await appended;
  }
}
