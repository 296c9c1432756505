/** The edge in processes of its own (edge/process/main.ts), adopted when it runs, started when it does not, and brought back when it is gone. */
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join, resolve } from 'node:path';
import { batchesIn } from '../../../edge/logs/batch-frames.ts';
import { requestsIn } from '../../../edge/logs/request-batch.ts';
import type { Log } from '../../kernel/log.ts';
import { type ControlClient, openControlClient } from './control-client.ts';
import type { Edge, EdgeStatus, LastVisits, RecordedRequests } from './edge.ts';
import { endEdge, type EdgeOptions, openLaunch } from './launch-edge.ts';

export type { EdgeOptions } from './launch-edge.ts';

const againMilliseconds = 200;
/** Added to what the drain itself may take. */
const answerSecondsMax = 30;
const statusSecondsMax = 10;

const controlSocketIn = (folder: string) => join(resolve(folder), 'control.sock');

/** Throws a sentence for the operator where the edge cannot start. */
export async function openEdge(options: EdgeOptions, log: Log): Promise<Edge> {
  const control = openControlClient(controlSocketIn(options.folder));
  const closing = new AbortController();
  const launch = openLaunch(options, control, closing.signal);
  await launch.ensure();
  const listeners = new Set<(cluster: string) => void>();
  /** Environments that were asked for before anybody listened. */
  const unheard = new Set<string>();
  const wake = (cluster: string) => {
    if (listeners.size === 0) unheard.add(cluster);
    for (const listener of listeners) listener(cluster);
  };
  const watching = watch(control, launch.ensure, wake, closing.signal, log);
  const at = (cluster: string, rest = '') => `/environments/${cluster}${rest}`;

  return {
    async put(environment) {
      await control.ask('PUT', at(environment.cluster), environment);
    },
    async remove(cluster) {
      await control.ask('DELETE', at(cluster));
    },
    list: () => control.ask('GET', '/environments') as Promise<Record<string, number>>,
    async keepOnly(clusters) {
      const { removed } = (await control.ask('POST', '/environments/keep', { clusters })) as { removed: string[] };
      return removed;
    },
    async putCertificate(certificate) {
      await control.ask('PUT', `/certificates/${certificate.id}`, certificate);
    },
    async removeCertificate(id) {
      await control.ask('DELETE', `/certificates/${id}`);
    },
    certificates: () => control.ask('GET', '/certificates') as Promise<Record<string, number>>,
    async keepOnlyCertificates(ids) {
      const { removed } = (await control.ask('POST', '/certificates/keep', { ids })) as { removed: string[] };
      return removed;
    },
    async challenge(challenges) {
      await control.ask('PUT', '/challenges', challenges);
    },
    async drain(cluster, instance, secondsMax) {
      const ask = { instance, seconds_max: secondsMax };
      const { remaining } = (await control.ask('POST', at(cluster, '/drain'), ask, secondsMax + answerSecondsMax)) as { remaining: number };
      return remaining;
    },
    onWake(listener) {
      listeners.add(listener);
      for (const cluster of unheard) listener(cluster);
      unheard.clear();
      return () => listeners.delete(listener);
    },
    visits: () => control.ask('GET', '/visits') as Promise<LastVisits>,
    records: (signal) => recordsOf(control, AbortSignal.any([signal, closing.signal])),
    status: () => control.ask('GET', '/status') as Promise<EdgeStatus>,
    showVolumes: () => launch.ensure(),
    async stop(secondsMax) {
      closing.abort();
      await watching;
      await endEdge(resolve(options.folder), control, secondsMax);
      control.close();
    },
    async close() {
      closing.abort();
      await watching;
      control.close();
    },
  };
}

/**
 * For whoever has no use for the edge in that folder any more, whether it runs or not, nor for what it leads to: what it knows of instances is not
 * believed any more (edge/routing/table-folder.ts).
 */
export async function stopEdgeIn(folder: string, secondsMax: number): Promise<void> {
  const control = openControlClient(controlSocketIn(folder));
  try {
    await endEdge(resolve(folder), control, secondsMax);
    await rm(join(folder, 'table', 'boot'), { force: true });
  } finally {
    control.close();
  }
}

/** Whether an edge serves from that folder. */
export async function isEdgeIn(folder: string): Promise<boolean> {
  const control = openControlClient(controlSocketIn(folder));
  try {
    return (await control.tryOnce('GET', '/status', statusSecondsMax)) !== undefined;
  } finally {
    control.close();
  }
}

/** Hears who is to be woken. When that stream ends, the edge is gone, and is brought back. */
async function watch(control: ControlClient, ensure: () => Promise<void>, wake: (cluster: string) => void, signal: AbortSignal, log: Log) {
  while (!signal.aborted) {
    try {
      for await (const line of control.lines('/events', signal)) {
        const { event, ...about } = line as { event: string; cluster: string };
        if (event === 'wake') wake(about.cluster);
        else log.warn(about, `the edge tells of a ${event}`);
      }
      if (signal.aborted) return;
      await sleep(againMilliseconds, undefined, { signal });
      await ensure();
    } catch (error) {
      if (signal.aborted) return;
      log.error({ err: error }, 'the edge could not be brought back; trying again');
      await sleep(againMilliseconds, undefined, { signal }).catch(() => {});
    }
  }
}

/** Goes on with the next edge when one has gone. */
async function* recordsOf(control: ControlClient, signal: AbortSignal): AsyncGenerator<RecordedRequests> {
  while (!signal.aborted) {
    for await (const batch of batchesIn(control.bytes('/records', signal))) yield { requests: requestsIn(batch), dropped: batch.dropped };
    await sleep(againMilliseconds, undefined, { signal }).catch(() => {});
  }
}
