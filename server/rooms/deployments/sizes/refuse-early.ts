/**
 * What is asked for is refused with the reply, where it is clear by then that it is more than there is: nothing is begun that must fail. What cannot be
 * told yet, because the code is still to come or cannot be read, is left to the activity. That looks again in any case: much can happen until its turn.
 */
import type { Platform } from '../../../platform.ts';
import type { Tx } from '../../../kernel/sql.ts';
import type { ProjectModel } from '../../builds/public.ts';
import { scaledSizes, type InstanceCounts } from './autoscaled.ts';
import { amountsOf, refuseMoreThanThereIs, refuseToRunAgain } from './capacity.ts';
import type { SizesRequest } from '../deploy/deploy-request.ts';
import { sizesFrom, sizesOf } from '../deploy/ongoing-deployment.ts';
import { notedAmounts, notedFreeBytes } from './machine-amounts.ts';
import { modelOf, nextCommitOf, usualSizes } from '../deploy/next-stack.ts';
import { currentlyDeployed, currentStack, subjectOf } from '../queries.ts';
import { refuseTooLarge, refuseUnfit, type RestoredData, type RestorePlan } from '../deploy/restoring.ts';
import { sizesAsFarAs } from './sizes.ts';

interface Address {
  project_id: string;
  id: string;
}

/** The model that would be deployed now; undefined where it cannot be told. This reads the repository, so call it before the transaction. */
export async function modelIfReadable(platform: Platform, { project_id, id }: Address): Promise<ProjectModel | undefined> {
  const { db, secrets } = platform;
  const subject = await subjectOf(db, project_id, id);
  if (!subject) return undefined;
  const current = await currentlyDeployed(db, secrets, project_id, id);
  const { model, hindrance } = await modelOf(platform, project_id, await nextCommitOf(db, subject), current);
  return hindrance ? undefined : model;
}

/** Throws a Problem where a deployment of the model would get more than there is. `given` is what somebody said about the sizes of new containers. */
export async function refuseEarly(
  tx: Tx,
  platform: Pick<Platform, 'config'>,
  address: Address,
  model: ProjectModel,
  given: Partial<SizesRequest> = {},
): Promise<void> {
  const subject = await subjectOf(tx, address.project_id, address.id);
  if (!subject) return;
  const request = { ...(await usualSizes(tx, platform.config, subject, subject.stack_id !== null)), ...given };
  const { sizes } = sizesAsFarAs(model, await sizesFrom(tx, subject, request));
  await refuseMoreThanThereIs(tx, platform.config, subject, amountsOf(model, sizes), await notedAmounts(tx));
}

/** Throws a Problem where an environment that is to run again as it was deployed would get more than there is. */
export async function refuseResumeEarly(tx: Tx, { config }: Pick<Platform, 'config'>, address: Address): Promise<void> {
  const subject = await subjectOf(tx, address.project_id, address.id);
  if (subject) await refuseToRunAgain(tx, config, subject, await notedAmounts(tx));
}

/** Throws a Problem where the numbers of instances would need more than there is. */
export async function refuseScalingEarly(
  tx: Tx,
  { config, secrets }: Pick<Platform, 'config' | 'secrets'>,
  address: Address,
  counts: InstanceCounts,
): Promise<void> {
  const subject = await subjectOf(tx, address.project_id, address.id);
  const current = await currentStack(tx, secrets, address.project_id, address.id);
  if (!subject || !current) return;
  const wanted = amountsOf(current.model, scaledSizes(current.sizes, counts));
  await refuseMoreThanThereIs(tx, config, subject, wanted, await notedAmounts(tx));
}

/** Throws a Problem where a restored backup would get more than there is, where the pool has no room for it, or where its data could not be read by what would run. `model` is what would run where only the data is wanted and nothing runs yet. */
export async function refuseRestoreEarly(
  tx: Tx,
  { config, secrets }: Pick<Platform, 'config' | 'secrets'>,
  address: Address,
  restoring: RestorePlan & RestoredData,
  model: ProjectModel | undefined,
): Promise<void> {
  const freeBytes = await notedFreeBytes(tx);
  if (freeBytes !== undefined) refuseTooLarge(restoring, freeBytes, 1);
  const subject = await subjectOf(tx, address.project_id, address.id);
  if (!subject) return;
  const current = await currentStack(tx, secrets, address.project_id, address.id);
  const wanted = restoring.restoresCode ? restoring.stack.model : (current?.model ?? model);
  if (!wanted) return;
  refuseUnfit(restoring, wanted, current);
  const sizes = await sizesOf(tx, subject, wanted, { init: restoring.init, restoring });
  await refuseMoreThanThereIs(tx, config, subject, amountsOf(wanted, sizes), await notedAmounts(tx));
}
