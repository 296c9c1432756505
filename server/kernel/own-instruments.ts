/** What the kernel counts as it works: requests, activities and reconcilers of this process. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../platform.ts';
import type { Activity } from './activity.ts';
import { openCounter, openHistogram, type Family } from './instruments.ts';
import type { Reconciler } from './reconciler.ts';
import { stateOf } from './state-of.ts';

const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const waitSeconds = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200];

const instrumentsOf = stateOf<Platform, ReturnType<typeof openInstruments>>(() => openInstruments());

function openInstruments() {
  return {
    requests: openCounter('offshoot_http_requests_total', 'Requests to the API that were answered.', ['family', 'method', 'status']),
    durations: openHistogram(
      'offshoot_http_request_duration_seconds',
      'How long answering a request to the API took.',
      ['family', 'method'],
      requestSeconds,
    ),
    waits: openHistogram(
      'offshoot_activity_wait_seconds',
      'How long activities waited from when they were due until a runner of this process took them.',
      ['queue'],
      waitSeconds,
    ),
    ends: openCounter('offshoot_activities_ended_total', 'Activities that this process has brought to their end.', ['type', 'result']),
    deliveries: openCounter('offshoot_deliveries_ended_total', 'Deliveries that this process has sent, or given up.', ['kind', 'result']),
    runs: openCounter('offshoot_reconciler_runs_total', 'Looks of reconcilers in this process.', ['reconciler', 'result']),
    seconds: openCounter('offshoot_reconciler_seconds_total', 'How long reconcilers of this process have run.', ['reconciler']),
    lastSuccesses: new Map<string, number>(),
  };
}

export function ownFamilies(platform: Platform): Family[] {
  const { requests, durations, waits, ends, deliveries, runs, seconds, lastSuccesses } = instrumentsOf(platform);
  return [
    ...[requests, durations, waits, ends, deliveries, runs, seconds].map((instrument) => instrument.family()),
    {
      name: 'offshoot_reconciler_last_success_timestamp_seconds',
      help: 'When the reconciler last ran to its end in this process.',
      type: 'gauge',
      samples: [...lastSuccesses].map(([reconciler, value]) => ({ labels: { reconciler }, value })),
    },
  ];
}

/** How reconcilers fared in this process, by name. */
export function reconcilersSeen(platform: Platform) {
  const { runs, lastSuccesses } = instrumentsOf(platform);
  const seen = new Map<string, { runs: number; failures: number }>();
  for (const { labels, value } of runs.family().samples) {
    const { reconciler = '', result } = labels ?? {};
    const so = seen.get(reconciler) ?? { runs: 0, failures: 0 };
    seen.set(reconciler, { runs: so.runs + value, failures: so.failures + (result === 'failure' ? value : 0) });
  }
  return [...seen]
    .map(([name, counted]) => {
      const at = lastSuccesses.get(name);
      return { name, ...counted, succeeded_at: at === undefined ? null : new Date(at * 1000).toISOString() };
    })
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

/** Any other word in its place is nobody's method. */
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function countRequests(platform: Platform) {
  const { requests, durations } = instrumentsOf(platform);
  return (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    const family = request.routeOptions.config?.operation?.family ?? 'other';
    const method = methods.has(request.method) ? request.method : 'other';
    requests.add([family, method, String(reply.statusCode)]);
    durations.observe([family, method], reply.elapsedTime / 1000);
    done();
  };
}

/** Of an activity that was just claimed; those that were claimed before waited then. */
export function countWait(platform: Platform, { queue, fence, created_at, run_after }: Activity, now = Date.now()): void {
  if (fence !== 1) return;
  const due = Math.max(Date.parse(created_at), Date.parse(run_after) || 0);
  instrumentsOf(platform).waits.observe([queue], Math.max(0, now - due) / 1000);
}

export const countEnd = (platform: Platform, { type }: Activity, result: string): void => instrumentsOf(platform).ends.add([type, result]);

export const countDelivery = (platform: Platform, kind: string, result: 'delivered' | 'failed'): void =>
  instrumentsOf(platform).deliveries.add([kind, result]);

/** Runs it, and remembers how that went. */
export async function countRun(platform: Platform, { name, run }: Reconciler, signal: AbortSignal): Promise<void> {
  const { runs, seconds, lastSuccesses } = instrumentsOf(platform);
  const began = performance.now();
  try {
    await run(platform, signal);
    runs.add([name, 'success']);
    lastSuccesses.set(name, Date.now() / 1000);
  } catch (error) {
    runs.add([name, 'failure']);
    throw error;
  } finally {
    seconds.add([name], (performance.now() - began) / 1000);
  }
}
