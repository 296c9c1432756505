/** Activities of an integration: what was fetched or run for it, and what it was sent, which is a delivery and shown in the same form. */
import type { Static } from 'typebox';
import { ActivityId, ProjectId } from '../../ids.ts';
import { activityLife } from '../../kernel/activity-life-cycle.ts';
import { Changed, entity } from '../../kernel/operation.ts';
import { Problem } from '../../kernel/problem.ts';
import type { Caller, Platform } from '../../platform.ts';
import {
  ActivityEntity,
  cancelActivity,
  cannotBeCancelled,
  countOf,
  isCancellable,
  listActivities,
  logLines,
  type ActivityQuery,
  type ListedActivity,
} from '../activities/public.ts';
import { cancelDelivery, repeatDelivery } from '../deliveries/public.ts';
import { deliveriesAsActivities, deliveryAsActivity, deliveryLogLines, type Receiver } from './delivery-as-activity.ts';
import { IntegrationId } from './integration.ts';
import { integrationsOf } from './queries.ts';
import { repeatScript, scriptActivity } from './scripts/script-activity.ts';

type Shown = Omit<Static<typeof ActivityEntity.schema>, 'integration'>;

export interface IntegrationActivity
  extends Shown, Pick<ListedActivity, 'id' | 'project_id' | 'organization_id' | 'environment_types' | 'created_at'> {
  integration: string;
  isCancellable: boolean;
  /** Whether it is over, and can be done once more as it was. */
  isRepeatable: boolean;
  /** Undefined where it is a delivery. */
  work?: ListedActivity;
}

const path = '/projects/{projectId}/integrations/{integrationId}/activities/{activityId}';

export const IntegrationActivityEntity = entity({
  name: 'activity of an integration',
  path,
  params: { projectId: ProjectId, integrationId: IntegrationId, activityId: ActivityId },
  schema: ActivityEntity.schema,
  address: ({ project_id, integration, id }: IntegrationActivity) => ({
    projectId: project_id,
    integrationId: integration,
    activityId: id,
  }),
  scope: ({ work, project_id, organization_id }) =>
    work ? ActivityEntity.scope(work) : { project: project_id, organization: organization_id },
  view: 'activity:view',
  load: async ({ projectId, integrationId, activityId }, platform) => {
    const [receiver] = await integrationsOf(platform.db, projectId, integrationId);
    if (!receiver) return undefined;
    const work = await ActivityEntity.load({ projectId, activityId }, platform);
    // Through another integration than its own, an activity is not found.
    return work?.integration === integrationId ? ofWork(work) : deliveryAsActivity(platform.db, receiver, activityId);
  },
});

const ofWork = (work: ListedActivity): IntegrationActivity => ({
  ...work,
  integration: work.integration ?? '',
  isCancellable: isCancellable(work),
  isRepeatable: work.type === scriptActivity.type && activityLife.possible(work.state, 'beOver'),
  work,
});

/** The newest first, whichever they are. */
export async function listIntegrationActivities(
  { db }: Platform,
  receiver: Receiver,
  query: Static<typeof ActivityQuery>,
  caller: Caller,
): Promise<IntegrationActivity[]> {
  const { id, project_id, organization_id } = receiver;
  const [work, deliveries] = await Promise.all([
    listActivities(db, { id: project_id, organization_id, integration: id }, query, caller),
    deliveriesAsActivities(db, receiver, query),
  ]);
  const all = [...work.map(ofWork), ...deliveries];
  return all.sort((one, other) => (one.created_at < other.created_at ? 1 : -1)).slice(0, countOf(query));
}

export async function cancelIntegrationActivity(platform: Platform, row: IntegrationActivity): Promise<Changed<IntegrationActivity>> {
  const { db } = platform;
  if (row.work) await cancelActivity(db, row.work);
  else if (!(await db.transaction().execute((tx) => cancelDelivery(tx, row.id)))) throw cannotBeCancelled;
  return withItself(await load(platform, row, row.id));
}

/** Has the same thing sent, or run, once more. Answers with what that has become. */
export async function repeatIntegrationActivity(platform: Platform, row: IntegrationActivity): Promise<Changed<IntegrationActivity>> {
  const { db, secrets } = platform;
  const id = await db
    .transaction()
    .execute(async (tx) => (row.work ? (await repeatScript(tx, row.work)).id : repeatDelivery(tx, secrets, row.id)));
  return withItself(await load(platform, row, id));
}

async function load(
  platform: Platform,
  { project_id, integration }: IntegrationActivity,
  activityId: string,
): Promise<IntegrationActivity> {
  const row = await IntegrationActivityEntity.load({ projectId: project_id, integrationId: integration, activityId }, platform);
  if (!row) throw new Problem('not-found', 'No such activity of an integration.');
  return row;
}

const withItself = (row: IntegrationActivity) => new Changed(row, { of: IntegrationActivityEntity, rows: [row] });

export const integrationActivityLog = ({ db, logs }: Platform, row: IntegrationActivity, gone: AbortSignal): AsyncIterable<string> =>
  row.work ? logLines(logs, row.id, gone) : deliveryLogLines(db, row.integration, row.id, gone);
