/**
 * What a deployment needs before it can begin: the slugs of its apps, and the images of its services. Both may take minutes, and neither needs the other, so that
 * they are made side by side. In the log each is heard in its turn. The first that fails stops the other; what was completed until then is kept for the next attempt.
 */
import type { Work } from '../../../kernel/activity.ts';
import type { Platform } from '../../../platform.ts';
import type { ProjectModel, Slug } from '../../builds/public.ts';
import { buildApps, oneVoiceAtATime } from '../../builds/work.ts';
import { effectiveVariables, type EffectiveVariable } from '../../variables/public.ts';
import { ensureEntropy } from '../queries.ts';
import { prepareTypes, serviceTypesOf } from '../stack/stack-locations.ts';
import type { DeployRequest } from './deploy-request.ts';

/** Returns slugs by application and task. `then`: variables of an earlier deployment, used instead of today's. */
export async function build(
  work: Work<unknown>,
  platform: Platform,
  request: Pick<DeployRequest, 'environment' | 'commit'>,
  model: ProjectModel,
  then?: readonly EffectiveVariable[],
): Promise<Record<string, Slug>> {
  const speak = oneVoiceAtATime(work.log);
  const [apps, services] = [speak(), speak()];
  const failed = new AbortController();
  const orStop = async <T>(making: Promise<T>, { end }: typeof apps): Promise<T> => {
    try {
      return await making;
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      end();
    }
  };
  const stopped = stoppedBy(work, failed.signal);
  const [slugs] = await Promise.allSettled([
    orStop(buildAll({ ...stopped, log: apps.log }, platform, request, model, then), apps),
    orStop(prepareServices({ ...stopped, log: services.log }, platform, model), services),
  ]);
  if (slugs.status === 'rejected' || failed.signal.aborted) throw failed.signal.reason;
  return slugs.value;
}

/** The given work, except that each of its steps ends early when the signal is aborted. */
const stoppedBy = (work: Work<unknown>, stop: AbortSignal): Work<unknown> => ({
  ...work,
  step: (name, run, undo) => work.step(name, (signal) => run(AbortSignal.any([signal, stop])), undo),
});

async function buildAll(
  work: Work<unknown>,
  platform: Platform,
  request: Pick<DeployRequest, 'environment' | 'commit'>,
  model: ProjectModel,
  then: readonly EffectiveVariable[] | undefined,
): Promise<Record<string, Slug>> {
  const { db, git, config, secrets } = platform;
  const { project_id } = work.activity;
  const { runtime, images, volumes } = await platform.machine();
  const [entropy, variables] = await Promise.all([
    db.transaction().execute((tx) => ensureEntropy(tx, secrets, project_id)),
    then ?? effectiveVariables(db, secrets, project_id, request.environment),
  ]);
  const asked = {
    project: { id: project_id, entropy },
    environment: { id: request.environment },
    commit: request.commit,
    model,
    variables,
  };
  return buildApps(work, { runtime, images, volumes, git, db, config }, asked);
}

/** Takes no step where all images of services are there, which is nearly always so. */
async function prepareServices(work: Work<unknown>, platform: Platform, model: ProjectModel): Promise<void> {
  const machine = await platform.machine();
  const types = serviceTypesOf({ model });
  const built = await Promise.all(types.map((type) => machine.images.built(type)));
  if (built.every((image) => image !== undefined)) return;
  await work.step('prepare images', (signal) => prepareTypes(work, platform.db, machine, types, signal));
}
