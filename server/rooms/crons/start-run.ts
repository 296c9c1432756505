/** Writes down that a cron is to run: because its time has come, or because somebody asked for it. */
import { startActivity, type Activity } from '../../kernel/activity.ts';
import type { Tx } from '../../kernel/sql.ts';
import type { Platform } from '../../platform.ts';
import { person, sentence, strong, type Actor } from '../activities/public.ts';
import type { Cron } from '../builds/public.ts';
import { environmentById, environmentSummary } from '../environments/public.ts';
import { cronSettingsOf, projectById } from '../projects/public.ts';
import { keepActivity, noteRun, type CronAddress } from './queries.ts';
import { cronActivity } from './run-cron.ts';

/** Undefined where the environment or its project is gone. */
export async function startRun(
  tx: Tx,
  { config }: Pick<Platform, 'config'>,
  cron: CronAddress,
  definition: Cron,
  /** What is owed is started however much waits already. */
  { actor, isOwed }: { actor: Actor; isOwed: boolean },
): Promise<Activity | undefined> {
  const { project_id, environment_id, app, name } = cron;
  const [target, project] = [await environmentById(tx, config.domain, project_id, environment_id), await projectById(tx, project_id)];
  if (!target || !project) return undefined;
  const { spec, commands, shutdown_timeout, timeout } = definition;
  const activity = await startActivity(tx, cronActivity, {
    project_id,
    environments: [target],
    beside: `cron ${app}`,
    isOwed,
    input: { environment: environment_id, app, cron: name },
    parameters: {
      user: actor.id,
      cluster: `${project_id}-${target.machine_name}`,
      environment: environment_id,
      application: app,
      cron: name,
      spec: { spec, commands, shutdown_timeout, timeout },
    },
    payload: { user: actor, project: { id: project.id, title: project.title }, environment: environmentSummary(target), cron: name },
    sentence: sentence`${person(actor)} ran cron ${strong(name)}`,
  });
  const { productionDays, otherDays } = cronSettingsOf(project.settings as Record<string, unknown>);
  await keepActivity(tx, activity.id, target.type === 'production' ? productionDays : otherDays);
  await noteRun(tx, cron, activity.id);
  return activity;
}
