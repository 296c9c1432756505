/** How an environment's apps did over time: what requests took, how many there were, and what instances used meanwhile. */
import { Type } from 'typebox';
import { pointsOf, type Dimension, type Filter, type TimelinePoint } from '../../drivers/metrics/breakdown.ts';
import { isTooMuch, type TooMuch } from '../../drivers/metrics/metrics.ts';
import type { ResourcesRow } from '../../drivers/metrics/questions.ts';
import { operation, plain } from '../../kernel/operation.ts';
import { closed, nullable, Time } from '../../kernel/schema.ts';
import type { Platform } from '../../platform.ts';
import type { Environment } from '../environments/public.ts';
import { aboutEnvironment, inTurn } from './ask-store.ts';
import { askedEnvironment, Reply, scopeOf } from './asked-environment.ts';
import { serverParameters } from './breakdown-request.ts';
import { choicesOf, judgedQuery, type GrainedRange, type Reading } from './query.ts';
import { readServerRequest, serverEnvelope, ServerEnvelope, wholeServerFilters, type ServerRequest } from './server-operations.ts';

const serverKeys = ['wt', 'mu', 'pmu', 'load', 'stdout', 'rpms'] as const;
type ServerKey = (typeof serverKeys)[number];

interface GlobalRequest extends ServerRequest<(typeof wholeServerFilters)[number]> {
  keys: ServerKey[];
}

function readGlobalRequest(reading: Reading): GlobalRequest | undefined {
  const request = readServerRequest(reading, wholeServerFilters);
  const keys = choicesOf(reading, 'keys', serverKeys);
  if (keys.length === 0) reading.violate('keys', 'This value is required.');
  return request && { ...request, keys };
}

/** What is averaged over the requests of a point. */
const averaged = ['wt', 'pmu', 'stdout'] as const satisfies Dimension[];
/** What is added up over the instances of a point. */
const measureOf = { mu: 'memory_used', load: 'cpu_used' } as const;

interface Answers {
  /** Wall times are asked for where only requests are counted. */
  timelines: Partial<Record<Dimension, TimelinePoint[]>>;
  samples: ResourcesRow[];
}

async function answersTo(request: GlobalRequest, target: Environment, { metrics }: Platform): Promise<Answers | TooMuch> {
  const { keys, from, to, grain, filters } = request;
  const range = { ...scopeOf(target), from, to, grain };
  const answers: Answers = { timelines: {}, samples: [] };
  const wanted = averaged.filter((key) => keys.includes(key));
  for (const dimension of wanted.length === 0 ? (['wt'] as const) : wanted) {
    const answer = await metrics.breakdown({ ...range, dimension, sort: 'impact', limit: 1, filters });
    if (isTooMuch(answer)) return answer;
    answers.timelines[dimension] = answer.timeline;
  }
  if (!keys.some((key) => key in measureOf)) return answers;
  const apps = { values: appsOf(target).filter((app) => isLetThrough(filters.applications, app)), mode: 'additive' } as const;
  const samples = await metrics.resources({ ...range, byInstance: true, services: apps });
  if (isTooMuch(samples)) return samples;
  answers.samples = samples.filter(({ instance = '' }) => isLetThrough(filters.instances, instance));
  return answers;
}

/** Services, such as databases, answer no requests. */
const appsOf = ({ sizing: { webapps, workers } }: Environment) => [...Object.keys(webapps), ...Object.keys(workers)];

const isLetThrough = ({ values, mode }: Filter, value: string) => values.includes(value) === (mode === 'additive');

type Point = { timestamp: number } & Partial<Record<ServerKey, number>>;

/** A point has the keys that were asked for and that something is known of. */
function pointsWith({ timelines, samples }: Answers, request: GlobalRequest): Point[] {
  const points = pointsOf(request).map((timestamp): Point => ({ timestamp }));
  const pointAt = new Map(points.map((point) => [point.timestamp, point]));
  for (const [key, timeline] of Object.entries(timelines) as [Dimension, TimelinePoint[]][])
    for (const { timestamp, _total_count: count, _total_consumed: consumed = 0 } of timeline) {
      const point = pointAt.get(timestamp);
      if (!point || count === undefined) continue;
      if (request.keys.includes(key)) point[key] = consumed / count;
      if (request.keys.includes('rpms')) point.rpms = (60 * count) / secondsAt(timestamp, request);
    }
  for (const { timestamp = 0, mount, used } of samples) {
    const point = pointAt.get(timestamp);
    if (!point || mount !== undefined) continue;
    for (const [key, measure] of Object.entries(measureOf) as [keyof typeof measureOf, string][])
      if (request.keys.includes(key)) point[key] = (point[key] ?? 0) + (used[measure]?.avg ?? 0);
  }
  return points;
}

/** The first and the last point may stand for less than a grain. */
const secondsAt = (timestamp: number, { from, to, grain }: GrainedRange) => Math.min(to, timestamp + grain) - Math.max(from, timestamp);

/** How many requests there were. */
const totalOf = ({ timelines }: Answers) => {
  const [timeline = []] = Object.values(timelines);
  return timeline.reduce((sum, { _total_count = 0 }) => sum + _total_count, 0);
};

const Quota = closed({
  allowed: Type.Integer(),
  used: Type.Integer(),
  exceeded: Type.Boolean(),
  period_started_at: nullable(Time),
  period_ends_at: nullable(Time),
});

const Alert = closed({
  timestamp: Type.Integer(),
  alert_rule_uuid: Type.String({ format: 'uuid' }),
  value: Type.Number(),
  state: Type.String({ enum: ['normal', 'warn', 'alarm'] }),
});

const keyDescriptions: Record<ServerKey, string> = {
  wt: 'Wall time of a request on average, in microseconds.',
  mu: 'Bytes of memory that instances used together.',
  pmu: 'Peak memory of a request on average, in bytes.',
  load: 'Processors that instances used together.',
  stdout: 'Output of a request on average, in bytes.',
  rpms: 'Requests per minute.',
};
const keyProperties = Object.fromEntries(
  serverKeys.map((key) => [key, Type.Optional(nullable(Type.Number({ description: keyDescriptions[key] })))]),
);

export const tellServer = operation({
  ...aboutEnvironment,
  summary: 'Tell how the apps of an environment did over time',
  endpoint: 'GET /projects/{projectId}/environments/{environmentId}/observability/server',
  query: judgedQuery(
    { ...serverParameters(wholeServerFilters), keys: Type.Array(Type.String({ enum: [...serverKeys] }), { minItems: 1 }) },
    readGlobalRequest,
  ),
  returns: plain(
    Reply({
      ...ServerEnvelope(wholeServerFilters),
      _quota: Quota,
      _keys: Type.Array(Type.String()),
      alert_evaluations: Type.Array(Alert),
      server: closed({ total: Type.Number(), data: Type.Array(closed({ timestamp: Type.Integer(), ...keyProperties })) }),
    }),
  ),
  handle: async (request, platform) => {
    const { query, target } = request;
    const answers = await inTurn(request, platform, () => answersTo(query, target, platform));
    const total = totalOf(answers);
    return {
      ...serverEnvelope(askedEnvironment(target, platform.config), query),
      // Everything is measured, and nobody has to pay for it.
      _quota: { allowed: Number.MAX_SAFE_INTEGER, used: total, exceeded: false, period_started_at: null, period_ends_at: null },
      _keys: query.keys,
      alert_evaluations: [],
      server: { total, data: pointsWith(answers, query) },
    };
  },
});
