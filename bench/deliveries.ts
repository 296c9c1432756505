/**
 * How fast webhooks are sent: to one receiver, in order, and to fifty side by side; and what it costs them that another organization has receivers which never
 * answer. Each delivery is a row, an integration that is looked up, a signed request to a receiver in another process, and a stored attempt.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openOutbound } from '../server/drivers/outbound/outbound.ts';
import { recordDelivery } from '../server/rooms/deliveries/public.ts';
import { startDeliveries } from '../server/rooms/deliveries/work.ts';
import { webhookDelivery } from '../server/rooms/integrations/activity-hooks/hook-delivery.ts';
import { openMeasuredPlatform } from './harness/platform.ts';
import { note, printTable, timed } from './harness/verdicts.ts';

const many = 5000;
const body = JSON.stringify({ text: 'x'.repeat(2000) });
const perSecondMin = 1000;
/** Of the rate without silent receivers beside it; the machine itself varies by as much. */
const shareMin = 0.9;

const { api, platform, db, headers, close } = await openMeasuredPlatform();
const receiver = fork(new URL('harness/receiver.ts', import.meta.url));
const [{ port }] = (await once(receiver, 'message')) as [AddressInfo];
Object.assign(platform, { outbound: openOutbound({ allowPrivateAddresses: ['127.0.0.0/8'] }) });

const post = async (url: string, payload: object) => (await api.inject({ method: 'POST', url, headers, payload })).json();

interface Hooks {
  organizationId: string;
  projectId: string;
  integrationIds: string[];
}

/** An organization with a project that has so many webhooks. */
async function openHooks(name: string, count: number, path: string): Promise<Hooks> {
  const { id: organizationId } = (await post('/organizations', { label: name, name })) as { id: string };
  const subscription = await post(`/organizations/${organizationId}/subscriptions`, { project_region: platform.config.region.id });
  const { project_id: projectId } = subscription as { project_id: string };
  await db.updateTable('projects').set({ status: 'active' }).where('id', '=', projectId).execute();
  const hook = { type: 'webhook', url: `http://127.0.0.1:${port}${path}`, shared_key: 'key', events: [] };
  const integrationIds: string[] = [];
  for (let at = 0; at < count; at += 1) {
    const { _embedded } = (await post(`/projects/${projectId}/integrations`, hook)) as { _embedded: { entity: { id: string } } };
    integrationIds.push(_embedded.entity.id);
  }
  return { organizationId, projectId, integrationIds };
}

/** To the first webhooks of these, in turns. */
const record = (count: number, { organizationId, projectId, integrationIds }: Hooks, receivers: number) =>
  db.transaction().execute(async (tx) => {
    for (let at = 0; at < count; at += 1) {
      const integrationId = integrationIds[at % receivers] ?? '';
      const whose = { organizationId, projectId, integrationId, party: organizationId, orderKey: `integration ${integrationId}` };
      await recordDelivery(tx, platform.secrets, webhookDelivery, { payload: { projectId, integrationId, body }, ...whose });
    }
  });

const waiting = async ({ projectId }: Hooks) => {
  const { count } = await db
    .selectFrom('deliveries')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('state', '=', 'waiting')
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
};

async function perSecond(hooks: Hooks, receivers: number): Promise<number> {
  await record(many, hooks, receivers);
  const before = process.cpuUsage();
  const deliveries = startDeliveries([webhookDelivery], platform);
  const seconds = await timed(async () => {
    while ((await waiting(hooks)) > 0) await sleep(50);
  });
  const { user, system } = process.cpuUsage(before);
  processorMilliseconds.push((user + system) / 1000 / many);
  await deliveries.close();
  return many / seconds;
}

const processorMilliseconds: number[] = [];

const judge = (what: string, rate: number) => {
  const measured = `${Math.round(rate)} per second, ${processorMilliseconds.at(-1)?.toFixed(2)} ms of a processor each`;
  note({ what, measured, target: `at least ${perSecondMin} per second`, isMet: rate >= perSecondMin });
};

const [hooks, silent] = [await openHooks('busy', 50, '/'), await openHooks('silent', 40, '/silent')];
await perSecond(hooks, 50);
judge('to one receiver, in order', await perSecond(hooks, 1));
const alone = await perSecond(hooks, 50);
judge('to fifty receivers', alone);
await record(200, silent, 40);
const beside = await perSecond(hooks, 50);
await db.deleteFrom('deliveries').where('project_id', '=', silent.projectId).execute();
// The machine is not ours alone: before and after.
const share = (beside * 2) / (alone + (await perSecond(hooks, 50)));
const measured = `${share.toFixed(2)} of the rate without them`;
note({ what: 'beside forty receivers that never answer', measured, target: `at least ${shareMin}`, isMet: share >= shareMin });
printTable();
receiver.disconnect();
await close();
