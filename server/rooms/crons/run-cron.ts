/** One run of a cron: its command, in the first instance of its app, once. What it says is in the log of the activity and in the app's own. */
import { Type, type Static } from 'typebox';
import { activity, CommandFailed, type Work } from '../../kernel/activity.ts';
import type { Platform } from '../../platform.ts';
import { currentlyDeployed, shellScript, type Deployed } from '../deployments/public.ts';
import { runLasting } from '../deployments/work.ts';
import { environmentById } from '../environments/public.ts';
import { takeLeftOut } from './queries.ts';
import { environmentLife } from '../environments/life-cycle.ts';

const Input = Type.Object({ environment: Type.String(), app: Type.String(), cron: Type.String() });
type CronInput = Static<typeof Input>;

export const cronActivity = activity({
  type: 'environment.cron',
  queue: 'cron',
  usesMachine: true,
  isPatient: true,
  input: Input,
  run: runCron,
});

async function runCron(work: Work<CronInput>, platform: Platform): Promise<void> {
  const { app, cron: name } = work.input;
  const deployed = await currentlyDeployed(platform.db, platform.secrets, work.activity.project_id, work.input.environment);
  const obstacle = await work.step('look whether it can run', () => obstacleTo(work, platform, deployed));
  const cron = deployed?.stack.model.applications[app]?.crons[name];
  if (obstacle !== null || !deployed || !cron) return work.log(`W: ${obstacle ?? 'Nothing is deployed any more.'} The cron is not run.`);
  await announce(work);
  const code = await runLasting(work, platform, {
    deployed,
    app,
    type: 'cron',
    argv: shellScript(cron.commands.start),
    secondsMax: cron.timeout,
    stop: { script: cron.commands.stop, secondsMax: cron.shutdown_timeout },
    log: { name: 'cron', heading: `Launching cron ${name}` },
  });
  if (code !== 0) throw new CommandFailed(`The cron ended with exit code ${code}.`);
}

/** The run may have waited for long, and the environment may have been changed, paused or deleted meanwhile. */
async function obstacleTo(
  { activity: { project_id }, input }: Work<CronInput>,
  { db, config }: Platform,
  deployed: Deployed | undefined,
): Promise<string | null> {
  const { environment, app, cron } = input;
  if (!deployed?.stack.model.applications[app]?.crons[cron]) return `There is no cron '${cron}' of '${app}' any more.`;
  const found = await environmentById(db, config.domain, project_id, environment);
  if (!found) return 'The environment is gone.';
  if (!environmentLife.possible(found.status, 'runCron')) return environmentLife.otherwise(found.status, 'runCron');
  return found.sleeping_since === null ? null : 'The environment sleeps.';
}

async function announce(work: Work<CronInput>) {
  const { environment, app, cron: name } = work.input;
  await work.record('tell of slots that were left out', async (tx) => {
    const leftOut = await takeLeftOut(tx, { project_id: work.activity.project_id, environment_id: environment, app, name });
    work.log(`Running cron ${name} of application ${app}`);
    if (leftOut > 0) work.log(`W: The cron was due ${leftOut} more ${leftOut === 1 ? 'time' : 'times'} while this run waited.`);
  });
}
