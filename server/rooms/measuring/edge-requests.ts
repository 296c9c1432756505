/**
 * Hears of every request that the edge has answered, and has it stored: as a request, at once, and where an instance was asked, as a transaction, unless the app reports its transactions itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RecordedRequests } from '../../drivers/edge/edge.ts';
import type { Listener } from '../../kernel/listener.ts';
import type { Platform } from '../../platform.ts';
import { openHeldTransactions, type HeldTransactions } from './held-transactions.ts';
import { ownReportsOf, type OwnReports } from './own-reports.ts';
import { isTransaction, requestRecordOf, scopeOf, transactionOf } from './request-records.ts';
import { openServedApps, type ServedApps } from './served-apps.ts';

const againMilliseconds = 1000;
const releaseMilliseconds = 500;

export const recordRequests: Listener = {
  name: 'record what the edge has answered',
  listen: (platform, signal) => recordRequestsUnless(ownReportsOf(platform.db), platform, signal),
};

export async function recordRequestsUnless(reports: Pick<OwnReports, 'has'>, platform: Platform, signal: AbortSignal): Promise<void> {
  const { edge } = await platform.machine();
  const held = openHeldTransactions(reports, (records) => platform.metrics.append('transactions', records));
  const apps = openServedApps(platform.db);
  const releasing = setInterval(() => held.release(), releaseMilliseconds);
  while (!signal.aborted) {
    try {
      for await (const batch of edge.records(signal)) await recordBatch(platform, apps, held, batch);
    } catch (error) {
      if (!signal.aborted) platform.log.warn({ error }, 'requests that the edge has answered could not be recorded; trying again');
    }
    await sleep(againMilliseconds, undefined, { signal }).catch(() => {});
  }
  clearInterval(releasing);
  held.end();
}

async function recordBatch({ log, metrics }: Platform, apps: ServedApps, held: HeldTransactions, { requests, dropped }: RecordedRequests) {
  if (dropped > 0) log.warn({ dropped }, 'requests that the edge has answered are not recorded: nobody took them in time');
  metrics.append('requests', requests.map(requestRecordOf));
  const answered = requests.filter(isTransaction);
  await apps
    .look(answered.map(({ cluster }) => scopeOf(cluster)))
    // Without a database nobody knows what apps are written in; that they were asked is recorded all the same.
    .catch((error: unknown) => log.warn({ error }, 'what apps are written in could not be read'));
  const left = held.hold(answered.map((request) => transactionOf(request, apps.programOf(scopeOf(request.cluster), request.application))));
  if (left > 0) log.warn({ dropped: left }, 'transactions are not recorded: too many wait for reports of their apps');
}
